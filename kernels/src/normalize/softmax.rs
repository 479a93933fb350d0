//! Softmax, LogSoftmax and Hardmax along one axis or several.

use burn::tensor::{FloatDType, Int, Tensor};

use crate::shape::WithShape;
use crate::{
    backend::call, elementwise::elementary::exp, reduce::sum::sum_dim, shape::expand::together,
    widen::widened,
};

/// Softmax along one axis.
#[inline(never)]
pub fn softmax<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    if is_empty(&x) {
        return x;
    }
    Tensor::from_dispatch(call!(softmax(x; axis)))
}

/// LogSoftmax along one axis.
#[inline(never)]
pub fn log_softmax<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    if is_empty(&x) {
        return x;
    }
    Tensor::from_dispatch(call!(log_softmax(x; axis)))
}

/// Hardmax: 1 at the first greatest element along the axis, otherwise 0.
pub fn hardmax<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    if is_empty(&x) {
        return x;
    }
    let size = x.dims()[axis];
    let dtype: FloatDType = x.dtype().into();
    let greatest = x.argmax(axis);
    let mut along = [1; D];
    along[axis] = size;
    let indices = Tensor::arange(0..size as i64, (&greatest.device(), greatest.dtype()));
    let indices: Tensor<D, Int> = indices.with_shape(along);
    let (greatest, indices) = together(greatest, indices);
    greatest.equal(indices).cast(dtype)
}

/// Softmax in half precision, if requested, as the function body in ONNX: every step is rounded, the sum once.
///
/// Devices compute all of it in single precision, which differs by more than one rounding.
pub fn softmax_of_halves<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    if is_empty(&x) {
        return x;
    }
    let dtype: FloatDType = x.dtype().into();
    let (x, greatest) = together(x.clone(), x.max_dim(axis));
    let powers = exp(x.sub(greatest));
    let sum = sum_dim(widened(powers.clone()), axis).cast(dtype);
    let (powers, sum) = together(powers, sum);
    powers.div(sum)
}

/// Softmax of opsets before 13: over `axis` and all axes after it at once.
pub fn softmax_flat<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    flat(x, axis, softmax)
}

/// LogSoftmax of opsets before 13: over `axis` and all axes after it at once.
pub fn log_softmax_flat<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    flat(x, axis, log_softmax)
}

/// Hardmax of opsets before 13: over `axis` and all axes after it at once.
pub fn hardmax_flat<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    flat(x, axis, hardmax)
}

fn is_empty<const D: usize>(x: &Tensor<D>) -> bool {
    x.dims().contains(&0)
}

fn flat<const D: usize>(x: Tensor<D>, axis: usize, run: fn(Tensor<2>, usize) -> Tensor<2>) -> Tensor<D> {
    let dims = x.dims();
    let rows = dims[..axis].iter().product::<usize>();
    let columns = dims[axis..].iter().product::<usize>();
    run(x.with_shape([rows, columns]), 1).with_shape(dims)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, activation};
    use half::f16;

    use super::*;
    use crate::testing::{float, has_all, near, noise, on_cpu, same};

    const INF: f32 = f32::INFINITY;

    #[test]
    fn every_length_and_axis_agrees_with_primitives() {
        if !has_all(&[DType::F64]) {
            return;
        }
        for length in [1, 2, 5, 15, 16, 17, 33, 200] {
            let x = noise::<3>([3, length, 2], length as u64).mul_scalar(5.0);
            let expected = activation::softmax(x.clone(), 1);
            near(softmax(x.clone(), 1), expected.clone().into_data(), 1e-6);
            let transposed = softmax(x.permute([0, 2, 1]), 2).permute([0, 2, 1]);
            near(transposed, expected.into_data(), 1e-6);
        }
        let long = noise::<2>([5, 40_000], 1);
        let expected = activation::softmax(long.clone(), 1);
        near(softmax(long, 1), expected.into_data(), 1e-6);
        for dims in [[0, 3], [3, 0]] {
            let none = Tensor::<2>::empty(dims, &Default::default());
            let functions: [fn(Tensor<2>, usize) -> Tensor<2>; 5] =
                [softmax, log_softmax, hardmax, softmax_flat, hardmax_flat];
            for axis in 0..2 {
                for function in functions {
                    assert_eq!(function(none.clone(), axis).dims(), dims);
                }
            }
        }
        let exact = float::<1>([0.5f64, 0.25]);
        assert_eq!(softmax(exact, 0).dtype(), DType::F64);
    }

    #[test]
    fn nan_spreads_over_its_row() {
        let x = float::<2>([[1f32, f32::NAN], [INF, 0.0], [0.0, 0.0]]);
        let nan = f32::NAN;
        same(softmax(x, 1), [[nan, nan], [nan, nan], [0.5, 0.5]]);
    }

    #[test]
    fn the_first_greatest_is_one() {
        let x = float::<2>([[1f32, 3.0, 3.0], [0.0, -1.0, -2.0]]);
        same(hardmax(x.clone(), 1), [[0f32, 1.0, 0.0], [1.0, 0.0, 0.0]]);
        same(hardmax(x, 0), [[1f32, 1.0, 1.0], [0.0, 0.0, 0.0]]);
        let x = float::<1>([1.0, 2.0].map(f16::from_f32));
        same(hardmax(x, 0), [f16::ZERO, f16::ONE]);
    }

    #[test]
    fn the_old_form_spans_all_axes_from_its_own() {
        let x = || float::<3>([[[0f32, 0.0], [0.0, 0.0]]]);
        same(softmax_flat(x(), 1), [[[0.25f32; 2]; 2]]);
        same(softmax_flat(x(), 2), [[[0.5f32; 2]; 2]]);
        near(log_softmax_flat(x(), 0), [[[0.25f32.ln(); 2]; 2]], 1e-6);
        same(hardmax_flat(x(), 1), [[[1f32, 0.0], [0.0, 0.0]]]);
    }

    #[test]
    fn large_values_neither_overflow_nor_vanish() {
        let x = || float::<2>([[1000f32, 0.0], [-INF, 1.0]]);
        same(softmax(x(), 1), [[1f32, 0.0], [0.0, 1.0]]);
        same(log_softmax(x(), 1), [[0f32, -1000.0], [-INF, 0.0]]);
        let x = float::<1>([-INF, -INF]);
        same(softmax(x, 0), [f32::NAN, f32::NAN]);
    }

    #[test]
    fn half_precision_is_rounded_at_every_step() {
        if !on_cpu("GPUs choose their own exponentials") {
            return;
        }
        let half = half::f16::from_f32;
        let row = [0.3f32, 1.7, -0.9, 1.1];
        let x = float::<2>([row.map(half)]);
        let powers = row.map(|x| half((half(x) - half(1.7)).to_f32().exp()));
        let sum = half(powers.iter().map(|x| x.to_f32()).sum());
        let expected = powers.map(|x| half(x.to_f32() / sum.to_f32()));
        same(softmax_of_halves(x.clone(), 1), [expected]);
        same(softmax_of_halves(x.transpose(), 0).transpose(), [expected]);
    }
}
