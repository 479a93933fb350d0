use onnx_embed_fail_tests::onnx_model;

onnx_model!(concat!(env!("CARGO_PKG_NAME"), "/perceptron.", "onnx"));

fn main() {}
