use onnx_embed_fail_tests::{Device, Tensor, onnx_model};

onnx_model!("../../models/operand_type.onnx");

fn main() {
    let model = Model::new(&Device);
    let y: Tensor<2> = model.forward(Tensor::<2>, Tensor::<1>);
    drop(y);
}
