//! Places drawn by running sums, which are integers, so that a place of probability 0 has the sum of the one before.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{blank, type_of};

/// `sums` has at least one row and one class; `fractions` are of 32 bits.
pub fn draw(sums: CubeTensor, fractions: CubeTensor) -> CubeTensor {
    let (sums, fractions) = (into_contiguous(sums), into_contiguous(fractions));
    let shape = fractions.shape();
    let (count, draws) = (shape.num_elements(), shape[1]);
    let places = blank(&sums, type_of(&fractions).with_dtype(DType::I32));
    let client = places.client.clone();
    let units = CubeDim::new(&client, count);
    let address = sums.required_address_type();
    let classes = sums.shape()[1];
    // Safety: a unit beyond the places ends, others search in their row.
    unsafe {
        draw_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, count, units),
            units,
            address.max(places.required_address_type()),
            sums.into_tensor_arg(),
            fractions.into_tensor_arg(),
            places.clone().into_tensor_arg(),
            count,
            draws,
            classes,
        );
    }
    places
}

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

/// `whole * fraction` without its lower 32 bits.
#[cube]
fn part(whole: u32, fraction: u32) -> u32 {
    let (high, low) = (whole >> 16u32, whole & 0xffffu32);
    let (of_high, of_low) = (fraction >> 16u32, fraction & 0xffffu32);
    let middle = high * of_low + ((low * of_low) >> 16u32);
    let other = low * of_high + (middle & 0xffffu32);
    high * of_high + (middle >> 16u32) + (other >> 16u32)
}
