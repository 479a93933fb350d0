//! Sigmoid, tanh and Softplus.

use super::{
    at_least, at_most,
    power::{TWO_TO_MINUS_64, exp_times, polynomial},
};
use crate::flex::simd::MulAdd;

/// Returns `1 / (1 + exp(-x))`.
#[inline(always)]
pub fn sigmoid_at<S: MulAdd>(x: f32) -> f32 {
    // Below -104 the result is less than half of the least float; above 40 it is 1. NaN stays NaN.
    let x = at_most(at_least(x, -104.0), 40.0);
    // Both 1 and the exponential are scaled: the exponential may overflow where the result is subnormal.
    TWO_TO_MINUS_64 / (exp_times::<S, -64>(-x, None) + TWO_TO_MINUS_64)
}

/// Magnitude of `x` from which on the result is 1.
const TANH_BOUND: f32 = 9.02;

/// `x * (1 + x² * upper) / (1 + x² * lower)`, with polynomials in `x²`, is twice the hyperbolic tangent of `x / 2`.
const TANH_UPPER: [f32; 2] = [1.143_287_95e-4, 2.977_724_7e-2];
const TANH_LOWER: [f32; 3] = [1.230_592_6e-6, 1.206_910_4e-3, 1.131_105_4e-1];

/// Returns the hyperbolic tangent.
///
/// The formula of the double argument, `2t / (1 + t²)`, halves the range of the fraction, and errors of `t` vanish near 1.
#[inline(always)]
pub fn tanh_at<S: MulAdd>(x: f32) -> f32 {
    let x = x.clamp(-TANH_BOUND, TANH_BOUND);
    let square = x * x;
    let upper = S::mul_add(x * square, polynomial::<S, _>(TANH_UPPER, square), x);
    let lower = square * polynomial::<S, _>(TANH_LOWER, square);
    let twice = upper / (1.0 + lower);
    let below = S::mul_add(0.25 * upper, twice, lower);
    (upper / (1.0 + below)).clamp(-1.0, 1.0)
}

/// `(x - ln(1 + x)) / x²` from 0 to 1.
const LOGARITHM_UPPER: [f32; 3] = [7.657_224e-2, 4.610_803e-1, 0.5];
const LOGARITHM_LOWER: [f32; 4] = [8.039_124e-2, 7.123_794_6e-1, 1.588_826_3, 1.0];

/// Returns `ln(1 + exp(x))`.
#[inline(always)]
pub fn softplus_at<S: MulAdd>(x: f32) -> f32 {
    let size = at_most(x.abs(), 104.0);
    let power = exp_times::<S, 64>(-size, None) * TWO_TO_MINUS_64;
    let fraction = polynomial::<S, _>(LOGARITHM_UPPER, power) / polynomial::<S, _>(LOGARITHM_LOWER, power);
    at_least(x, 0.0) + S::mul_add(-power * power, fraction, power)
}
