use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(licenses())]
    pub struct Iris = "../../models/iris.onnx";
}

fn main() {}
