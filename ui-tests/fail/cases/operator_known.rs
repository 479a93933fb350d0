use onnx_embed_fail_tests::onnx_model;

onnx_model! {
    #[onnx(ops("Gemm" = crate::gemm))]
    pub struct Perceptron = "../../models/perceptron.onnx";
}

fn main() {}
