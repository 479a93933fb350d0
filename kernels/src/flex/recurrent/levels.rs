//! Dynamic quantization to 8 bits, with the integers stored as floats.
//!
//! Sums of more than 258 products of these may be rounded, as those of floats are.

use crate::flex::{
    quantize::ROUNDING,
    simd::{MulAdd, compiled_per_set},
};

/// Greatest unsigned 8-bit integer.
const MOST: f32 = 255.0;

/// Number of elements that are compared in parallel.
const LANES: usize = 16;

/// Replaces elements by integers less their zero point, and returns their scale.
pub fn quantize(x: &mut [f32]) -> f32 {
    let mut range = [0.0; 2];
    widen(x, &mut range);
    let scale = match (range[1] - range[0]) / MOST {
        // If all elements are 0, any scale is valid.
        0.0 => 1.0,
        scale => scale,
    };
    let zero = (-range[0] / scale + ROUNDING - ROUNDING).clamp(0.0, MOST);
    round(x, scale, [-zero, MOST - zero]);
    scale
}

compiled_per_set! {
    fn widen(x: &[f32], range: &mut [f32; 2]) = widen_of;
    fn round(x: &mut [f32], scale: f32, bounds: [f32; 2]) = round_of;
    /// Multiplies sums of products of integers by the scales of both operands.
    pub fn scale_columns(x: &mut [f32], scale: f32, columns: &[f32]) = scale_columns_of;
}

#[inline(always)]
fn widen_of<S: MulAdd>(x: &[f32], range: &mut [f32; 2]) {
    let [mut least, mut most] = range.map(|bound| [bound; LANES]);
    let (parts, rest) = x.as_chunks::<LANES>();
    for part in parts {
        for lane in 0..LANES {
            least[lane] = lesser(least[lane], part[lane]);
            most[lane] = greater(most[lane], part[lane]);
        }
    }
    let least = least.iter().chain(rest);
    let most = most.iter().chain(rest);
    *range = [least.fold(range[0], |a, b| lesser(a, *b)), most.fold(range[1], |a, b| greater(a, *b))];
}

#[inline(always)]
fn lesser(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Clamps to bounds. NaN bounds, which infinite values cause, have no effect.
#[inline(always)]
fn within(x: f32, bounds: [f32; 2]) -> f32 {
    let x = if x < bounds[0] { bounds[0] } else { x };
    if x > bounds[1] { bounds[1] } else { x }
}

#[inline(always)]
fn round_of<S: MulAdd>(x: &mut [f32], scale: f32, bounds: [f32; 2]) {
    for x in x {
        *x = within(*x / scale, bounds) + ROUNDING - ROUNDING;
    }
}

#[inline(always)]
fn scale_columns_of<S: MulAdd>(x: &mut [f32], scale: f32, columns: &[f32]) {
    for (x, column) in x.iter_mut().zip(columns) {
        *x *= scale * column;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::with_each_set;

    #[test]
    fn integers_are_those_of_dynamic_quantize_linear() {
        with_each_set(|_| {
            let mut x = [0.0, 2.0, -3.0, -2.5, 1.34, 0.5];
            assert!((quantize(&mut x) - 0.019_607_844).abs() < 1e-7);
            assert_eq!(x, [153.0, 255.0, 0.0, 26.0, 221.0, 179.0].map(|x| x - 153.0));
            let mut x: Vec<f32> = (0..100).map(|at| at as f32).collect();
            assert_eq!(quantize(&mut x), 99.0 / 255.0);
            assert_eq!([x[0], x[99]], [0.0, 255.0]);
            assert_eq!([quantize(&mut []), quantize(&mut [0.0])], [1.0; 2]);
        });
    }
    #[test]
    fn infinite_values_have_no_levels() {
        with_each_set(|_| {
            for value in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
                quantize(&mut [value, 1.0]);
            }
        });
    }
}
