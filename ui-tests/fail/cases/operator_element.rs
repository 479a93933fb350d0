use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(ops("my.company.Top" = crate::top -> (like(0), long[batch, 2])))]
    pub struct Top = "../../models/custom_results.onnx";
}

fn main() {}
