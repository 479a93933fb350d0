use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(ops(
        "my.company.BiasSwish" = crate::bias_swish,
        "my.company.BiasSwich" = crate::bias_swish,
    ))]
    pub struct Swish = "../../models/custom.onnx";
}

fn main() {}
