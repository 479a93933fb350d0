//! Sine, cosine and tangent.
//!
//! Computed in double precision and rounded once: results are within 0.51 units in the last place. Without fused instructions all
//! processors round alike.

use std::f64::consts::FRAC_2_PI;

use super::in_double::polynomial;
use crate::flex::in_software;
use crate::flex::simd::{MulAdd, compiled_per_set};

/// Sines of the elements.
pub fn sines(elements: &mut [f32]) {
    bounded(elements, sines_below, in_software::sin);
}

/// Cosines of the elements.
pub fn cosines(elements: &mut [f32]) {
    bounded(elements, cosines_below, in_software::cos);
}

/// Tangents of the elements.
pub fn tangents(elements: &mut [f32]) {
    bounded(elements, tangents_below, in_software::tan);
}

/// Magnitude up to which products of a number of quarter turns with [`QUARTER`]'s first part are exact.
const BOUND: f32 = (1 << 20) as f32;

/// Number of elements that are computed at once.
const PART: usize = 512;

/// Calls one function for all elements, and then another one for those above the bound.
fn bounded(elements: &mut [f32], below: fn(&mut [f32]), above: fn(f64) -> f64) {
    for part in elements.chunks_mut(PART) {
        let is_above = |x: &f32| x.abs() > BOUND;
        if !part.iter().fold(false, |any, x| any | is_above(x)) {
            below(part);
            continue;
        }
        let mut before = [0.0; PART];
        before[..part.len()].copy_from_slice(part);
        below(part);
        for (y, x) in part.iter_mut().zip(before) {
            if is_above(&x) {
                *y = above(f64::from(x)) as f32;
            }
        }
    }
}

compiled_per_set! {
    fn sines_below(elements: &mut [f32]) = sines_of;
    fn cosines_below(elements: &mut [f32]) = cosines_of;
    fn tangents_below(elements: &mut [f32]) = tangents_of;
}

#[inline(always)]
fn sines_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        let (quarters, [sine, cosine]) = of_rest(f64::from(*x));
        *x = turned(quarters, sine, cosine) as f32;
    }
}

#[inline(always)]
fn cosines_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        let (quarters, [sine, cosine]) = of_rest(f64::from(*x));
        *x = turned(quarters.wrapping_add(1), sine, cosine) as f32;
    }
}

#[inline(always)]
fn tangents_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        let (quarters, [sine, cosine]) = of_rest(f64::from(*x));
        let is_odd = quarters & 1 == 1;
        let over = if is_odd { -cosine } else { sine };
        let under = if is_odd { sine } else { cosine };
        *x = (over / under) as f32;
    }
}

/// Adding and then subtracting this rounds to an integer, which the low bits of the sum are.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// π/2 as the sum of two numbers. The first one has 33 significant bits.
const QUARTER: [f64; 2] = [6_746_518_852.0 / 4_294_967_296.0, 6.077_100_506_506_192e-11];

/// `sin(r)` is `r * (1 + r² * polynomial(r²))`, up to an eighth of a turn.
const SINE: [f64; 4] = [
    2.724_986_415_867_996_7e-6,
    -1.984_008_625_839_457_3e-4,
    8.333_331_873_820_548e-3,
    -0.166_666_666_638_529_17,
];

/// `cos(r)` is `1 + r² * polynomial(r²)`, up to an eighth of a turn.
const COSINE: [f64; 4] = [
    2.446_372_061_823_93e-5,
    -1.388_758_863_192_641_9e-3,
    4.166_665_063_474_911_4e-2,
    -0.499_999_999_690_932_5,
];

/// Returns the number of quarter turns, and sine and cosine of the rest of the angle.
#[inline(always)]
fn of_rest(x: f64) -> (u64, [f64; 2]) {
    let shifted = x * FRAC_2_PI + ROUNDING;
    let quarters = shifted - ROUNDING;
    let rest = (x - quarters * QUARTER[0]) - quarters * QUARTER[1];
    let square = rest * rest;
    // The sine of -0 is -0.
    let sine = rest * (1.0 + square * polynomial(SINE, square));
    (shifted.to_bits(), [sine, 1.0 + square * polynomial(COSINE, square)])
}

/// The sine of an angle after a number of quarter turns.
#[inline(always)]
fn turned(quarters: u64, sine: f64, cosine: f64) -> f64 {
    let value = if quarters & 1 == 1 { cosine } else { sine };
    f64::from_bits(value.to_bits() ^ (quarters & 2) << 62)
}
