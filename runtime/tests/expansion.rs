//! A handwritten expansion of `onnx_model!` for `tests/data/mlp.onnx`.

use std::path::Path;

use onnx_embed::{
    Device, OnnxModel, Tensor, TensorData, Values,
    burn::{module::Module, tensor::Tolerance},
};

mod mlp {
    #[allow(unused_imports)]
    pub use expansion::{Model, ModelOutput};

    mod expansion {
        use onnx_embed::__private::weights::{
            ByteRange, Encoding, Entry, File, Table, WeightSource, Weights,
        };
        use onnx_embed::__private::{self as private, entry};
        use onnx_embed::burn::module::{Module, Param};
        use onnx_embed::burn::{self, tensor::activation, tensor::module};
        use onnx_embed::{
            Device, ElementType, Error, Int, OnnxModel, Port, Signature, Size, Tensor, ValueType, Values,
        };

        /// The graph `mlp`.
        #[derive(Module, Debug)]
        pub struct Model {
            fc1: Fc1,
            fc2: Fc2,
        }

        /// Outputs of [`Model::forward`].
        pub struct ModelOutput {
            /// `logits`: float32[batch, 3]
            pub logits: Tensor<2>,
            /// `class`: int64[batch]
            pub class: Tensor<1, Int>,
        }

        #[derive(Module, Debug)]
        struct Fc1 {
            /// `fc1.weight`, transposed
            weight: Param<Tensor<2>>,
            /// `fc1.bias`
            bias: Param<Tensor<1>>,
        }

        #[derive(Module, Debug)]
        struct Fc2 {
            /// `fc2.weight`, transposed
            weight: Param<Tensor<2>>,
            /// `fc2.bias`
            bias: Param<Tensor<1>>,
        }

        impl Model {
            /// The model with the weights inside the program.
            pub fn new(device: &Device) -> Self {
                Self::build(&Weights::new(&TABLE, &files(), device))
            }

            /// The model with the weights of the file at `path`.
            pub fn from_file(path: impl AsRef<std::path::Path>, device: &Device) -> Result<Self, Error> {
                <Self as OnnxModel>::from_file(path, device)
            }

            /// The model with the weights in `files`.
            pub fn from_bytes(files: &[&[u8]], device: &Device) -> Result<Self, Error> {
                <Self as OnnxModel>::from_bytes(files, device)
            }

            /// `x`: float32[batch, 4]
            pub fn forward(&self, x: Tensor<2>) -> ModelOutput {
                let mut sizes = entry::Sizes::new();
                entry::expect(sizes.check("x", &x.dims(), X));
                let x = entry::float(x, ElementType::Float32);
                let hidden = self.fc1.forward(x);
                let active = activation::relu(hidden);
                let logits = self.fc2.forward(active);
                let class = logits.clone().argmax(1).squeeze_dim::<1>(1);
                let class = entry::int(class, ElementType::Int64);
                ModelOutput { logits, class }
            }

            fn build(weights: &Weights) -> Self {
                Self { fc1: Fc1::build(weights), fc2: Fc2::build(weights) }
            }
        }

        impl Fc1 {
            fn forward(&self, x: Tensor<2>) -> Tensor<2> {
                module::linear(x, self.weight.val(), Some(self.bias.val()))
            }

            fn build(weights: &Weights) -> Self {
                Self {
                    weight: Param::from_tensor(weights.tensor("fc1.weight").transpose()),
                    bias: weights.float("fc1.bias"),
                }
            }
        }

        impl Fc2 {
            fn forward(&self, x: Tensor<2>) -> Tensor<2> {
                module::linear(x, self.weight.val(), Some(self.bias.val()))
            }

            fn build(weights: &Weights) -> Self {
                Self {
                    weight: Param::from_tensor(weights.tensor("fc2.weight").transpose()),
                    bias: weights.float("fc2.bias"),
                }
            }
        }

        impl OnnxModel for Model {
            const SIGNATURE: Signature = Signature {
                inputs: &[port("x", ElementType::Float32, X)],
                outputs: &[
                    port("logits", ElementType::Float32, &[Size::Named("batch"), Size::Fixed(3)]),
                    port("class", ElementType::Int64, &[Size::Named("batch")]),
                ],
            };

            const PARAMETERS: &'static [onnx_embed::Parameter] = &[];

            fn from_source(source: WeightSource<'_>, device: &Device) -> Result<Self, Error> {
                TABLE.load(source, device, Self::build)
            }

            fn table() -> &'static Table {
                &TABLE
            }

            fn start(&self, inputs: &mut Values) -> Result<private::Outputs, Error> {
                let device = private::device(self);
                let input = private::take(inputs, &Self::SIGNATURE.inputs[0], &device)?;
                let output = self.forward(input);
                Ok(private::Outputs::new()
                    .with(&Self::SIGNATURE.outputs[0], output.logits)
                    .with(&Self::SIGNATURE.outputs[1], output.class))
            }
        }

        const X: &[Size] = &[Size::Named("batch"), Size::Fixed(4)];

