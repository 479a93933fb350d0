use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(ops("my.company.Top" = crate::top -> int64))]
    pub struct Top = "../../models/custom_results.onnx";
}

fn main() {}
