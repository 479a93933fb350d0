//! Exponential function, and the error function derived from it.

use std::f32::consts::LOG2_E;

use crate::flex::simd::MulAdd;

/// Adding and then subtracting this rounds to an integer.
const ROUNDING: f32 = 12_582_912.0;

/// Minus the logarithm of 2, in two parts.
const LN_2: [f32; 2] = [-6.931_457_5e-1, -1.428_606_8e-6];

/// Polynomial of the exponential of the remainder modulo the logarithm of 2, from the highest power on.
const POWER: [u32; 7] =
    [0x3ab4_a000, 0x3c09_2f6e, 0x3d2a_adad, 0x3e2a_aa28, 0x3eff_fffb, 0x3f80_0000, 0x3f80_0000];

/// Polynomial with other coefficients, for the error function.
const POWER_OF_ERROR: [f32; 7] =
    [1.383_198_1e-3, 8.375_5e-3, 4.166_895e-2, 1.666_644_7e-1, 4.999_998_5e-1, 1.0, 1.0];

/// The error function below [`SPLIT`], as a polynomial in the square.
const NEAR: [f32; 6] =
    [-5.991_049_7e-4, 4.993_396e-3, -2.676_673_4e-2, 1.128_180_25e-1, -3.761_248_6e-1, 1.283_791_5e-1];

/// Minus the logarithm of its distance from 1 above [`SPLIT`], without the term `x`.
const FAR: [f32; 7] = [
    1.729_489_3e-5,
    -3.832_086_8e-4,
    3.883_934_3e-3,
    -2.425_456e-2,
    1.067_778_5e-1,
    6.348_467e-1,
    1.287_175_1e-1,
];

const SPLIT: f32 = 0.921_875;

/// Magnitude from which on the error function is 1.
const ONE: f32 = 3.925;

/// Returns the exponential of `x`.
#[inline(always)]
pub fn exp_at<S: MulAdd>(x: f32) -> f32 {
    // Beyond these bounds the result is infinite or 0; NaN stays NaN.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let (_, power, remainder) = split::<S>(x);
    // Scaled in two steps, because a single power of two does not reach all subnormal results.
    let half = (power * 0.5).floor();
    polynomial::<S, _>(POWER.map(f32::from_bits), remainder) * two_to(half) * two_to(power - half)
}

/// [`exp_at`] for `x` up to 0. Subnormal results become 0.
#[inline(always)]
pub fn exp_below<S: MulAdd>(x: f32) -> f32 {
    let x = if x < -88.376_26 { -88.376_26 } else { x };
    let (_, power, remainder) = split::<S>(x);
    polynomial::<S, _>(POWER.map(f32::from_bits), remainder) * two_to(power)
}

/// Reverts a scale of 2^64.
pub const TWO_TO_MINUS_64: f32 = f32::from_bits((127 - 64) << 23);

/// Returns the exponential of `x` and its rounding error `rest`, times 2 to the power of `PLACES`.
///
/// The scale keeps results normal that would be subnormal. A scaled power of two from -126 to 127 is normal, -127 yields 0, and
/// 128 infinity; the caller bounds `x`.
#[inline(always)]
pub fn exp_times<S: MulAdd, const PLACES: i32>(x: f32, rest: Option<f32>) -> f32 {
    let (shifted, _, remainder) = split::<S>(x);
    let remainder = match rest {
        Some(rest) => remainder + rest,
        None => remainder,
    };
    let exponent = shifted.to_bits().wrapping_add_signed(127 + PLACES);
    let [upper @ .., last] = POWER.map(f32::from_bits);
    // Of all roundings, that of the last product has the largest effect.
    let value = S::mul_add_once(polynomial::<S, _>(upper, remainder), remainder, last);
    value * f32::from_bits(exponent << 23)
}

