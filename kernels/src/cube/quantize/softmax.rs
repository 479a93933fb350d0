//! Softmax of integers: the units of a cube share a row.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{Rounding, RoundingLaunch, difference, is_wide, quantized};
use crate::cube::units::{UNITS, greatest, total};
use crate::cube::{
    launch::{Grid, launch},
    unwritten,
};
use crate::spec::quantize::{Affine, Rounded};

/// Returns the quantized softmax along the last axis.
pub fn softmax(x: CubeTensor, of: Affine, to: Affine, rounded: Rounded) -> CubeTensor {
    let x = into_contiguous(x);
    let y = unwritten(&x, x.shape(), to.dtype());
    let count = y.shape().num_elements();
    if count == 0 {
        return y;
    }
    let length = x.shape().last().copied().unwrap_or(1);
    let rows = count / length;
    // Factor or divisor of the probabilities.
    let unit = match rounded {
        Rounded::Once => (1.0 / to.scale()).floor(),
        Rounded::InSteps => to.scale(),
    };
    let dtypes = [x.dtype, y.dtype].map(dtype_to_storage_type);
    let wide = is_wide(x.dtype);
    let shared = UNITS * size_of::<f32>();
    launch!(Grid::cubes(rows, UNITS).shared(shared) => softmax_kernel(
        x, &y;
        rows, length, of.scale(), of.zero() as i32, unit, RoundingLaunch::to(to), rounded, wide,
        dtypes,
    ));
    y
}

/// A cube computes the softmax of a row.
///
/// Cubes beyond `rows` end. `x` and `y` have `rows * length` elements.
#[cube(launch_unchecked, address_type = "dynamic")]
fn softmax_kernel<I: Int, O: Int>(
    x: &Tensor<I>,
    y: &mut Tensor<O>,
    rows: usize,
    length: usize,
    scale: f32,
    zero: i32,
    level: f32,
    rounding: Rounding,
    #[comptime] rounded: Rounded,
    #[comptime] is_wide: bool,
    #[define(I, O)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= rows {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * length;
    let mut shared = Shared::<[f32]>::new_slice(UNITS);
    let mut most = f32::min_value();
    for at in range_stepped(unit, length, UNITS) {
        let element = difference::<I>(x[first + at], zero, is_wide) * scale;
        most = select(element > most, element, most);
    }
    let most = greatest(most, &mut shared);
    let mut sum = 0.0f32;
    for at in range_stepped(unit, length, UNITS) {
        let element = difference::<I>(x[first + at], zero, is_wide) * scale;
        sum += f32::exp(element - most);
    }
    let sum = total(sum, &mut shared);
    for at in range_stepped(unit, length, UNITS) {
        let element = difference::<I>(x[first + at], zero, is_wide) * scale;
        let power = f32::exp(element - most);
        let part = match rounded {
            Rounded::Once => power * level / sum,
            Rounded::InSteps => power / sum / level,
        };
        y[first + at] = quantized::<O>(part, &rounding);
    }
}
