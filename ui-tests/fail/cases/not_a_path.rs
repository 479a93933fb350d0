use onnx_embed_fail_tests::{Device, Tensor, onnx_model};

onnx_model!(mnist.onnx);

fn main() {
    Model::new(&Device).forward(Tensor::<2>).sum();
}
