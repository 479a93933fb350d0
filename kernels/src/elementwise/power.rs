//! Pow, whose operands may have different kinds and dtypes.

use burn::tensor::{DType, FloatDType, Int, IntDType, Tensor};

use super::elementary::power;
use super::wrapping::mul_int;
use crate::{
    dtype::lowered,
    elementwise::cast::float_to_int,
    shape::expand::{agreed, together},
};

/// Pow of floats, computed in the wider dtype of both; the result has that of the base.
pub fn pow_float_float<const D: usize>(base: Tensor<D>, exponent: Tensor<D>) -> Tensor<D> {
    let (base, exponent) = agreed(base, exponent);
    let (dtype, other) = (base.dtype(), exponent.dtype());
    let float = FloatDType::from(dtype);
    if other.size() > dtype.size() {
        let base = base.cast(FloatDType::from(other));
        return power(base, exponent).cast(float);
    }
    power(base, exponent.cast(float))
}

/// Pow of a float with an integer exponent. Its parity is exact for any magnitude.
pub fn pow_float_int<const D: usize>(base: Tensor<D>, exponent: Tensor<D, Int>) -> Tensor<D> {
    let (base, exponent) = agreed(base, exponent);
    let (dtype, wide) = (base.dtype(), lowered(&base.device(), DType::F64));
    let float = FloatDType::from(dtype);
    if exponent.dtype().size() <= 2 {
        return power(base, exponent.cast(float));
    }
    if wide == DType::F64 {
        let wide = FloatDType::from(wide);
        return power(base.cast(wide), exponent.cast(wide)).cast(float);
    }
    // From this magnitude on, all f32 are even.
    let (base, exponent) = together(base, exponent);
    let odd = exponent.clone().bitwise_and_scalar(1).equal_scalar(1);
    let negative = base.clone().lower_scalar(0.0).bool_and(odd);
    let power = power(base.abs(), exponent.cast(float));
    power.clone().mask_where(negative, power.neg())
}

/// Pow of an integer with a float exponent. Integral exponents are computed as integers; other powers in the
/// widest float type of the device, truncated toward zero.
pub fn pow_int_float<const D: usize>(base: Tensor<D, Int>, exponent: Tensor<D>) -> Tensor<D, Int> {
    let (dtype, wide) = (base.dtype(), lowered(&base.device(), DType::F64));
    let float = FloatDType::from(wide);
    let (base, exponent) = together(base, exponent.cast(float));
    let power = float_to_int(power(base.clone().cast(float), exponent.clone()), dtype);
    let whole = exponent.clone().equal(exponent.clone().round());
    let whole = whole.bool_and(exponent.clone().is_inf().bool_not());
    // From this magnitude on, all floats of the type are even.
    let (even, int) = match wide {
        DType::F64 => ((1u64 << 53) as f64, DType::I64),
        _ => ((1u64 << 24) as f64, DType::I32),
    };
    let int = lowered(&base.device(), int);
    let exponent = exponent.clamp(-even, even).cast(IntDType::from(int));
    let exponent = exponent.mask_fill(whole.clone().bool_not(), 0);
    power.mask_where(whole, pow_int_int(base, exponent))
}

/// Pow of integers by squaring, which wraps like products.
///
/// A negative exponent yields 0 unless the base is 1 or -1.
pub fn pow_int_int<const D: usize>(base: Tensor<D, Int>, exponent: Tensor<D, Int>) -> Tensor<D, Int> {
    let (base, exponent) = together(base, exponent);
    let mut unit = base.clone().equal_scalar(1);
    if !base.dtype().is_uint() {
        unit = unit.bool_or(base.clone().equal_scalar(-1));
    }
    // Above 62, and below 0 for a base of 1 or -1, only the parity matters. The reduced exponent fits the dtype of any base.
    let mut beyond = exponent.clone().greater_scalar(62);
    let mut square = base;
    if !exponent.dtype().is_uint() {
        let negative = exponent.clone().lower_scalar(0);
        beyond = beyond.bool_or(negative.clone());
        square = square.mask_fill(negative.bool_and(unit.bool_not()), 0);
    }
    let parity = exponent.clone().bitwise_and_scalar(1).add_scalar(62);
    let left = exponent.mask_where(beyond, parity);
    let mut left = left.cast(IntDType::from(square.dtype()));

    let mut power = square.ones_like();
    for _ in 0..BITS_OF_EXPONENT {
        let even = left.clone().bitwise_and_scalar(1).equal_scalar(0);
        power = mul_int(power, square.clone().mask_fill(even, 1));
        left = left.bitwise_right_shift_scalar(1);
        square = mul_int(square.clone(), square);
    }
    power
}

