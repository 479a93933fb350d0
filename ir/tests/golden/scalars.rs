#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput, ModelOutput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Bool, Device, ElementType, Error, Int, Metadata, OnnxModel, Parameter,
        Port, Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Outputs, attempt, attempt_async, device, embedded, entry, from_file, ops,
        printed, take,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `prediction`: float32[n]
        pub prediction: Tensor<1>,
        /// `target`: float32[n]
        pub target: Tensor<1>,
    }
    printed!(ModelInput { prediction, target });
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `loss`: float32 as a tensor with one element
        pub loss: Tensor<1>,
        /// `worst`: int64 as a tensor with one element
        pub worst: Tensor<1, Int>,
        /// `good`: bool as a tensor with one element
        pub good: Tensor<1, Bool>,
    }
    printed!(ModelOutput { loss, worst, good });
    /// Compiled from `scalars.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `prediction` | float32[n] |
    /// | input | `target` | float32[n] |
    /// | output | `loss` | float32 as a tensor with one element |
    /// | output | `worst` | int64 as a tensor with one element |
    /// | output | `good` | bool as a tensor with one element |
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { loss, worst, good } = model.forward(ModelInput { prediction, target });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        limit: Tensor<1>,
    }
    impl Model {
        /// Creates the model with the embedded weights.
        pub fn new(device: &Device) -> Self {
            Self::load(&Weights::new(&WEIGHTS, &files(), device))
        }
        from_file!();
        /// Creates the model with the weights of another file with the same graph.
        ///
        /// # Errors
        ///
        /// If the bytes are not a file with the same graph.
        pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<Self, Error> {
            <Self as OnnxModel>::from_bytes(&[bytes], device)
        }
        /// Runs the model: `prediction`: float32[n], `target`: float32[n] → `loss`: float32, `worst`: int64, `good`: bool.
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> ModelOutput {
            let ModelInput { prediction, target } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let prediction = entry.float("prediction", prediction);
            let target = entry.float("target", target);
            let difference = prediction - target;
            let square = difference.clone() * difference;
            let loss = ops::reduce::reduce_mean::<_, 1, _>(square.clone(), &[0]);
            let worst = ops::arg_max::arg_max::<_, 1, _>(square, 0, false);
            let good = loss.clone().lower(self.limit.clone());
            ModelOutput { loss, worst, good }
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub fn try_forward(&self, input: ModelInput) -> Result<ModelOutput, Error> {
            attempt(|| Ok(self.forward(input)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, input: ModelInput) -> ModelOutput {
            self.forward(input)
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            input: ModelInput,
        ) -> Result<ModelOutput, Error> {
            attempt_async(async { Ok(self.forward_async(input).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                limit: weights.tensor::<1>("limit"),
            }
        }
    }
    impl Default for Model {
        fn default() -> Self {
            Self::new(&Device::default())
        }
    }
    impl OnnxModel for Model {
        const SIGNATURE: Signature = Signature {
            inputs: &[
                Port {
                    name: "prediction",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n")],
                    },
                },
                Port {
                    name: "target",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n")],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "loss",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[],
                    },
                },
                Port {
                    name: "worst",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int64,
                        sizes: &[],
                    },
                },
                Port {
                    name: "good",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Bool,
                        sizes: &[],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "scalars",
            opset: 21,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[];
        fn from_source(
            source: WeightSource<'_>,
            device: &Device,
        ) -> Result<Self, Error> {
            WEIGHTS.load(source, device, Self::load)
        }
        fn table() -> &'static Table {
            &WEIGHTS
        }
        fn start(&self, inputs: &mut Values) -> Result<Outputs, Error> {
            let device = device(&self.limit);
            let output = self
                .forward(ModelInput {
                    prediction: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    target: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                });
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.loss)
                    .with(&Self::SIGNATURE.outputs[1], output.worst)
                    .with(&Self::SIGNATURE.outputs[2], output.good),
            )
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/scalars.onnx"), 326)]
    }
}
