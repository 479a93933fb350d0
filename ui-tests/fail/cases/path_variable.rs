use onnx_embed_fail_tests::onnx_model;

onnx_model!("${NO_SUCH_FOLDER}/perceptron.onnx");

fn main() {}
