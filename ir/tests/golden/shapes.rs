#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput, ModelOutput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Array, DType, Device, ElementType, Error, Int, Metadata, OnnxModel,
        Parameter, Port, Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Anchor, Node, Outputs, attempt, attempt_async, device, embedded, entry,
        from_file, host, ops, printed, take, vec,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `x`: float32[batch, length, 6]
        pub x: Tensor<3>,
        /// `count`: int64
        pub count: i64,
    }
    printed!(ModelInput { x, count });
    /// Outputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelOutput {
        /// `heads`: float32[batch, 2, length, 3]
        pub heads: Tensor<4>,
        /// `padded`: float32[pad, pad_2]
        pub padded: Tensor<2>,
        /// `steps`: int64[range]
        pub steps: Tensor<1, Int>,
    }
    printed!(ModelOutput { heads, padded, steps });
    /// Compiled from `shapes.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `x` | float32[batch, length, 6] |
    /// | input | `count` | int64 |
    /// | output | `heads` | float32[batch, 2, length, 3] |
    /// | output | `padded` | float32[pad, pad_2] |
    /// | output | `steps` | int64[range] |
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let ModelOutput { heads, padded, steps } = model.forward(ModelInput { x, count });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        pad: Node,
        range: Node,
        anchor: Anchor,
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
        /// Runs the model: `x`: float32[batch, length, 6], `count`: int64 → `heads`: float32[batch, 2, length, 3], `padded`: float32[pad, pad_2], `steps`: int64[range].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> ModelOutput {
            let ModelInput { x, count } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let x = entry.float("x", x);
            let count = Array::scalar(count);
            let device = &device(&self.anchor);
            let [batch, length, _] = x.dims();
            let heads = x.clone().reshape([batch, length, 2, 3]).swap_dims(1, 2);
            let table = ops::shape::reshape(x, [batch * length, 6]);
            let wanted = host::reshape(&count, &[1], true);
            let missing = host::sub(
                &wanted,
                &Array::<i64>::new([1], vec![(batch as i64) * (length as i64)]),
            );
            let pads = host::concat(
                &[
                    &Array::<i64>::new([2], vec![0, 0]),
                    &missing,
                    &Array::<i64>::new([1], vec![0]),
                ],
                0,
            );
            let padded = self
                .pad
                .run(|| ops::pad::pad_constant(
                    table,
                    ops::pad::along(pads.data(), &[0, 1]),
                    0.0,
                ));
            let steps = self
                .range
                .run(|| ops::select::range_int(0, count.item(), 1, DType::I64, device));
            ModelOutput {
                heads,
                padded,
                steps,
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
                pad: Node::new("padded", "Pad"),
                range: Node::new("steps", "Range"),
                anchor: Anchor::new(weights.device()),
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
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("length"),
                            Size::Fixed(6),
                        ],
                    },
                },
                Port {
                    name: "count",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int64,
                        sizes: &[],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "heads",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(2),
                            Size::Named("length"),
                            Size::Fixed(3),
                        ],
                    },
                },
                Port {
                    name: "padded",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("pad"), Size::Named("pad_2")],
                    },
                },
                Port {
                    name: "steps",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int64,
                        sizes: &[Size::Named("range")],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "shapes",
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
            let device = device(&self.anchor);
            let output = self
                .forward(ModelInput {
                    x: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    count: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                });
            Ok(
                Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.heads)
                    .with(&Self::SIGNATURE.outputs[1], output.padded)
                    .with(&Self::SIGNATURE.outputs[2], output.steps),
            )
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/shapes.onnx"), 953)]
    }
}
