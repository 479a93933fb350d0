use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(deterministic)]
    pub struct Model = "../../models/perceptron.onnx";
}

fn main() {}
