#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput, ModelOutput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Bool, DType, Device, ElementType, Error, Metadata, OnnxModel, Parameter,
        Port, Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Outputs, attempt, attempt_async, device, embedded, entry, exit, from_file,
        layers, ops, printed, take,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `x`: float16[n, 2]
        pub x: Tensor<2>,
        /// `z`: float32[n, 2]
        pub z: Tensor<2>,
    }
    printed!(ModelInput { x, z });
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `y`: float16[n, 2]
        pub y: Tensor<2>,
        /// `wide`: float32[n, 2]
        pub wide: Tensor<2>,
        /// `infinite`: bool[n, 2]
        pub infinite: Tensor<2, Bool>,
    }
    printed!(ModelOutput { y, wide, infinite });
    /// Compiled from `half.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `x` | float16[n, 2] |
    /// | input | `z` | float32[n, 2] |
    /// | output | `y` | float16[n, 2] |
    /// | output | `wide` | float32[n, 2] |
    /// | output | `infinite` | bool[n, 2] |
    ///
    /// Its weights have 4 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { y, wide, infinite } = model.forward(ModelInput { x, z });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        mat_mul: layers::Linear,
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
        /// Runs the model: `x`: float16[n, 2], `z`: float32[n, 2] → `y`: float16[n, 2], `wide`: float32[n, 2], `infinite`: bool[n, 2].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> ModelOutput {
            let ModelInput { x, z } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let x = entry.float("x", x);
            let z = entry.float("z", z);
            if let Some(parts) = ops::batch::in_parts(
                &x,
                0,
                6,
                |rows| {
                    self
                        .forward(ModelInput {
                            x: rows.of(&x, 0),
                            z: rows.of(&z, 0),
                        })
                },
            ) {
                return ModelOutput {
                    y: ops::batch::joined(parts.iter().map(|part| part.y.clone()), 0),
                    wide: ops::batch::joined(
                        parts.iter().map(|part| part.wide.clone()),
                        0,
                    ),
                    infinite: ops::batch::joined(
                        parts.iter().map(|part| part.infinite.clone()),
                        0,
                    ),
                };
            }
            let product = self.mat_mul.forward(x);
            let infinite = ops::cast::float_to_float(product.clone(), DType::F16)
                .is_inf();
            let y = product * ops::cast::float_to_float(z, DType::F16);
            let wide = ops::cast::float_to_float(y.clone(), DType::F32);
            ModelOutput {
                y: exit::rounded(y, ElementType::Float16),
                wide,
                infinite,
            }
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
                mat_mul: layers::Linear::load(weights, "weight", None),
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
                    name: "x",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float16,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
                Port {
                    name: "z",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "y",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float16,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
                Port {
                    name: "wide",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
                Port {
                    name: "infinite",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Bool,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "half",
            opset: 21,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "mat_mul.weight",
                name: "weight",
                shape: &[2, 2],
                trained: true,
            },
        ];
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
            let device = device(&self.mat_mul);
            let output = self
                .forward(ModelInput {
                    x: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    z: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                });
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.y)
                    .with(&Self::SIGNATURE.outputs[1], output.wide)
                    .with(&Self::SIGNATURE.outputs[2], output.infinite),
            )
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/half.onnx"), 304)]
    }
}
