//! Elementary functions, sigmoid, tanh and Gelu.
//!
//! On the CPU, exponential and error function use the polynomials of ONNX Runtime with the same roundings; sigmoid,
//! tanh and Gelu are within 4 units in the last place of the exact result, logarithms, sine, cosine and tangent within 0.51.

use core::f64::consts::LN_2;

use burn::tensor::{Int, Tensor};

use crate::backend::call;
use crate::product::epilogue::{Activation, finish};
use crate::spec::function::Function;

#[inline(never)]
pub fn exp<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(call!(exp(x)))
}

#[inline(never)]
pub fn erf<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(call!(erf(x)))
}

/// Erf of integers, truncated. In single precision, the function is 1 from 4 on.
pub fn erf_int<const D: usize>(x: Tensor<D, Int>) -> Tensor<D, Int> {
    let ones = x.zeros_like().mask_fill(x.clone().greater_equal_scalar(4), 1);
    if x.dtype().is_uint() { ones } else { ones.mask_fill(x.lower_equal_scalar(-4), -1) }
}

/// Functions that devices compute by their own library. On the CPU it is ours or the system's, in deterministic calls one that is
/// the same everywhere.
macro_rules! functions {
    ($($name:ident $function:ident;)*) => {$(
        pub fn $name<const D: usize>(x: Tensor<D>) -> Tensor<D> {
            computed(x, Function::$function)
        }
    )*};
}

functions! {
    log Log;
    log1p Log1p;
    sin Sin;
    cos Cos;
    tan Tan;
    asin Asin;
    acos Acos;
    atan Atan;
    sinh Sinh;
    cosh Cosh;
    atanh Atanh;
}

#[inline(never)]
fn computed<const D: usize>(x: Tensor<D>, function: Function) -> Tensor<D> {
    Tensor::from_dispatch(call!(function(x; function)))
}

/// Returns the powers of two tensors of one dtype that broadcast.
#[inline(never)]
pub(crate) fn power<const D: usize>(base: Tensor<D>, exponent: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(call!(power(base, exponent)))
}

/// Returns the powers with an exponent for all elements.
#[inline(never)]
pub fn power_by<const D: usize>(x: Tensor<D>, exponent: f64) -> Tensor<D> {
    Tensor::from_dispatch(call!(power_by(x; exponent)))
}

pub fn tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    finish(x, None, Activation::Tanh)
}

/// Returns `1 / (1 + exp(-x))`.
pub fn sigmoid<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    finish(x, None, Activation::Sigmoid)
}

/// Returns `x * (1 + erf(x / sqrt(2))) / 2`.
pub fn gelu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    finish(x, None, Activation::Gelu)
}

/// Returns the inverse hyperbolic sine.
pub fn asinh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let magnitude = x.clone().abs();
    let large = magnitude.clone().greater_scalar(LARGE);
    let of_large = log(magnitude).add_scalar(LN_2).mul(x.clone().sign());
    computed(x, Function::Asinh).mask_where(large, of_large)
}

/// Returns the inverse hyperbolic cosine.
pub fn acosh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let large = x.clone().greater_scalar(LARGE);
    let of_large = log(x.clone()).add_scalar(LN_2);
    computed(x, Function::Acosh).mask_where(large, of_large)
}

/// Number above which `sqrt(x * x + 1)` equals `x` in double precision. Burn doubles or squares the argument, which exceeds the
/// range of the type if it is large.
const LARGE: f64 = 1e9;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use burn::tensor::TensorData;
    use half::f16;

    use super::*;
    use crate::testing::{float, has_all, int, near, noise, on_cpu, same};

    #[test]
    fn ends_and_nan_are_kept() {
        if !on_cpu("shaders may assume that nothing is NaN or infinite") {
            return;
        }
        let x = || float::<1>([f32::NAN, f32::INFINITY, -f32::INFINITY, 0.0]);
        same(sigmoid(x()), [f32::NAN, 1.0, 0.0, 0.5]);
        same(tanh(x()), [f32::NAN, 1.0, -1.0, 0.0]);
    }

    #[test]
    fn erf_of_integers_is_truncated() {
        if has_all(&[DType::U8, DType::I8]) {
            same(erf_int(int::<1>([-128i8, -4, -3, 0, 3, 4, 127])), [-1i8, -1, 0, 0, 0, 1, 1]);
            same(erf_int(int::<1>([0u8, 3, 4, 255])), [0u8, 0, 1, 1]);
        }
    }

    #[test]
    fn values_are_near_the_exact_ones() {
        let x = noise::<2>([40, 50], 1).mul_scalar(6.0);
        let exact = |f: fn(f64) -> f64| {
            let data = x.to_data();
            let values: Vec<f32> = data.iter::<f64>().map(|x| f(x) as f32).collect();
            TensorData::new(values, [40, 50])
        };
        let logistic = exact(|x| 1.0 / (1.0 + (-x).exp()));
        let hyperbolic = exact(f64::tanh);
        near(sigmoid(x.clone()), logistic, 1e-6);
        near(tanh(x), hyperbolic, 1e-6);
    }

    #[test]
    fn inverse_hyperbolic_functions_have_no_largest_argument() {
        let x = || float::<1>([f32::MAX, 1e20, 2.0]);
        near(acosh(x()), [89.415_985f32, 46.744_85, 1.316_958], 1e-5);
        near(asinh(x()), [89.415_985f32, 46.744_85, 1.443_635_5], 1e-5);
        near(asinh(x().neg()), [-89.415_985f32, -46.744_85, -1.443_635_5], 1e-5);
    }

    #[test]
    fn views_and_shared_tensors_stay_as_they_are() {
        let x = float::<2>([[1f32, -1.0], [2.0, -2.0]]);
        let transposed = sigmoid(x.clone().transpose());
        near(transposed, [[0.731_058_6f32, 0.880_797_1], [0.268_941_4, 0.119_202_92]], 1e-6);
        same(x, [[1f32, -1.0], [2.0, -2.0]]);
    }

    #[test]
    fn other_dtypes_are_kept() {
        if !has_all(&[DType::F64]) {
            return;
        }
        let half = f16::from_f32(1.5);
        same(tanh(float::<1>([half])), [f16::from_f32(0.905_148_3)]);
        near(sigmoid(float::<1>([1.5f64])), [0.817_574_476_193_643_6f64], 1e-15);
    }
}
