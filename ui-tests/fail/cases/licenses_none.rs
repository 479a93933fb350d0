use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(licenses("MIT"))]
    pub struct Perceptron = "../../models/perceptron.onnx";
}

fn main() {}