/// Returns the error function.
#[inline(always)]
pub fn erf_at<S: MulAdd>(x: f32) -> f32 {
    let size = x.abs();
    let size = if size > ONE { ONE } else { size };
    let near = S::mul_add(polynomial::<S, _>(NEAR, size * size), size, size);
    let far = -S::mul_add(polynomial::<S, _>(FAR, size), size, size);
    let (_, power, remainder) = split::<S>(far);
    let far = 1.0 - polynomial::<S, _>(POWER_OF_ERROR, remainder) * two_to(power);
    let value = if size > SPLIT { far } else { near };
    value.copysign(x)
}

/// Returns the nearest power of two of the exponential of `x`, preceded by the same with its integer in the
/// low bits, and the remainder of the exponent.
#[inline(always)]
fn split<S: MulAdd>(x: f32) -> (f32, f32, f32) {
    let shifted = S::mul_add(x, LOG2_E, ROUNDING);
    let power = shifted - ROUNDING;
    let remainder = S::mul_add(power, LN_2[1], S::mul_add(power, LN_2[0], x));
    (shifted, power, remainder)
}

/// Evaluates a polynomial with coefficients from the highest power on.
#[inline(always)]
pub fn polynomial<S: MulAdd, const N: usize>(coefficients: [f32; N], x: f32) -> f32 {
    let mut sum = coefficients[0];
    for next in &coefficients[1..] {
        sum = S::mul_add(sum, x, *next);
    }
    sum
}

/// Returns 2 to the power of an integer from -127, which yields 0, to 127.
#[inline(always)]
fn two_to(power: f32) -> f32 {
    // The low bits of a sum with the rounding constant are those of the integer.
    let bits = (power + ROUNDING).to_bits().wrapping_add(127);
    f32::from_bits(bits << 23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::Fused;

    #[test]
    fn powers_are_within_a_rounding_of_the_exact_ones() {
        for at in -10_300..8_872 {
            let x = at as f32 / 100.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp_at::<Fused>(x)) - exact).abs();
            let least = f64::from(f32::from_bits(1));
            assert!(error <= 1.2e-7 * exact + least, "{x}: {error:e}");
        }
    }

    #[test]
    fn powers_end_at_zero_and_infinity() {
        let ends = [-f32::INFINITY, -104.0, 89.0, f32::INFINITY];
        assert_eq!(ends.map(exp_at::<Fused>), [0.0, 0.0, f32::INFINITY, f32::INFINITY]);
        assert!(exp_at::<Fused>(f32::NAN).is_nan());
        assert_eq!(exp_below::<Fused>(-f32::INFINITY), 0.0);
        assert_eq!(exp_below::<Fused>(0.0), 1.0);
        assert!(exp_below::<Fused>(f32::NAN).is_nan());
    }

    #[test]
    fn bits_are_those_of_onnx_runtime() {
        assert_eq!(
            [-1.7f32, -0.3, 0.4, 5.1].map(|x| exp_at::<Fused>(x).to_bits()),
            [0x3e3b_1163, 0x3f3d_a643, 0x3fbe_f41d, 0x4324_059b],
        );
        assert_eq!(
            [-1.7f32, -0.3, 0.9, 2.5].map(|x| erf_at::<Fused>(x).to_bits()),
            [0xbf7b_d9b1, 0xbea8_41c5, 0x3f4c_022d, 0x3f7f_e555],
        );
    }

    #[test]
    fn the_error_function_is_odd_and_ends_at_one() {
        let ends = [-f32::INFINITY, -0.0, 0.0, f32::INFINITY].map(erf_at::<Fused>);
        assert_eq!(ends.map(f32::to_bits), [-1.0f32, -0.0, 0.0, 1.0].map(f32::to_bits));
        assert!(erf_at::<Fused>(f32::NAN).is_nan());
        for at in 0..400 {
            let x = at as f32 / 100.0;
            assert_eq!(erf_at::<Fused>(-x), -erf_at::<Fused>(x));
        }
    }
}
