//! Models that compute single-precision files in 16 bits.

use onnx_embed::{DType, Device, Tensor, TensorData, onnx_model};

use crate::values;

onnx_model! { struct Single = "../../models/perceptron.onnx"; }
onnx_model! {
    #[onnx(precision = "as-is")]
    struct AsIs = "../../models/perceptron.onnx";
}
onnx_model! {
    #[onnx(precision = "f16")]
    struct Narrow = "../../models/perceptron.onnx";
}
onnx_model! {
    #[onnx(precision = "bf16")]
    struct Brain = "../../models/perceptron.onnx";
}

/// Input that is inexact in 16 bits, as are its products with weights.
const X: f32 = 0.1234567;

fn run(forward: impl FnOnce(&Device, Tensor<2>) -> Tensor<2>) -> Vec<f32> {
    let device = Device::flex();
    let x = Tensor::from_data(TensorData::from([[X, -X, 2.0 * X]]), &device);
    let y = forward(&device, x);
    assert_eq!(y.dtype(), DType::F32);
    values(y)
}

#[test]
fn outputs_are_of_the_type_of_the_file_and_near() {
    let single = run(|device, x| Single::new(device).forward(x));
    assert_eq!(run(|device, x| AsIs::new(device).forward(x)), single);
    let largest = single.iter().fold(0.0f32, |most, y| most.max(y.abs()));
    let narrow = run(|device, x| Narrow::new(device).forward(x));
    let brain = run(|device, x| Brain::new(device).forward(x));
    for (found, tolerance) in [(narrow, 1e-3), (brain, 1e-2)] {
        assert_ne!(found, single);
        for (found, single) in found.iter().zip(&single) {
            assert!((found - single).abs() <= tolerance * largest, "{found} {single}");
        }
    }
}
