//! Tensors from literals and their comparison, for tests.

use burn::tensor::{Bool, Device, Float, Int, Tensor, TensorData, kind::Basic};

/// A tensor of any kind on the CPU, of the literal's own dtype.
pub fn tensor<const D: usize, K: Basic>(data: impl Into<TensorData>) -> Tensor<D, K> {
    let data = data.into();
    let dtype = data.dtype();
    Tensor::from_data(data, (&Device::flex(), dtype))
}

/// A float tensor on the CPU.
pub fn float<const D: usize>(data: impl Into<TensorData>) -> Tensor<D, Float> {
    tensor(data)
}

/// An integer tensor on the CPU.
pub fn int<const D: usize>(data: impl Into<TensorData>) -> Tensor<D, Int> {
    tensor(data)
}

/// A boolean tensor on the CPU.
pub fn bool<const D: usize>(data: impl Into<TensorData>) -> Tensor<D, Bool> {
    tensor(data)
}

/// Asserts equal dtype, shape and elements; NaN equals NaN.
#[track_caller]
pub fn same<const D: usize, K: Basic>(actual: Tensor<D, K>, expected: impl Into<TensorData>) {
    compare(actual, expected.into(), 0.0);
}

/// Asserts equal dtype and shape, and elements within `tolerance` relative to the greater of 1 and the expected value.
#[track_caller]
pub fn near<const D: usize, K: Basic>(
    actual: Tensor<D, K>,
    expected: impl Into<TensorData>,
    tolerance: f64,
) {
    compare(actual, expected.into(), tolerance);
}

#[track_caller]
fn compare<const D: usize, K: Basic>(actual: Tensor<D, K>, expected: TensorData, tolerance: f64) {
    let actual = actual.into_data();
    assert_eq!(actual.dtype(), expected.dtype(), "dtype");
    assert_eq!(actual.shape(), expected.shape(), "shape");
    if !actual.dtype().is_float() {
        assert_eq!(actual, expected);
        return;
    }
    let pairs = actual.iter::<f64>().zip(expected.iter::<f64>());
    for (index, (a, e)) in pairs.enumerate() {
        let close = a == e || (a.is_nan() && e.is_nan());
        assert!(
            close || (a - e).abs() <= tolerance * e.abs().max(1.0),
            "element {index} is {a} where {e} was expected\n  actual {actual}\nexpected {expected}"
        );
    }
}

/// Float values in [-1, 1) that look random and are the same in every run.
pub fn noise<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<D> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| next()).collect();
    float(TensorData::new(values, shape))
}

/// Every index of `shape` in row-major order.
pub fn indices<const D: usize>(shape: [usize; D]) -> impl Iterator<Item = [usize; D]> {
    (0..shape.iter().product()).map(move |flat: usize| {
        let mut rest = flat;
        let mut index = [0; D];
        for axis in (0..D).rev() {
            index[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        index
    })
}
