#[allow(unused_imports)]
pub use model_onnx::Model;
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_onnx {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Metadata, OnnxModel, Parameter, Port,
        Signature, Size, Tensor, ValueType, Values,
    };
    use ::onnx_embed::__private::{
        Activation, Outputs, attempt, attempt_async, device, embedded, entry, from_file,
        layers, ops, take,
    };
    use ::onnx_embed::__private::ops::window::Window;
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Compiled from `mnist.onnx`: IR version 9, ai.onnx 18, produced by onnx-embed/examples/mnist.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `image` | float32[batch, 1, 28, 28] |
    /// | output | `probabilities` | float32[batch, 10] |
    ///
    /// Its weights have 9,170 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let probabilities = model.forward(image);
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        conv1: layers::Conv2d,
        conv2: layers::Conv2d,
        linear: layers::Linear,
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
        /// Runs the model: `image`: float32[batch, 1, 28, 28] → `probabilities`: float32[batch, 10].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If `image` does not have shape [batch, 1, 28, 28], or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, image: Tensor<4>) -> Tensor<2> {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let image = entry.float("image", image);
            if let Some(parts) = ops::batch::in_parts(
                &image,
                0,
                40,
                |rows| self.forward(rows.of(&image, 0)),
            ) {
                return ops::batch::joined(parts, 0);
            }
            let [batch, _, _, _] = image.dims();
            let x = self.conv1.forward(image);
            let x = ops::pool::max_pool(x, Window::new([2, 2]).strides([2, 2]), false);
            let x = self.conv2.forward(x);
            let x = ops::pool::max_pool(x, Window::new([2, 2]).strides([2, 2]), false);
            let x = x.reshape([batch, 784]);
            let x = self.linear.forward(x);
            ops::softmax::softmax(x, 1)
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If `image` does not have shape [batch, 1, 28, 28], or if a node cannot process the data.
        pub fn try_forward(&self, image: Tensor<4>) -> Result<Tensor<2>, Error> {
            attempt(|| Ok(self.forward(image)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, image: Tensor<4>) -> Tensor<2> {
            self.forward(image)
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If `image` does not have shape [batch, 1, 28, 28], or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            image: Tensor<4>,
        ) -> Result<Tensor<2>, Error> {
            attempt_async(async { Ok(self.forward_async(image).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            let norm1_scale = weights.tensor::<1>("norm1.weight")
                / (weights.tensor::<1>("norm1.running_var") + 1e-5).sqrt();
            let norm2_scale = weights.tensor::<1>("norm2.weight")
                / (weights.tensor::<1>("norm2.running_var") + 1e-5).sqrt();
            Self {
                conv1: layers::Conv2d::new(
                        weights.tensor::<4>("conv1.weight")
                            * norm1_scale.clone().reshape([8, 1, 1, 1]),
                        Some(
                            weights.tensor::<1>("norm1.bias")
                                - weights.tensor::<1>("norm1.running_mean") * norm1_scale,
                        ),
                        Window::new([3, 3]).pads([(1, 1), (1, 1)]),
                        1,
                    )
                    .activation(Activation::Relu),
                conv2: layers::Conv2d::new(
                        weights.tensor::<4>("conv2.weight")
                            * norm2_scale.clone().reshape([16, 1, 1, 1]),
                        Some(
                            weights.tensor::<1>("norm2.bias")
                                - weights.tensor::<1>("norm2.running_mean") * norm2_scale,
                        ),
                        Window::new([3, 3]).pads([(1, 1), (1, 1)]),
                        1,
                    )
                    .activation(Activation::Relu),
                linear: layers::Linear::load_transposed(
                    weights,
                    "linear.weight",
                    Some("linear.bias"),
                ),
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
                    name: "image",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(1),
                            Size::Fixed(28),
                            Size::Fixed(28),
                        ],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "probabilities",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(10)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            producer: "onnx-embed/examples/mnist",
            graph: "mnist",
            opset: 18,
            ..Metadata::EMPTY
        };
        /// Parameters of the model, except those from which weights are computed during loading.
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "linear.weight",
                name: "linear.weight",
                shape: &[10, 784],
                trained: true,
            },
            Parameter {
                path: "linear.bias",
                name: "linear.bias",
                shape: &[10],
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
            let device = device(&self.conv1);
            let output = self
                .forward(take(inputs, &Self::SIGNATURE.inputs[0], &device)?);
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Locations of the weights in the model's files.
    static WEIGHTS: Table = Table {
        files: &[
            File {
                name: "mnist.onnx",
                length: 38435,
                tail: 463992427462430764,
            },
        ],
        entries: &[
            Entry {
                name: "conv1.weight",
                dtype: ElementType::Float32,
                shape: &[8, 1, 3, 3],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 1398,
                        length: 288,
                        gap: 1445735410299552019,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "conv2.weight",
                dtype: ElementType::Float32,
                shape: &[16, 8, 3, 3],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 1716,
                        length: 4608,
                        gap: 10055878818101539209,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm1.weight",
                dtype: ElementType::Float32,
                shape: &[8],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6346,
                        length: 32,
                        gap: 13362480323914754681,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm1.bias",
                dtype: ElementType::Float32,
                shape: &[8],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6398,
                        length: 32,
                        gap: 13226008922693366140,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm1.running_mean",
                dtype: ElementType::Float32,
                shape: &[8],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6458,
                        length: 32,
                        gap: 3367349858590136724,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm1.running_var",
                dtype: ElementType::Float32,
                shape: &[8],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6517,
                        length: 32,
                        gap: 5425396372488032398,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm2.weight",
                dtype: ElementType::Float32,
                shape: &[16],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6571,
                        length: 64,
                        gap: 6443400838727752178,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm2.bias",
                dtype: ElementType::Float32,
                shape: &[16],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6655,
                        length: 64,
                        gap: 14907418184567063135,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm2.running_mean",
                dtype: ElementType::Float32,
                shape: &[16],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6747,
                        length: 64,
                        gap: 155005334281352299,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "norm2.running_var",
                dtype: ElementType::Float32,
                shape: &[16],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6838,
                        length: 64,
                        gap: 8845400654580947223,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "linear.weight",
                dtype: ElementType::Float32,
                shape: &[10, 784],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 6932,
                        length: 31360,
                        gap: 7681254848884753664,
                    },
                ],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "linear.bias",
                dtype: ElementType::Float32,
                shape: &[10],
                parts: &[
                    ByteRange {
                        file: 0,
                        start: 38313,
                        length: 40,
                        gap: 13221274308918500498,
                    },
                ],
                encoding: Encoding::Raw,
            },
        ],
        fixed: &[],
    };
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/mnist.onnx"), 38435)]
    }
}
