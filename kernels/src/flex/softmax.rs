//! Softmax with the sums of ONNX Runtime.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};

use super::{
    elementary::exp_below,
    instructions::{Sum, dispatched},
    rows::{by_rows, in_place},
};
use crate::backend::primitives;

/// Elements that are summed side by side.
const LANES: usize = 16;

/// Single precision has the bits that ONNX Runtime computes with AVX-512.
pub fn softmax(x: FlexTensor, axis: usize) -> FlexTensor {
    let shape = x.shape();
    let (length, last) = (shape[axis], shape.num_dims() - 1);
    if length == 0 {
        return x;
    }
    let run = |elements: &mut [f32]| {
        by_rows(elements, length, |rows| softmax_rows(rows, length));
    };
    let other = |x| primitives::softmax::<Flex>(x, last);
    let rows = Flex::float_swap_dims(x, axis, last);
    Flex::float_swap_dims(in_place(rows, run, other), axis, last)
}

dispatched! {
    fn softmax_rows(rows: &mut [f32], length: usize) = softmax_rows_of;
}

#[inline(always)]
fn softmax_rows_of<S: Sum>(rows: &mut [f32], length: usize) {
    for row in rows.chunks_exact_mut(length) {
        let greatest = row.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        let mut sums = [0.0; LANES];
        for part in row.chunks_mut(LANES) {
            for (x, sum) in part.iter_mut().zip(&mut sums) {
                *x = exp_below::<S>(*x - greatest);
                *sum += *x;
            }
        }
        let scale = 1.0 / total(sums);
        for x in row {
            *x *= scale;
        }
    }
}

/// The sum of halves, then of neighbours.
fn total(sums: [f32; LANES]) -> f32 {
    let eight: [f32; LANES / 2] = std::array::from_fn(|at| sums[at] + sums[at + LANES / 2]);
    let four: [f32; LANES / 4] = std::array::from_fn(|at| eight[2 * at] + eight[2 * at + 1]);
    (four[0] + four[1]) + (four[2] + four[3])
}
