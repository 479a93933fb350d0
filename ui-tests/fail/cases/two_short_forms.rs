use onnx_embed_fail_tests::onnx_model;

mod other {
    onnx_embed_fail_tests::onnx_model!("../../models/empty.onnx");
}

onnx_model!("../../models/pointer.onnx");
onnx_model!("../../models/text-encoder.onnx");

fn main() {}
