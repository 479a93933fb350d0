#[allow(unused_imports)]
pub use model_onnx::{Model, ModelInput};
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Array, Device, ElementType, Error, Int, Metadata, OnnxModel, Parameter,
        Port, Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Activation, Node, Outputs, attempt, attempt_async, device, embedded, entry,
        from_file, layers, ops, printed, take,
    };
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::{Module, Param};
    /// Inputs of [`Model::forward`].
    #[derive(Clone)]
    pub struct ModelInput {
        /// `ids`: int64[batch, words]
        pub ids: Tensor<2, Int>,
        /// `up`: bool
        pub up: bool,
    }
    printed!(ModelInput { ids, up });
    /// Compiled from `shared_blocks.onnx`: IR version 10, ai.onnx 21, produced by training.py.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `ids` | int64[batch, words] |
    /// | input | `up` | bool |
    /// | output | `scores` | float32[batch, words, 11] |
    ///
    /// Its weights have 156 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let scores = model.forward(ModelInput { ids, up });
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        table: Param<Tensor<2>>,
        gather: Node,
        encoder: Encoder,
        decoder: Decoder,
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
        /// Runs the model: `ids`: int64[batch, words], `up`: bool → `scores`: float32[batch, words, 11].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If an input has a wrong shape, or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: ModelInput) -> Tensor<3> {
            let ModelInput { ids, up } = input;
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let ids = entry.int("ids", ids);
            let up = Array::scalar(up);
            let x = self
                .gather
                .run(|| ops::gather::gather::<_, _, 3, _>(self.table.val(), 0, ids));
            let x = self.encoder.forward(x);
            self.decoder.forward(x, up, self.table.val())
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If an input has a wrong shape, or if a node cannot process the data.
        pub fn try_forward(&self, input: ModelInput) -> Result<Tensor<3>, Error> {
            attempt(|| Ok(self.forward(input)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, input: ModelInput) -> Tensor<3> {
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
        ) -> Result<Tensor<3>, Error> {
            attempt_async(async { Ok(self.forward_async(input).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                table: weights.float::<2>("table"),
                gather: Node::new("/embed/Gather", "Gather"),
                encoder: Encoder::load(weights),
                decoder: Decoder::load(weights),
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
                    name: "ids",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Int64,
                        sizes: &[Size::Named("batch"), Size::Named("words")],
                    },
                },
                Port {
                    name: "up",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Bool,
                        sizes: &[],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "scores",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Named("words"),
                            Size::Fixed(11),
                        ],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            producer: "training.py",
            graph: "g",
            opset: 21,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "table",
                name: "table",
                shape: &[11, 6],
                trained: true,
            },
            Parameter {
                path: "encoder.layer.weight",
                name: "encoder.layer.weight",
                shape: &[6, 6],
                trained: true,
            },
            Parameter {
                path: "encoder.layer.bias",
                name: "encoder.layer.bias",
                shape: &[6],
                trained: true,
            },
            Parameter {
                path: "decoder.decoder.weight",
                name: "decoder.weight",
                shape: &[6, 6],
                trained: true,
            },
            Parameter {
                path: "decoder.decoder.bias",
                name: "decoder.bias",
                shape: &[6],
                trained: true,
            },
            Parameter {
                path: "decoder.gain",
                name: "gain",
                shape: &[6],
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
            let device = device(&self.table);
            let output = self
                .forward(ModelInput {
                    ids: take(inputs, &Self::SIGNATURE.inputs[0], &device)?,
                    up: take(inputs, &Self::SIGNATURE.inputs[1], &device)?,
                });
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Module `encoder` of the model.
    #[derive(Module, Debug)]
    struct Encoder {
        layer: layers::Linear,
    }
    impl Encoder {
        #[inline(never)]
        fn forward(&self, x: Tensor<3>) -> Tensor<3> {
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            let x = self.layer.forward(x);
            self.layer.forward(x)
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                layer: layers::Linear::load(
                        weights,
                        "encoder.layer.weight",
                        Some("encoder.layer.bias"),
                    )
                    .activation(Activation::Tanh),
            }
        }
    }
    /// Module `decoder` of the model.
    #[derive(Module, Debug)]
    struct Decoder {
        decoder: layers::Linear,
        gain: Param<Tensor<1>>,
        mat_mul: layers::SharedLinear,
    }
    impl Decoder {
        #[inline(never)]
        fn forward(&self, x: Tensor<3>, up: Array<bool>, table: Tensor<2>) -> Tensor<3> {
            let x = self.decoder.forward(x);
            let x = self.decoder.forward(x);
            let x = self.decoder.forward(x);
            let x = self.decoder.forward(x);
            let x = self.decoder.forward(x);
            let x = self.decoder.forward(x);
            let x = self.decoder.forward(x) * self.gain.val().unsqueeze::<3>();
            let x = if up.item() {
                x.clone() * self.gain.val().unsqueeze::<3>()
            } else {
                x.neg()
            };
            self.mat_mul.forward(x, table.transpose(), None, None)
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                decoder: layers::Linear::load(
                        weights,
                        "decoder.weight",
                        Some("decoder.bias"),
                    )
                    .activation(Activation::Tanh),
                gain: weights.float::<1>("gain"),
                mat_mul: layers::SharedLinear::new(Activation::Identity),
            }
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/shared_blocks.onnx"), 4713)]
    }
}