/// Enough for exponents up to 63.
const BITS_OF_EXPONENT: usize = 6;

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::{float, has_all, int, near, on_cpu, same};

    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;

    #[test]
    fn exponents_of_another_dtype_keep_their_value() {
        if !has_all(&[DType::I64, DType::F64]) {
            return;
        }
        let huge = i64::MIN + 1;
        let base = int::<1>([2i32, 3, -5, 0, 1, -1, -1, 0]);
        let exponent = int([huge, huge, huge, 1 << 32, (1 << 32) + 1, (1 << 33) + 1, -2, -1]);
        same(pow_int_int(base, exponent), [0i32, 0, 0, 0, 1, -1, 1, 0]);
        let base = float::<1>([INF, 0.0, 2.0]);
        let y = pow_float_float(base, float([5e-72f64, 1e-60, 1e60]));
        same(y, [INF, 0.0, INF]);
        let y = pow_float_int(float::<1>([-1f32, -1.0, 2.0]), int([i32::MAX, i32::MIN, -1]));
        same(y, [-1f32, 1.0, 0.5]);
        let base = int::<1>([2i32, -1, 0, 1, 3, 3i32.pow(2)]);
        let exponent = float([f64::INFINITY, 9_007_199_254_740_991.0, -1.0, f64::NAN, f64::NAN, 0.5]);
        same(pow_int_float(base, exponent), [i32::MAX, -1, 0, 1, 0, 3]);
    }

    #[test]
    fn whole_powers_of_integers_are_exact() {
        let base = int::<1>([5i32, 3, -1, 16, 5]);
        let y = pow_int_float(base, float([2f32, 4.0, 16_777_218.0, 0.5, -1.0]));
        same(y, [25i32, 81, 1, 4, 0]);
    }

    #[test]
    fn float_powers_follow_ieee() {
        if !on_cpu("shaders may assume that nothing is NaN or infinite") {
            return;
        }
        let a = float::<1>([2f32, -2.0, -2.0, 0.0, -8.0]);
        let b = float::<1>([0.5f32, 3.0, 0.5, -1.0, 1.0 / 3.0]);
        near(pow_float_float(a, b), [std::f32::consts::SQRT_2, -8.0, NAN, INF, NAN], 1e-6);
        let b = float::<1>([3f64]);
        same(pow_float_float(float([2f32]), b), [8f32]);
        let a = float::<1>([2.0, -2.0, 1.5, 0.0].map(f16::from_f32));
        let expected = [0.5, -8.0, 2.25, 1.0].map(f16::from_f32);
        same(pow_float_int(a, int([-1i64, 3, 2, 0])), expected);
    }

    #[test]
    fn integer_powers_are_exact_to_the_last_bit() {
        let a = int::<1>([3i64, 7, 2, -1, 0, 0, -2]);
        let b = int::<1>([39i64, 22, 62, -3, 0, 5, 63]);
        let expected = [3i64.pow(39), 7i64.pow(22), 1 << 62, -1, 1, 0, i64::MIN];
        same(pow_int_int(a, b), expected);
    }

    #[test]
    fn integer_powers_keep_the_dtype_of_the_base() {
        if !has_all(&[DType::U8]) {
            return;
        }
        let a = int::<1>([2i32, -2, 3, 1, -1]);
        let b = int::<1>([10i64, 3, -1, -5, 1000]);
        same(pow_int_int(a, b), [1024i32, -8, 0, 1, 1]);
        same(pow_int_int(int::<1>([3u8, 16]), int([2u8, 2])), [9u8, 0]);
        let a = int::<1>([2i32, 4, 9, -8, 2]);
        let b = float::<1>([0.5f32, 0.5, 1.5, 3.0, -1.0]);
        same(pow_int_float(a, b), [1i32, 2, 27, -512, 0]);
    }
}
