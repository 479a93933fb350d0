use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(signature = "keys.pub")]
    pub struct Model = "../../models/signed/good.onnx";
}

fn main() {}
