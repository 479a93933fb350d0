//! 16-bit floats, which Flex computes in single precision.

use half::f16;
use onnx_embed::{DType, Device, OnnxModel, Tensor, TensorData, Value, Values, onnx_model};

use crate::vector;

onnx_model! { struct Half = "../../models/half.onnx"; }

const X: [f32; 3] = [300.0, 0.1, 2.0];
const Z: [f32; 3] = [0.1, 2049.0, 1e5];

fn half_precision<const N: usize>(values: [f32; N]) -> TensorData {
    TensorData::from(values.map(f16::from_f32))
}

fn forward(x: Tensor<1>) -> HalfOutput {
    Half::new(&Device::flex()).forward(HalfInput { x, z: vector(Z) })
}

#[test]
fn results_are_rounded_where_they_leave_the_model() {
    let output = forward(vector(X).cast(DType::F16));
    let tenth = f16::from_f32(0.1).to_f32();
    assert_eq!(output.square.into_data(), half_precision([f32::INFINITY, tenth * tenth, 4.0]));
    assert_eq!(output.y.into_data(), half_precision([300.0, 0.1, 2.0]));
    let single = output.single.into_data();
    assert_eq!(single, TensorData::from([90_000.0, tenth * tenth, 4.0]));
    let items = output.items.iter().map(|item| item.dtype());
    assert_eq!(items.collect::<Vec<_>>(), [DType::F16; 2]);
}

#[test]
fn inputs_are_rounded_to_what_the_model_takes() {
    let single = forward(vector(X)).single.into_data();
    assert_eq!(single, forward(vector(X).cast(DType::F16)).single.into_data());
}

#[test]
fn a_cast_rounds_and_what_asks_for_the_range_sees_it() {
    let output = forward(vector(X));
    let cast = Z.map(|z| f16::from_f32(z).to_f32());
    assert_eq!(output.cast.into_data(), TensorData::from(cast));
    assert_eq!(output.infinite.into_data(), TensorData::from([true, false, false]));
}

#[test]
fn values_by_name_have_the_types_of_the_file() {
    let inputs =
        Values::from([("x", Value::from(half_precision(X))), ("z", Value::from(TensorData::from(Z)))]);
    let outputs = Half::new(&Device::flex()).run(inputs).unwrap();
    assert_eq!(outputs["y"].tensor(), Some(&half_precision(X)));
    assert_eq!(outputs["items"].sequence().unwrap()[1].tensor(), Some(&half_precision(X)));
}
