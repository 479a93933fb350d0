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
        ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::Module;
    /// Compiled from `mobilenet_block.onnx`: IR version 8, ai.onnx 17, produced by pytorch.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `input` | float32[batch, 4, height, width] |
    /// | output | `output` | float32[batch, 4, height, width] |
    ///
    /// Its weights have 216 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let output = model.forward(input);
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        conv0_0: layers::Conv2d,
        conv1_0: layers::Conv2d,
        conv2: layers::Conv2d,
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
        /// Runs the model: `input`: float32[batch, 4, height, width] → `output`: float32[batch, 4, height, width].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If `input` does not have shape [batch, 4, height, width], or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, input: Tensor<4>) -> Tensor<4> {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let input = entry.float("input", input);
            if let Some(parts) = ops::batch::in_parts(
                &input,
                0,
                16,
                |rows| self.forward(rows.of(&input, 0)),
            ) {
                return ops::batch::joined(parts, 0);
            }
            let x = self.conv0_0.forward(input.clone());
            let x = self.conv1_0.forward(x);
            self.conv2.forward_add(x, input)
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If `input` does not have shape [batch, 4, height, width], or if a node cannot process the data.
        pub fn try_forward(&self, input: Tensor<4>) -> Result<Tensor<4>, Error> {
            attempt(|| Ok(self.forward(input)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, input: Tensor<4>) -> Tensor<4> {
            self.forward(input)
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If `input` does not have shape [batch, 4, height, width], or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            input: Tensor<4>,
        ) -> Result<Tensor<4>, Error> {
            attempt_async(async { Ok(self.forward_async(input).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            let conv0_1_scale = weights.tensor::<1>("features.1.conv.0.1.weight")
                / (weights.tensor::<1>("features.1.conv.0.1.running_var") + 1e-5).sqrt();
            let conv1_1_scale = weights.tensor::<1>("features.1.conv.1.1.weight")
                / (weights.tensor::<1>("features.1.conv.1.1.running_var") + 1e-5).sqrt();
            let conv3_scale = weights.tensor::<1>("features.1.conv.3.weight")
                / (weights.tensor::<1>("features.1.conv.3.running_var") + 1e-5).sqrt();
            Self {
                conv0_0: layers::Conv2d::new(
                        weights.tensor::<4>("features.1.conv.0.0.weight")
                            * conv0_1_scale.clone().reshape([8, 1, 1, 1]),
                        Some(
                            weights.tensor::<1>("features.1.conv.0.1.bias")
                                - weights.tensor::<1>("features.1.conv.0.1.running_mean")
                                    * conv0_1_scale,
                        ),
                        Window::new([1, 1]),
                        1,
                    )
                    .activation(Activation::Clip(0.0, 6.0)),
                conv1_0: layers::Conv2d::new(
                        weights.tensor::<4>("features.1.conv.1.0.weight")
                            * conv1_1_scale.clone().reshape([8, 1, 1, 1]),
                        Some(
                            weights.tensor::<1>("features.1.conv.1.1.bias")
                                - weights.tensor::<1>("features.1.conv.1.1.running_mean")
                                    * conv1_1_scale,
                        ),
                        Window::new([3, 3]).pads([(1, 1), (1, 1)]),
                        8,
                    )
                    .activation(Activation::Clip(0.0, 6.0)),
                conv2: layers::Conv2d::new(
                    weights.tensor::<4>("features.1.conv.2.weight")
                        * conv3_scale.clone().reshape([4, 1, 1, 1]),
                    Some(
                        weights.tensor::<1>("features.1.conv.3.bias")
                            - weights.tensor::<1>("features.1.conv.3.running_mean")
                                * conv3_scale,
                    ),
                    Window::new([1, 1]),
                    1,
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
                    name: "input",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(4),
                            Size::Named("height"),
                            Size::Named("width"),
                        ],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "output",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[
                            Size::Named("batch"),
                            Size::Fixed(4),
                            Size::Named("height"),
                            Size::Named("width"),
                        ],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            producer: "pytorch",
            graph: "main_graph",
            opset: 17,
            ..Metadata::EMPTY
        };
        /// Parameters of the model, except those from which weights are computed during loading.
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
            let device = device(&self.conv0_0);
            let output = self
                .forward(take(inputs, &Self::SIGNATURE.inputs[0], &device)?);
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/mobilenet_block.onnx"), 4378)]
    }
}
