#[allow(unused_imports)]
pub use model_model::Model;
#[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
mod model_model {
    use ::onnx_embed::{
        burn, Device, ElementType, Error, Kind, OnnxModel, Port, Signature, Size, Tensor,
        Values,
    };
    use ::onnx_embed::__private::{Anchor, attempt, device, entry, layers, put, take};
    use ::onnx_embed::__private::weights::{
        Encoding, Entry, File, Fixed, Part, Table, Weights,
    };
    use ::onnx_embed::burn::module::{Module, Param};
    use ::onnx_embed::burn::tensor::activation;
    /// Compiled from `long.onnx`: IR version 10, ai.onnx 21.
    #[derive(Module, Debug)]
    pub struct Model {
        block1: Block,
        block2: Block,
        anchor: Anchor,
    }
    impl Model {
        /// The model with the weights that are in the binary.
        pub fn new(device: &Device) -> Self {
            Self::load(&Weights::new(&WEIGHTS, &files(), device))
        }
        /// The model with the weights of a file of the same graph.
        pub fn from_file(
            path: impl AsRef<std::path::Path>,
            device: &Device,
        ) -> Result<Self, Error> {
            <Self as OnnxModel>::from_file(path, device)
        }
        /// The model with the weights of another file of the same graph.
        pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<Self, Error> {
            <Self as OnnxModel>::from_bytes(&[bytes], device)
        }
        /// Runs the model.
        ///
        /// # Panics
        ///
        /// If an input has not the sizes that the model takes, or a node cannot be run on the
        /// data. [`OnnxModel::run`] returns an error instead.
        pub fn forward(&self, x0: Tensor<2>) -> Tensor<2> {
            let mut entry = entry::Entry::new(Self::SIGNATURE);
            let x0 = entry.float("x0", x0);
            let x = self.block1.forward(x0);
            self.block2.forward(x)
        }
        fn load(weights: &Weights<'_>) -> Self {
            Self {
                block1: Block::load_block1(weights),
                block2: Block::load_block2(weights),
                anchor: Anchor::new(weights.device()),
            }
        }
    }
    impl OnnxModel for Model {
        const SIGNATURE: Signature = Signature {
            inputs: &[
                Port {
                    name: "x0",
                    kind: Kind::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
            ],
            outputs: &[
                Port {
                    name: "x180",
                    kind: Kind::Tensor {
                        dtype: ElementType::Float32,
                        sizes: &[Size::Named("n"), Size::Fixed(2)],
                    },
                },
            ],
        };
        fn from_file(
            path: impl AsRef<std::path::Path>,
            device: &Device,
        ) -> Result<Self, Error> {
            WEIGHTS
                .open(
                    path.as_ref(),
                    |files| <Self as OnnxModel>::from_bytes(files, device),
                )
        }
        fn from_bytes(files: &[&[u8]], device: &Device) -> Result<Self, Error> {
            WEIGHTS.check(files)?;
            Ok(Self::load(&Weights::new(&WEIGHTS, files, device)))
        }
        fn run(&self, mut inputs: Values) -> Result<Values, Error> {
            Self::SIGNATURE.check(&inputs)?;
            let device = device(self);
            attempt(|| {
                let output = self
                    .forward(take(&mut inputs, &Self::SIGNATURE.inputs[0], &device)?);
                let mut outputs = Values::new();
                put(&mut outputs, &Self::SIGNATURE.outputs[0], output)?;
                Ok(outputs)
            })
        }
    }
    /// `block1`, `block2` of the model.
    #[derive(Module, Debug)]
    struct Block {
        weight: Param<Tensor<1>>,
        linear: layers::Linear,
        linear2: layers::Linear,
        linear3: layers::Linear,
        linear4: layers::Linear,
        linear5: layers::Linear,
        linear6: layers::Linear,
        linear7: layers::Linear,
        linear8: layers::Linear,
        linear9: layers::Linear,
        linear10: layers::Linear,
        linear11: layers::Linear,
        linear12: layers::Linear,
        linear13: layers::Linear,
        linear14: layers::Linear,
        linear15: layers::Linear,
        linear16: layers::Linear,
        linear17: layers::Linear,
        linear18: layers::Linear,
        linear19: layers::Linear,
        linear20: layers::Linear,
        linear21: layers::Linear,
        linear22: layers::Linear,
        linear23: layers::Linear,
        linear24: layers::Linear,
        linear25: layers::Linear,
        linear26: layers::Linear,
        linear27: layers::Linear,
        linear28: layers::Linear,
        linear29: layers::Linear,
        linear30: layers::Linear,
    }
    impl Block {
        #[inline(never)]
        fn forward(&self, x0: Tensor<2>) -> Tensor<2> {
            let x = x0 + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear2.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear3.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear4.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear5.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear6.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear7.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear8.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear9.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear10.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear11.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear12.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear13.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear14.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear15.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear16.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear17.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear18.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear19.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear20.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear21.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear22.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear23.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear24.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear25.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear26.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear27.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear28.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            let x = activation::relu(self.linear29.forward(x));
            let x = x + self.weight.val().unsqueeze::<2>();
            activation::relu(self.linear30.forward(x))
        }
        fn load_block1(weights: &Weights<'_>) -> Self {
            Self {
                weight: weights.float::<1>("bias"),
                linear: layers::Linear::load(weights, "weight", None),
                linear2: layers::Linear::load(weights, "weight", None),
                linear3: layers::Linear::load(weights, "weight", None),
                linear4: layers::Linear::load(weights, "weight", None),
                linear5: layers::Linear::load(weights, "weight", None),
                linear6: layers::Linear::load(weights, "weight", None),
                linear7: layers::Linear::load(weights, "weight", None),
                linear8: layers::Linear::load(weights, "weight", None),
                linear9: layers::Linear::load(weights, "weight", None),
                linear10: layers::Linear::load(weights, "weight", None),
                linear11: layers::Linear::load(weights, "weight", None),
                linear12: layers::Linear::load(weights, "weight", None),
                linear13: layers::Linear::load(weights, "weight", None),
                linear14: layers::Linear::load(weights, "weight", None),
                linear15: layers::Linear::load(weights, "weight", None),
                linear16: layers::Linear::load(weights, "weight", None),
                linear17: layers::Linear::load(weights, "weight", None),
                linear18: layers::Linear::load(weights, "weight", None),
                linear19: layers::Linear::load(weights, "weight", None),
                linear20: layers::Linear::load(weights, "weight", None),
                linear21: layers::Linear::load(weights, "weight", None),
                linear22: layers::Linear::load(weights, "weight", None),
                linear23: layers::Linear::load(weights, "weight", None),
                linear24: layers::Linear::load(weights, "weight", None),
                linear25: layers::Linear::load(weights, "weight", None),
                linear26: layers::Linear::load(weights, "weight", None),
                linear27: layers::Linear::load(weights, "weight", None),
                linear28: layers::Linear::load(weights, "weight", None),
                linear29: layers::Linear::load(weights, "weight", None),
                linear30: layers::Linear::load(weights, "weight", None),
            }
        }
        fn load_block2(weights: &Weights<'_>) -> Self {
            Self {
                weight: weights.float::<1>("bias"),
                linear: layers::Linear::load(weights, "weight", None),
                linear2: layers::Linear::load(weights, "weight", None),
                linear3: layers::Linear::load(weights, "weight", None),
                linear4: layers::Linear::load(weights, "weight", None),
                linear5: layers::Linear::load(weights, "weight", None),
                linear6: layers::Linear::load(weights, "weight", None),
                linear7: layers::Linear::load(weights, "weight", None),
                linear8: layers::Linear::load(weights, "weight", None),
                linear9: layers::Linear::load(weights, "weight", None),
                linear10: layers::Linear::load(weights, "weight", None),
                linear11: layers::Linear::load(weights, "weight", None),
                linear12: layers::Linear::load(weights, "weight", None),
                linear13: layers::Linear::load(weights, "weight", None),
                linear14: layers::Linear::load(weights, "weight", None),
                linear15: layers::Linear::load(weights, "weight", None),
                linear16: layers::Linear::load(weights, "weight", None),
                linear17: layers::Linear::load(weights, "weight", None),
                linear18: layers::Linear::load(weights, "weight", None),
                linear19: layers::Linear::load(weights, "weight", None),
                linear20: layers::Linear::load(weights, "weight", None),
                linear21: layers::Linear::load(weights, "weight", None),
                linear22: layers::Linear::load(weights, "weight", None),
                linear23: layers::Linear::load(weights, "weight", None),
                linear24: layers::Linear::load(weights, "weight", None),
                linear25: layers::Linear::load(weights, "weight", None),
                linear26: layers::Linear::load(weights, "weight", None),
                linear27: layers::Linear::load(weights, "weight", None),
                linear28: layers::Linear::load(weights, "weight", None),
                linear29: layers::Linear::load(weights, "weight", None),
                linear30: layers::Linear::load(weights, "weight", None),
            }
        }
    }
    /// The model's files.
    fn files() -> [&'static [u8]; 1] {
        [include_bytes!("$FOLDER/long.onnx")]
    }
}
