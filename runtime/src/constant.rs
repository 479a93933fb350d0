//! Small tensors that are literals in generated code.

mod signal;

use alloc::vec::Vec;
use burn::tensor::kind::Basic;
use burn::tensor::{Bool, DType, Device, ElementConversion, Int, Shape, Tensor, TensorData};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::sizes::elements;

use crate::ElementType;
use crate::convert::convert;

pub use signal::{blackman_window, hamming_window, hann_window, mel_weight_matrix};

/// Creates a float tensor of `values` in the dtype that carries `dtype`.
pub fn float<const D: usize>(
    device: &Device,
    dtype: ElementType,
    shape: [usize; D],
    values: &[f64],
) -> Tensor<D> {
    let data = TensorData::new(values.to_vec(), Shape::from(shape));
    let (data, dtype) = carried(data, dtype, device);
    Tensor::from_data(data, (device, dtype))
}

/// Creates an integer tensor of `values` in the dtype that carries `dtype`.
pub fn int<const D: usize>(
    device: &Device,
    dtype: ElementType,
    shape: [usize; D],
    values: &[i64],
) -> Tensor<D, Int> {
    let data = TensorData::new(values.to_vec(), Shape::from(shape));
    let (data, dtype) = carried(data, dtype, device);
    Tensor::from_data(data, (device, dtype))
}

/// Creates a boolean tensor of `values`.
pub fn boolean<const D: usize>(device: &Device, shape: [usize; D], values: &[bool]) -> Tensor<D, Bool> {
    let data = TensorData::new(values.to_vec(), Shape::from(shape));
    Tensor::from_data(data, device)
}

/// Creates a float tensor filled with `value`.
pub fn full<const D: usize>(device: &Device, dtype: ElementType, shape: [usize; D], value: f64) -> Tensor<D> {
    filled(device, lowered(device, dtype.carrier().unwrap_or(DType::F32)), shape, value)
}

/// Creates an integer tensor filled with `value`.
pub fn full_int<const D: usize>(
    device: &Device,
    dtype: ElementType,
    shape: [usize; D],
    value: i64,
) -> Tensor<D, Int> {
    filled(device, lowered(device, dtype.carrier().unwrap_or(DType::I64)), shape, value)
}

/// Creates an integer tensor of `start`, `start + step` and so on, in row-major order.
pub fn steps<const D: usize>(
    device: &Device,
    dtype: ElementType,
    shape: [usize; D],
    start: i64,
    step: i64,
) -> Tensor<D, Int> {
    let count = elements(&shape, size_of::<i64>()) as i64;
    let values: Vec<i64> = (0..count).map(|at| start + at * step).collect();
    int(device, dtype, shape, &values)
}

/// Creates a boolean tensor filled with `value`.
pub fn full_boolean<const D: usize>(device: &Device, shape: [usize; D], value: bool) -> Tensor<D, Bool> {
    filled(device, device.settings().bool_dtype.into(), shape, value)
}

fn filled<const D: usize, K: Basic>(
    device: &Device,
    dtype: DType,
    shape: [usize; D],
    value: impl ElementConversion,
) -> Tensor<D, K> {
    if elements(&shape, dtype.size()) == 0 {
        Tensor::empty(shape, (device, dtype))
    } else {
        Tensor::full(shape, value, (device, dtype))
    }
}

fn carried(data: TensorData, dtype: ElementType, device: &Device) -> (TensorData, DType) {
    let carrier = dtype.carrier().unwrap_or(data.dtype());
    let dtype = lowered(device, carrier);
    (convert(data, dtype), dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_has_the_dtype_that_it_names() {
        let device = Device::flex();
        let half = float(&device, ElementType::Float16, [2], &[1.0, 0.5]);
        assert_eq!(half.into_data(), TensorData::from([1f32, 0.5]));
        let nibble = int(&device, ElementType::Int4, [1, 1], &[-8]);
        assert_eq!(nibble.into_data(), TensorData::from([[-8i8]]));
        let mask = boolean(&device, [1], &[true]);
        assert_eq!(mask.into_data(), TensorData::from([true]));
    }

    #[test]
    fn values_and_steps_fill_any_shape() {
        let device = Device::flex();
        let ones = full_int(&device, ElementType::Int32, [2, 1], 1);
        assert_eq!(ones.into_data(), TensorData::from([[1i32], [1]]));
        let rows = steps(&device, ElementType::Int64, [2, 2], 3, -1);
        assert_eq!(rows.into_data(), TensorData::from([[3i64, 2], [1, 0]]));
        let none = full(&device, ElementType::Float64, [0, 3], 1.0);
        assert_eq!(none.dims(), [0, 3]);
        let mask = full_boolean(&device, [2], true);
        assert_eq!(mask.into_data(), TensorData::from([true, true]));
    }
}
