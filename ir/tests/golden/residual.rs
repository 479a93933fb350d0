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
    /// Compiled from `residual.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `image` | float32[batch, 2, height, width] |
    /// | output | `scores` | float32[batch, 3] |
    ///
    /// Its weights have 59 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let scores = model.forward(image);
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        block_conv1: layers::Conv2d,
        block_conv2: layers::Conv2d,
        head: layers::Linear,
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
        /// Runs the model: `image`: float32[batch, 2, height, width] → `scores`: float32[batch, 3].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If `image` does not have shape [batch, 2, height, width], or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, image: Tensor<4>) -> Tensor<2> {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let image = entry.float("image", image);
            if let Some(parts) = ops::batch::in_parts(
                &image,
                0,
                12,
                |rows| self.forward(rows.of(&image, 0)),
            ) {
                return ops::batch::joined(parts, 0);
            }
            let x = self.block_conv1.forward(image.clone());
            let x = self.block_conv2.forward_add(x, image);
            let x = ops::reduce::reduce_mean::<_, 2, _>(x, &[2, 3]);
            let x = self.head.forward(x);
            ops::softmax::softmax(x, 1)
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If `image` does not have shape [batch, 2, height, width], or if a node cannot process the data.
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
        /// If `image` does not have shape [batch, 2, height, width], or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            image: Tensor<4>,
        ) -> Result<Tensor<2>, Error> {
            attempt_async(async { Ok(self.forward_async(image).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            let block_norm_scale = weights.tensor::<1>("block.norm.weight")
                / (weights.tensor::<1>("block.norm.variance") + 1e-5).sqrt();
            Self {
                block_conv1: layers::Conv2d::new(
                        weights.tensor::<4>("block.conv1.weight")
                            * block_norm_scale.clone().reshape([2, 1, 1, 1]),
                        Some(
                            (weights.tensor::<1>("block.conv1.bias")
                                - weights.tensor::<1>("block.norm.mean")) * block_norm_scale
                                + weights.tensor::<1>("block.norm.bias"),
                        ),
                        Window::new([3, 3]).pads([(1, 1), (1, 1)]),
                        1,
                    )
                    .activation(Activation::Relu),
                block_conv2: layers::Conv2d::load(
                    weights,
                    "block.conv2.weight",
                    None,
                    Window::new([1, 1]),
                    1,
                ),
                head: layers::Linear::load(weights, "head.weight", Some("head.bias")),
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
                            Size::Fixed(2),
                            Size::Named("height"),
                            Size::Named("width"),
                        ],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "scores",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("batch"), Size::Fixed(3)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "residual",
            opset: 21,
            ..Metadata::EMPTY
        };
        /// Parameters of the model, except those from which weights are computed during loading.
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "block_conv2.weight",
                name: "block.conv2.weight",
                shape: &[2, 2, 1, 1],
                trained: true,
            },
            Parameter {
                path: "head.weight",
                name: "head.weight",
                shape: &[2, 3],
                trained: true,
            },
            Parameter {
                path: "head.bias",
                name: "head.bias",
                shape: &[3],
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
            let device = device(&self.block_conv1);
            let output = self
                .forward(take(inputs, &Self::SIGNATURE.inputs[0], &device)?);
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/residual.onnx"), 1098)]
    }
}
