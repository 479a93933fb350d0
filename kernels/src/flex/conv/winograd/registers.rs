//! Transforms of inputs and sums, with squares in the lanes.

use super::{Part, transforms::Transforms};
use crate::flex::{
    plan::rows_of_register,
    simd::{Floats, Isa, LaneMask, WIDEST},
};

/// Transforms the input of a channel. `inputs` begins with its values for the first product.
#[inline(always)]
pub fn transform_inputs<I: Isa, const M: usize, const P: usize, K: Transforms<M, P>>(
    isa: I,
    part: Part,
    copy: &[f32],
    inputs: &mut [f32],
) {
    match rows_of_register(part.wide, I::LANES, M) {
        // With constant offsets of loads.
        1 => transform_rows::<I, M, P, K>(isa, part, 1, copy, inputs),
        rows => transform_rows::<I, M, P, K>(isa, part, rows, copy, inputs),
    }
}

/// Transforms some rows of squares at a time.
#[inline(always)]
fn transform_rows<I: Isa, const M: usize, const P: usize, K: Transforms<M, P>>(
    isa: I,
    part: Part,
    rows_of_register: usize,
    copy: &[f32],
    inputs: &mut [f32],
) {
    let zero = isa.splat(0.0);
    let stride = part.inputs * part.squares;
    // Squares of a register from one row, and those that exist.
    let slot = I::LANES / rows_of_register;
    let lanes = (0..I::LANES).filter(|lane| lane % slot < part.wide);
    let mask = LaneMask::new(lanes.fold(0, |mask, lane| mask | 1 << lane));
    let has_gaps = rows_of_register > 1 && slot > part.wide;
    let mut loads = [0; M];
    for (at, load) in loads.iter_mut().enumerate() {
        let square = at * I::LANES / M;
        *load = (square / slot * part.width + square % slot) * M;
    }
    let mut columns = [[zero; P]; P];
    for row in (0..part.rows).step_by(rows_of_register) {
        for column in (0..part.wide).step_by(I::LANES) {
            let from = &copy[row * M * part.width + column * M..];
            for (at, column) in columns.iter_mut().enumerate() {
                let mut x = [zero; P];
                for (row, x) in x.iter_mut().enumerate() {
                    *x = K::apart(isa, &from[row * part.width + at..], loads);
                }
                *column = K::input(isa, x);
            }
            let first = row * part.wide + column;
            // The next row of squares overwrites what is beyond the end of this one.
            let count = I::LANES.min(part.squares - first);
            let is_last = row + rows_of_register >= part.rows && column + I::LANES >= part.wide;
            let rest = if is_last { part.squares - first - count } else { 0 };
            for row in 0..P {
                let mut x = [zero; P];
                for (x, column) in x.iter_mut().zip(&columns) {
                    *x = column[row];
                }
                for (column, value) in K::input(isa, x).into_iter().enumerate() {
                    let value = if has_gaps { value.compressed(mask) } else { value };
                    let out = &mut inputs[(row * P + column) * stride + first..];
                    if count == I::LANES {
                        value.store(out)
                    } else {
                        value.store_first(&mut out[..count])
                    }
                    if rest > 0 {
                        zero.store_first(&mut out[count..count + rest]);
                    }
                }
            }
        }
    }
}

/// Transforms the sums of an output channel to pixels. `squares`: their number, and the distance of two products.
/// Returns false if a pixel is not finite.
#[inline(always)]
pub fn transform_sums<I: Isa, const M: usize, const P: usize, K: Transforms<M, P>>(
    isa: I,
    (squares, stride): (usize, usize),
    sums: &[f32],
    bias: f32,
    pixels: &mut [f32],
) -> bool {
    let zero = isa.splat(0.0);
    let bias = isa.splat(bias);
    // Zeros, unless a number is not finite: then NaN.
    let mut check = zero;
    let mut columns = [[zero; M]; P];
    for first in (0..squares).step_by(I::LANES) {
        for (at, column) in columns.iter_mut().enumerate() {
            let mut x = [zero; P];
            for (row, x) in x.iter_mut().enumerate() {
                *x = isa.load(&sums[(row * P + at) * stride + first..]);
            }
            *column = K::output(isa, x);
        }
        for row in 0..M {
            let mut x = [zero; P];
            for (x, column) in x.iter_mut().zip(&columns) {
                *x = column[row];
            }
            let mut y = K::output(isa, x);
            for y in &mut y {
                *y = *y + bias;
                check = y.mul_add(zero, check);
            }
            let out = &mut pixels[(row * squares + first) * M..][..M * I::LANES];
            for (y, out) in K::side_by_side::<I>(y).into_iter().zip(out.chunks_exact_mut(I::LANES)) {
                y.store(out);
            }
        }
    }
    let mut lanes = [0.0; WIDEST];
    check.store(&mut lanes);
    lanes.iter().all(|lane| *lane == 0.0)
}
