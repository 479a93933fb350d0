//! Means of integers.
//!
//! The units of a cube share the sum of one mean.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{Rounding, RoundingLaunch, quantized};
use crate::cube::units::{UNITS, total};
use crate::cube::{
    blank,
    launch::{Grid, launch},
    type_of,
};
use crate::spec::quantize::{Mean, Rounded};

pub fn mean(x: CubeTensor, mean: Mean) -> Option<CubeTensor> {
    let y = mean.result(&type_of(&x))?;
    let y = blank(&x, y);
    let count = mean.count(&x.shape());
    let rows = y.shape().num_elements();
    if rows == 0 {
        return Some(y);
    }
    let x = into_contiguous(x);
    let (of, to) = (mean.of, mean.y);
    let (factor, divisor) = match mean.rounded {
        Rounded::Once => (of.scale() / (to.scale() * count as f32), 1.0),
        Rounded::InSteps => (of.scale(), to.scale()),
    };
    let dtypes = [x.dtype, y.dtype].map(dtype_to_storage_type);
    let shared = UNITS * size_of::<i32>();
    launch!(Grid::cubes(rows, UNITS).shared(shared) => mean_kernel(
        x, &y;
        rows, count, of.zero() as i32, factor, divisor, RoundingLaunch::to(to), mean.rounded,
        dtypes,
    ));
    Some(y)
}

/// A cube computes the mean of a row.
///
/// Cubes beyond `rows`, the number of elements of `y`, end. `x` has `rows * count` elements.
#[cube(launch_unchecked, address_type = "dynamic")]
fn mean_kernel<I: Int, O: Int>(
    x: &Tensor<I>,
    y: &mut Tensor<O>,
    rows: usize,
    count: usize,
    zero: i32,
    factor: f32,
    divisor: f32,
    rounding: Rounding,
    #[comptime] rounded: Rounded,
    #[define(I, O)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= rows {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * count;
    let mut own = 0i32;
    for at in range_stepped(unit, count, UNITS) {
        own += i32::cast_from(x[first + at]) - zero;
    }
    let mut shared = Shared::<[i32]>::new_slice(UNITS);
    let sum = f32::cast_from(total(own, &mut shared));
    if unit == 0 {
        let scaled = match rounded {
            Rounded::Once => sum * factor,
            Rounded::InSteps => sum * factor / f32::cast_from(count) / divisor,
        };
        y[CUBE_POS] = quantized::<O>(scaled, &rounding);
    }
}
