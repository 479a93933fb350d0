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
    use ::onnx_embed::__private::weights::{
        ByteRange, Encoding, Entry, File, Table, WeightSource, Weights,
    };
    use ::onnx_embed::burn::module::{Module, Param};
    /// Compiled from `long.onnx`: IR version 10, ai.onnx 21.
    ///
    /// | | name | type |
    /// | --- | --- | --- |
    /// | input | `x0` | float32[n, 2] |
    /// | output | `x180` | float32[n, 2] |
    ///
    /// Its weights have 6 elements.
    ///
    /// ```text
    /// let model = Model::new(&Device::default());
    /// let x180 = model.forward(x0);
    /// ```
    #[derive(Module, Debug)]
    pub struct Model {
        block1: Block,
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
        /// Runs the model: `x0`: float32[n, 2] → `x180`: float32[n, 2].
        ///
        /// Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them.
        ///
        /// # Panics
        ///
        /// If `x0` does not have shape [n, 2], or if a node cannot process the data. [`try_forward`](Self::try_forward) returns an error instead.
        pub fn forward(&self, x0: Tensor<2>) -> Tensor<2> {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let x0 = entry.float("x0", x0);
            if let Some(parts) = ops::batch::in_parts(
                &x0,
                0,
                8,
                |rows| self.forward(rows.of(&x0, 0)),
            ) {
                return ops::batch::joined(parts, 0);
            }
            let x = self.block1.forward(x0);
            self.block1.forward(x)
        }
        /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
        /// for devices that check indices only at the end of a run.
        ///
        /// # Errors
        ///
        /// If `x0` does not have shape [n, 2], or if a node cannot process the data.
        pub fn try_forward(&self, x0: Tensor<2>) -> Result<Tensor<2>, Error> {
            attempt(|| Ok(self.forward(x0)))
        }
        /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
        /// Values that the model reads back from the device are awaited.
        ///
        /// # Panics
        ///
        /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
        pub async fn forward_async(&self, x0: Tensor<2>) -> Tensor<2> {
            self.forward(x0)
        }
        /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
        ///
        /// # Errors
        ///
        /// If `x0` does not have shape [n, 2], or if a node cannot process the data.
        pub async fn try_forward_async(
            &self,
            x0: Tensor<2>,
        ) -> Result<Tensor<2>, Error> {
            attempt_async(async { Ok(self.forward_async(x0).await) }).await
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                block1: Block::load(weights),
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
                    name: "x0",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "x180",
                    kind: ValueType::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
            ],
        };
        const METADATA: Metadata = Metadata {
            graph: "long",
            opset: 21,
            ..Metadata::EMPTY
        };
        const PARAMETERS: &'static [Parameter] = &[
            Parameter {
                path: "block1.parameter",
                name: "bias",
                shape: &[2],
                trained: true,
            },
            Parameter {
                path: "block1.linear.weight",
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
            let device = device(&self.block1);
            let output = self
                .forward(take(inputs, &Self::SIGNATURE.inputs[0], &device)?);
            Ok(Outputs::new().with(&Self::SIGNATURE.outputs[0], output))
        }
    }
    /// Modules `block1`, `block2` of the model.
    #[derive(Module, Debug)]
    struct Block {
        parameter: Param<Tensor<1>>,
        linear: layers::Linear,
    }
    impl Block {
        #[inline(never)]
        fn forward(&self, x0: Tensor<2>) -> Tensor<2> {
            let x = x0 + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            let x = self.linear.forward(x) + self.parameter.val().unsqueeze::<2>();
            self.linear.forward(x)
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                parameter: weights.float::<1>("bias"),
                linear: layers::Linear::load(weights, "weight", None)
                    .activation(Activation::Relu),
            }
        }
    }
    /// Returns the contents of the model's files.
    fn files() -> [&'static [u8]; 1] {
        [embedded!(include_bytes!("$FOLDER/long.onnx"), 4401)]
    }
}
