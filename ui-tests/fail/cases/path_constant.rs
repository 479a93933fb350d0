use onnx_embed_fail_tests::onnx_model;

const FOLDER: &str = "../../models";

onnx_model!(concat!(FOLDER, "/perceptron.onnx"));

fn main() {}
