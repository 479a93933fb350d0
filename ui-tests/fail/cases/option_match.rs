use onnx_embed_fail_tests::{Device, Tensor, onnx_model};

onnx_model! {
    /// Two layers.
    #[onnx(weights = "file", match = "names")]
    pub struct Perceptron = "../../models/perceptron.onnx";
}

fn main() {
    let output: PerceptronOutput = Perceptron::new(&Device).forward(PerceptronInput { x: Tensor::<2> });
    println!("{:?}", output.y.sum());
}
