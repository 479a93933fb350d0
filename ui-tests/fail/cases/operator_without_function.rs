use onnx_embed_fail_tests::onnx_model;

onnx_model!("../../models/custom.onnx");

fn main() {}
