//! Blocks of rows, rounded to 8 bits.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    launch::{Grid, launch},
    magnitude, unwritten,
};
use crate::spec::bits::LEVELS;

/// Rounds each `size` elements of a row of `[rows, inputs]` to multiples of a 127th of the largest of them.
pub fn round_blocks(x: CubeTensor, size: usize) -> CubeTensor {
    let x = into_contiguous(x);
    let y = unwritten(&x, x.shape(), DType::F32);
    let inputs = x.shape()[1];
    let count = x.shape()[0] * inputs.div_ceil(size);
    if count == 0 {
        return y;
    }
    let dtype = dtype_to_storage_type(x.dtype);
    launch!(Grid::units(count) => blocks_kernel(
        x, &y;
        count, inputs, size, dtype,
    ));
    y
}

/// A unit rounds a block of a row.
///
/// Units beyond `count` end. There are `inputs.div_ceil(size)` blocks in each row of `inputs` elements, and
/// the last one of a row ends with it, so that the elements of `count` blocks are those of `x` and of `y`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn blocks_kernel<T: Float>(
    x: &Tensor<T>,
    y: &mut Tensor<f32>,
    count: usize,
    inputs: usize,
    size: usize,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let blocks = inputs.div_ceil(size);
    let row = ABSOLUTE_POS / blocks;
    let begin = ABSOLUTE_POS % blocks * size;
    let (first, last) = (row * inputs + begin, row * inputs + min(begin + size, inputs));
    let (finer, step) = levels(x, first, last);
    for at in first..last {
        y[at] = f32::round(f32::cast_from(x[at]) * finer) * step;
    }
}

/// Returns the number of levels per unit, and the value of a level, for the elements of a block.
#[cube]
pub fn levels<T: Float>(x: &Tensor<T>, first: usize, last: usize) -> (f32, f32) {
    // The bits of NaN are the greatest.
    let mut largest = 0u32;
    for at in first..last {
        largest = max(largest, magnitude(f32::cast_from(x[at])));
    }
    let step = f32::reinterpret(largest) / comptime!(LEVELS);
    let finer = select(largest == 0u32, 0.0f32, comptime!(LEVELS) / f32::reinterpret(largest));
    (finer, step)
}
