//! Gelu and its approximation by tanh.

use super::{
    at_most,
    power::{TWO_TO_MINUS_64, exp_times, polynomial},
};
use crate::flex::simd::MulAdd;

/// Magnitude from which on the exponential times 2^64 is 0, so that its product with large or infinite
/// numbers equals the definition.
const GELU_BOUND: f32 = 16.27;

/// Offset of the variable `(size - offset) / (size + offset)` of [`SLOPE`].
const OFFSET: f32 = 4.5;

/// `(exp(-x²/2) / tail(x) - 2) / x`, where `tail` is the upper tail probability of the normal distribution.
const SLOPE: [f32; 10] = [
    -1.614_543_7e-3,
    -1.026_538_4e-3,
    6.321_372e-3,
    -2.810_172_3e-3,
    -1.599_818_1e-2,
    3.427_129e-2,
    -1.895_499_3e-4,
    -1.554_614_8e-1,
    4.666_797_5e-1,
    2.175_995_8,
];

/// Returns `x * (1 + erf(x / sqrt(2))) / 2`.
///
/// The error function near -1 has no digits left for the sum, hence the tail of the distribution.
#[inline(always)]
pub fn gelu_at<S: MulAdd>(x: f32) -> f32 {
    let size = at_most(x.abs(), GELU_BOUND);
    let [square, rest] = S::exact_product(size, size);
    let power = exp_times::<S, 64>(-0.5 * square, Some(-0.5 * rest));
    let variable = S::mul_add(-2.0 * OFFSET, 1.0 / (size + OFFSET), 1.0);
    let tail = power / S::mul_add_once(size, polynomial::<S, _>(SLOPE, variable), 2.0);
    if x < 0.0 { x * tail * TWO_TO_MINUS_64 } else { x * (1.0 - tail * TWO_TO_MINUS_64) }
}

/// The same bound for the approximation.
const GELU_TANH_BOUND: f32 = 11.68;

/// `2 * sqrt(2 / π)`, and its product with 0.044715, each as a float and its remainder. The first has 21
/// bits, so the rounding errors of its sums are exact.
const LINEAR: f64 = 1.595_769_121_605_730_8;
const LINEAR_PARTS: [f32; 2] = [LINEAR_HIGH, (LINEAR - LINEAR_HIGH as f64) as f32];
const LINEAR_HIGH: f32 = 1_673_285.0 / 1_048_576.0;
const CUBIC: f64 = 0.044_715 * LINEAR;
const CUBIC_PARTS: [f32; 2] = [CUBIC as f32, (CUBIC - CUBIC as f32 as f64) as f32];

/// Returns `x * (1 + tanh(sqrt(2 / π) * (x + 0.044715 * x³))) / 2`.
///
/// This equals `x * sigmoid(y)` with twice the argument `y`, which is up to 104: its rounding errors are compensated.
#[inline(always)]
pub fn gelu_tanh_at<S: MulAdd>(x: f32) -> f32 {
    let size = at_most(x.abs(), GELU_TANH_BOUND);
    let [square, square_rest] = S::exact_product(size, size);
    let factor = S::mul_add(CUBIC_PARTS[0], square, LINEAR_PARTS[0]);
    let rest = S::difference(CUBIC_PARTS[0], square, LINEAR_PARTS[0] - factor) + LINEAR_PARTS[1];
    let rest = S::mul_add(CUBIC_PARTS[0], square_rest, rest);
    let rest = S::mul_add(CUBIC_PARTS[1], square, rest);
    let [argument, argument_rest] = S::exact_product(size, factor);
    let rest = S::mul_add(size, rest, argument_rest);
    let power = exp_times::<S, 64>(-argument, Some(-rest));
    let whole = 1.0 + power * TWO_TO_MINUS_64;
    if x < 0.0 { x * power / whole * TWO_TO_MINUS_64 } else { x / whole }
}
