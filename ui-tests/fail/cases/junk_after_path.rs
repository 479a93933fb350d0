use onnx_embed_fail_tests::{Device, Tensor, onnx_model};

onnx_model!("../../models/perceptron.onnx", weights = "file");

fn main() {
    Model::new(&Device).forward(Tensor::<2>).sum();
}
