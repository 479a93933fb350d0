//! Logarithms.
//!
//! Computed in double precision, in which subnormal numbers are normal, and rounded once: the result is within 0.51 units in the
//! last place. Without fused instructions all processors round alike.

use std::f64::consts::LN_2;

use super::in_double::polynomial;
use crate::flex::simd::{MulAdd, compiled_per_set};

compiled_per_set! {
    /// The natural logarithm.
    pub fn logarithms(elements: &mut [f32]) = logarithms_of;
    /// The natural logarithm of 1 plus the element.
    pub fn logarithms_of_next(elements: &mut [f32]) = logarithms_of_next_of;
}

#[inline(always)]
fn logarithms_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        let y = logarithm_at(f64::from(*x));
        *x = y as f32;
    }
}

#[inline(always)]
fn logarithms_of_next_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        let wide = f64::from(*x);
        let next = 1.0 + wide;
        // Rounding error of the sum. For larger numbers it does not change the result.
        let rest = if wide.abs() < 1.0 { wide - (next - 1.0) } else { 0.0 };
        let y = logarithm_at(next) + rest;
        *x = if x.abs() < LEAST { *x } else { y as f32 };
    }
}

/// Magnitude below which the logarithm of the next number is the number itself.
const LEAST: f32 = 1.0 / (1 << 30) as f32;

/// Bits of the square root of 1/2, at which the exponent changes.
const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;

/// Bits of 1.
const ONE: u64 = 1023 << 52;

/// Bits of 2^52, whose low bits are an integer.
const INTEGER: u64 = (1023 + 52) << 52;

/// The inverse hyperbolic tangent of `s`, twice, is `s * (2 + s² * polynomial(s²))`, here up to the root of 2.
const LOGARITHM: [f64; 4] =
    [0.233_310_815_043_246_58, 0.285_507_925_694_326_04, 0.400_001_222_054_992_56, 0.666_666_666_533_357_6];

/// The natural logarithm. `x` is normal, 0, infinite or NaN.
#[inline(always)]
fn logarithm_at(x: f64) -> f64 {
    let bits = x.to_bits().wrapping_add(ONE - ROOT);
    let power = f64::from_bits((bits >> 52) | INTEGER) - f64::from_bits(INTEGER | 1023);
    let fraction = f64::from_bits((bits & (u64::MAX >> 12)) + ROOT);
    let s = (fraction - 1.0) / (fraction + 1.0);
    let square = s * s;
    let y = power * LN_2 + s * (2.0 + square * polynomial(LOGARITHM, square));
    let outside = if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    let y = if x > 0.0 { y } else { outside };
    if x == f64::INFINITY { x } else { y }
}
