//! Inputs and outputs of all numbers and kinds.

use onnx_embed::{DType, Device, Int, OnnxModel, Tensor, TensorData, onnx_model};

use crate::{values, vector};

onnx_model! { struct Passed = "../../models/passed_on.onnx"; }
onnx_model! { struct Scalars = "../../models/scalars.onnx"; }
onnx_model! { struct Alone = "../../models/no_inputs.onnx"; }

#[test]
fn outputs_may_be_inputs_and_constants() {
    let k: Tensor<1, Int> = Tensor::from_data(TensorData::from([7i64, 8]), (&Device::flex(), DType::I64));
    let input = PassedInput { x: vector([-1.0, 1.0, 2.0]), k };
    let output = Passed::new(&Device::flex()).forward(input);
    assert_eq!(values(output.x), [-1.0, 1.0, 2.0]);
    assert_eq!(output.same.into_data(), TensorData::from([7i64, 8]));
    assert_eq!(values(output.constant), [1.0, 2.0]);
    assert_eq!(values(output.y), [0.0, 1.0, 2.0]);
}

#[test]
fn scalars_are_tensors_of_one_element() {
    assert_eq!(Scalars::SIGNATURE.to_string(), "(x: float32, k: int64) -> (y: float32, j: int64)");
    let k: Tensor<1, Int> = Tensor::from_data(TensorData::from([7i64]), (&Device::flex(), DType::I64));
    let output = Scalars::new(&Device::flex()).forward(ScalarsInput { x: vector([1.5]), k });
    assert_eq!(values(output.y), [3.0]);
    assert_eq!(output.j.into_data(), TensorData::from([49i64]));
}

#[test]
fn a_model_without_inputs_is_run_by_names() {
    let outputs = Alone::new(&Device::flex()).run(Default::default()).unwrap();
    assert_eq!(outputs["y"].tensor(), Some(&TensorData::from([3.0f32, 8.0])));
}
