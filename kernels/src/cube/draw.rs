//! Classes drawn by running sums. These are integers: a class of probability 0 has the sum of the one before.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    blank,
    launch::{Grid, launch},
    sizes::within_i32,
    type_of,
};

/// Draws a class for each fraction of 32 bits. `sums` has at least one row and one class.
pub fn draw(sums: CubeTensor, fractions: CubeTensor) -> CubeTensor {
    let (sums, fractions) = (into_contiguous(sums), into_contiguous(fractions));
    let shape = fractions.shape();
    let (count, draws) = (shape.num_elements(), shape[1]);
    let places = blank(&sums, type_of(&fractions).with_dtype(DType::I32));
    let classes = within_i32(sums.shape()[1]);
    launch!(Grid::units(count) => draw_kernel(
        sums, fractions, &places;
        count, draws, classes,
    ));
    places
}

/// A unit draws a class.
///
/// Units beyond `count`, the number of fractions and places, end. A row of `sums` has `classes` elements, at
/// least one, and serves `draws` units, whose search is bounded by it.
#[cube(launch_unchecked, address_type = "dynamic")]
fn draw_kernel(
    sums: &Tensor<i32>,
    fractions: &Tensor<u32>,
    places: &mut Tensor<i32>,
    count: usize,
    draws: usize,
    classes: usize,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let begin = ABSOLUTE_POS / draws * classes;
    let whole = sums[begin + classes - 1] as u32;
    let goal = part(whole, fractions[ABSOLUTE_POS]);
    let mut at = 0usize;
    let mut end = classes - 1;
    while at < end {
        let middle = (at + end) / 2;
        if sums[begin + middle] as u32 <= goal {
            at = middle + 1;
        } else {
            end = middle;
        }
    }
    places[ABSOLUTE_POS] = at as i32;
}

/// Returns `whole * fraction` without its lower 32 bits.
#[cube]
fn part(whole: u32, fraction: u32) -> u32 {
    let (high, low) = (whole >> 16u32, whole & 0xffffu32);
    let (of_high, of_low) = (fraction >> 16u32, fraction & 0xffffu32);
    let middle = high * of_low + ((low * of_low) >> 16u32);
    let other = low * of_high + (middle & 0xffffu32);
    high * of_high + (middle >> 16u32) + (other >> 16u32)
}
