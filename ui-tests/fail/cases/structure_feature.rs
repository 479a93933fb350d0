use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(weights = "file", match = "structure")]
    pub struct Model = "../../models/perceptron.onnx";
}

fn main() {}
