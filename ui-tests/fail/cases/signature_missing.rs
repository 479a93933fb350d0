use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(signature = "../../models/signed/key.pub")]
    pub struct Model = "../../models/signed/unsigned.onnx";
}

fn main() {}
