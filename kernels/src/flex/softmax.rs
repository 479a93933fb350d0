//! Softmax with the summation order of ONNX Runtime.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::DType;

use super::{
    elementary::{TWO_TO_MINUS_64, exp_below, exp_times},
    in_software::ln_1p,
    rows::in_place,
    simd::{MulAdd, compiled_per_set},
};
use crate::backend::primitives;

/// Number of elements that are accumulated in parallel.
const LANES: usize = 16;

/// Results in f32 equal those of ONNX Runtime with AVX-512 bit by bit.
pub fn softmax(x: FlexTensor, axis: usize) -> FlexTensor {
    by_rows(x, axis, softmax_rows, primitives::softmax::<Flex>)
}

/// LogSoftmax, within 4 units in the last place.
pub fn log_softmax(x: FlexTensor, axis: usize) -> FlexTensor {
    by_rows(x, axis, log_softmax_rows, primitives::log_softmax::<Flex>)
}

fn by_rows(
    x: FlexTensor,
    axis: usize,
    run: fn(&mut [f32], usize),
    double: fn(FlexTensor, usize) -> FlexTensor,
) -> FlexTensor {
    let shape = x.shape();
    let (length, last) = (shape[axis], shape.num_dims() - 1);
    if length == 0 {
        return x;
    }
    let rows = Flex::float_swap_dims(x, axis, last);
    let y = if rows.dtype() == DType::F64 {
        double(rows, last)
    } else {
        in_place(rows, length, |_, rows| run(rows, length))
    };
    Flex::float_swap_dims(y, axis, last)
}

compiled_per_set! {
    fn softmax_rows(rows: &mut [f32], length: usize) = softmax_rows_of;
    pub fn log_softmax_rows(rows: &mut [f32], length: usize) = log_softmax_rows_of;
}

#[inline(always)]
fn log_softmax_rows_of<S: MulAdd>(rows: &mut [f32], length: usize) {
    for row in rows.chunks_exact_mut(length) {
        let greatest = greatest(row);
        let logarithm = ln_1p(others::<S>(row, greatest));
        for x in row {
            *x = *x - greatest - logarithm;
        }
    }
}

/// Returns the sum of exponentials relative to the greatest element, except for that element.
///
/// The logarithm of the total is `log1p` of this: adding the 1 would lose the digits of small elements.
#[inline(always)]
fn others<S: MulAdd>(row: &[f32], greatest: f32) -> f32 {
    let (mut sums, mut equal) = ([0.0; LANES], [0.0; LANES]);
    let (parts, rest) = row.as_chunks::<LANES>();
    for part in parts {
        add_others::<S>(part, greatest, &mut sums, &mut equal);
    }
    if !rest.is_empty() {
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        add_others::<S>(&last, greatest, &mut sums, &mut equal);
    }
    reduced(sums, |a, b| a + b) + (reduced(equal, |a, b| a + b) - 1.0)
}

/// Adds the exponentials of elements, and counts those that equal the greatest one.
#[inline(always)]
fn add_others<S: MulAdd>(
    part: &[f32; LANES],
    greatest: f32,
    sums: &mut [f32; LANES],
    equal: &mut [f32; LANES],
) {
    for ((x, sum), equal) in part.iter().zip(sums).zip(equal) {
        let below = *x - greatest;
        // The rounding error of the difference; 0 for infinities.
        let taken = below - *x;
        let lost = (*x - (below - taken)) - (greatest + taken);
        let lost = if below < -104.0 { 0.0 } else { lost };
        let bounded = if below < -104.0 { -104.0 } else { below };
        let power = exp_times::<S, 64>(bounded, Some(lost)) * TWO_TO_MINUS_64;
        *sum += if below == 0.0 { 0.0 } else { power };
        *equal += if below == 0.0 { 1.0 } else { 0.0 };
    }
}

#[inline(always)]
fn softmax_rows_of<S: MulAdd>(rows: &mut [f32], length: usize) {
    for row in rows.chunks_exact_mut(length) {
        let greatest = greatest(row);
        let scale = 1.0 / powers::<S>(row, greatest);
        for x in row {
            *x *= scale;
        }
    }
}

/// Returns the greatest element, ignoring NaN.
#[inline(always)]
pub fn greatest(row: &[f32]) -> f32 {
    let mut greatest = [f32::NEG_INFINITY; LANES];
    let (parts, rest) = row.as_chunks::<LANES>();
    for part in parts {
        for (greatest, x) in greatest.iter_mut().zip(part) {
            *greatest = greater(*greatest, *x);
        }
    }
    for (greatest, x) in greatest.iter_mut().zip(rest) {
        *greatest = greater(*greatest, *x);
    }
    reduced(greatest, greater)
}

/// Returns the greater element; `greatest` is not NaN. In WebAssembly `f32::max` would be a function call.
#[inline(always)]
fn greater(greatest: f32, x: f32) -> f32 {
    if x > greatest { x } else { greatest }
}

/// Replaces elements by exponentials relative to the greatest one, and returns their sum.
#[inline(always)]
pub fn powers<S: MulAdd>(row: &mut [f32], greatest: f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (parts, rest) = row.as_chunks_mut::<LANES>();
    for part in parts {
        add_powers::<S>(part, greatest, &mut sums);
    }
    if !rest.is_empty() {
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        add_powers::<S>(&mut last, greatest, &mut sums);
        rest.copy_from_slice(&last[..rest.len()]);
    }
    reduced(sums, |a, b| a + b)
}

/// Replaces elements by exponentials, and adds them to the sums.
#[inline(always)]
fn add_powers<S: MulAdd>(part: &mut [f32; LANES], greatest: f32, sums: &mut [f32; LANES]) {
    for (x, sum) in part.iter_mut().zip(sums) {
        *x = exp_below::<S>(*x - greatest);
        *sum += *x;
    }
}

/// Reduces halves, then adjacent lanes.
#[inline(always)]
fn reduced(lanes: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    let eight: [f32; LANES / 2] = std::array::from_fn(|at| join(lanes[at], lanes[at + LANES / 2]));
    let four: [f32; LANES / 4] = std::array::from_fn(|at| join(eight[2 * at], eight[2 * at + 1]));
    join(join(four[0], four[1]), join(four[2], four[3]))
}