        const fn port(name: &'static str, dtype: ElementType, sizes: &'static [Size]) -> Port {
            Port { name, kind: ValueType::Tensor { dtype, sizes } }
        }

        fn files() -> [&'static [u8]; 1] {
            [include_bytes!("data/mlp.onnx")]
        }

        static TABLE: Table = Table {
            files: &[File { name: "mlp.onnx", length: 547, tail: 0x3b2aa36b25e09194 }],
            entries: &[
                raw("fc1.weight", &[5, 4], &[at(228, 80, 0x8c3a53f2c12b273d)]),
                raw("fc1.bias", &[5], &[at(326, 20, 0x7e93caff2269fb96)]),
                raw("fc2.weight", &[3, 5], &[at(368, 60, 0xd9f25ba6c1b40133)]),
                raw("fc2.bias", &[3], &[at(436, 12, 0x6385b2919929a477)]),
            ],
            fixed: &[],
        };

        const fn raw(name: &'static str, shape: &'static [usize], parts: &'static [ByteRange]) -> Entry {
            Entry { name, dtype: ElementType::Float32, shape, parts, encoding: Encoding::Raw }
        }

        const fn at(start: usize, length: usize, gap: u64) -> ByteRange {
            ByteRange { file: 0, start, length, gap }
        }
    }
}

const FILE: &[u8] = include_bytes!("data/mlp.onnx");
const X: [[f32; 4]; 2] = [[1.0, -2.0, 3.0, 0.5], [0.5, 1.0, -1.0, -2.0]];

/// Outputs of ONNX Runtime for [`X`].
const LOGITS: [[f32; 3]; 2] = [[0.4375, -0.03125, -0.46875], [0.0625, -0.96875, 2.40625]];
const CLASS: [i64; 2] = [0, 2];

fn assert_logits(logits: &TensorData) {
    logits.assert_approx_eq::<f32>(&TensorData::from(LOGITS), Tolerance::strict());
}

#[test]
fn the_embedded_model_agrees_with_onnx_runtime() {
    let device = Device::flex();
    let output = mlp::Model::new(&device).forward(Tensor::from_floats(X, &device));
    assert_logits(&output.logits.into_data());
    assert_eq!(output.class.into_data(), TensorData::from(CLASS));
}

#[test]
fn a_model_runs_by_the_names_in_the_file() {
    let model = mlp::Model::new(&Device::flex());
    let outputs = model.run(Values::from([("x", TensorData::from(X))])).unwrap();
    assert_logits(outputs["logits"].tensor().unwrap());
    assert_eq!(outputs["class"].tensor(), Some(&TensorData::from(CLASS)));
    assert_eq!(
        mlp::Model::SIGNATURE.to_string(),
        "(x: float32[batch, 4]) -> (logits: float32[batch, 3], class: int64[batch])"
    );
}

#[test]
fn a_wrong_input_is_reported_by_its_name() {
    let model = mlp::Model::new(&Device::flex());
    let complaint = |name, value: TensorData| {
        let error = model.run(Values::from([(name, value)])).map(drop);
        error.unwrap_err().to_string()
    };
    assert_eq!(complaint("y", TensorData::from(X)), "unexpected input `y` (inputs are: `x`)");
    assert_eq!(complaint("x", TensorData::from([[1.0f32]])), "`x` has shape [1, 1], expected [batch, 4]");
}

#[test]
fn weights_may_come_from_another_file_of_the_same_model() {
    let device = Device::flex();
    let mut tuned = FILE.to_vec();
    tuned[436..448].copy_from_slice(&[0; 12]);
    let model = mlp::Model::from_bytes(&[&tuned], &device).unwrap();
    let logits = model.forward(Tensor::from_floats(X, &device)).logits;
    let without_bias = [[-0.0625f32, 0.21875, -0.59375], [-0.4375, -0.71875, 2.28125]];
    logits.into_data().assert_approx_eq::<f32>(&TensorData::from(without_bias), Tolerance::strict());
}

#[test]
fn a_file_of_another_model_is_refused() {
    let device = Device::flex();
    let mut other = FILE.to_vec();
    let at = other.windows(8).position(|bytes| bytes == b"fc1.bias");
    other[at.unwrap()] = b'F';
    let error = mlp::Model::from_bytes(&[&other], &device).map(drop).unwrap_err();
    assert!(
        error.to_string().starts_with("the bytes of `mlp.onnx` differ from the compiled model"),
        "{error}"
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mlp.onnx");
    mlp::Model::from_file(path, &device).unwrap();
}

#[test]
fn a_record_carries_the_weights() {
    let device = Device::flex();
    let mut tuned = FILE.to_vec();
    tuned[228..308].copy_from_slice(&[0; 80]);
    let other = mlp::Model::from_bytes(&[&tuned], &device).unwrap();
    let record = mlp::Model::new(&device).into_record().into_bytes().unwrap();
    let record = onnx_embed::burn::store::ModuleRecord::from_bytes(record).unwrap();
    let output = other.load_record(record).forward(Tensor::from_floats(X, &device));
    assert_logits(&output.logits.into_data());
}
