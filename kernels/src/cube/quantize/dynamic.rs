//! DynamicQuantizeLinear on CubeCL devices.
//!
//! Cubes find the ranges of parts, then each cube joins these to the range of all.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{Rounding, RoundingLaunch, quantized};
use crate::backend::{Declined, Outcome};
use crate::cube::units::{UNITS, greatest};
use crate::cube::{
    blank,
    launch::{Grid, launch},
    type_of, unwritten,
};
use crate::spec::quantize::dynamic;

/// Number of values that a cube quantizes.
const STRETCH: usize = 32 * UNITS;

/// Largest number of parts, since each cube reads their ranges.
const PARTS: usize = 64;

const LEVELS: f32 = 255.0;

type Quantized = (Outcome<CubeBackend>, Outcome<CubeBackend>, Outcome<CubeBackend>);

pub fn quantize_dynamic(x: CubeTensor, dtype: DType) -> Quantized {
    let Some([y, scale, zero]) = dynamic(&type_of(&x), dtype) else {
        return Declined::declined();
    };
    let count = x.shape().num_elements();
    let x = into_contiguous(x);
    let stretches = count.div_ceil(STRETCH);
    let parts = stretches.min(PARTS);
    let ranges = unwritten(&x, [2 * parts].into(), DType::F32);
    let [y, scale, zero] = [y, scale, zero].map(|ty| blank(&x, ty));
    let grid = |cubes: usize| Grid::cubes(cubes, UNITS).shared(UNITS * size_of::<f32>());
    launch!(grid(parts) => ranges_kernel(&x, &ranges; count, parts));
    launch!(grid(stretches) => dynamic_kernel(
        x, ranges, &y, &scale, &zero;
        count, stretches, parts, RoundingLaunch::of(DType::U8, 8, 0), dtype_to_storage_type(dtype),
    ));
    (Outcome::Int(y), Outcome::Float(scale), Outcome::Int(zero))
}

/// A cube finds the greatest value of a part, and the greatest of its negatives, 0 among them.
///
/// Cubes beyond `parts` end. `x` has `count` elements, and `ranges` two for each part.
#[cube(launch_unchecked, address_type = "dynamic")]
fn ranges_kernel(x: &Tensor<f32>, ranges: &mut Tensor<f32>, count: usize, parts: usize) {
    if CUBE_POS >= parts {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let mut most = 0.0f32;
    let mut least = 0.0f32;
    for at in range_stepped(CUBE_POS * UNITS + unit, count, parts * UNITS) {
        let value = x[at];
        most = select(value > most, value, most);
        least = select(-value > least, -value, least);
    }
    let mut shared = Shared::<[f32]>::new_slice(UNITS);
    let most = greatest(most, &mut shared);
    let least = greatest(least, &mut shared);
    if unit == 0 {
        ranges[2 * CUBE_POS] = most;
        ranges[2 * CUBE_POS + 1] = least;
    }
}

/// A cube quantizes a stretch of values.
///
/// Cubes beyond `stretches` end. `x` and `y` have `count` elements, and the last stretch ends with these;
/// `ranges` has two elements for each of `parts`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn dynamic_kernel<I: Int>(
    x: &Tensor<f32>,
    ranges: &Tensor<f32>,
    y: &mut Tensor<I>,
    scale: &mut Tensor<f32>,
    zero: &mut Tensor<I>,
    count: usize,
    stretches: usize,
    parts: usize,
    rounding: Rounding,
    #[define(I)] _dtype: ElemType,
) {
    if CUBE_POS >= stretches {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let mut most = 0.0f32;
    let mut least = 0.0f32;
    for part in range_stepped(unit, parts, UNITS) {
        let (high, low) = (ranges[2 * part], ranges[2 * part + 1]);
        most = select(high > most, high, most);
        least = select(low > least, low, least);
    }
    let mut shared = Shared::<[f32]>::new_slice(UNITS);
    let most = greatest(most, &mut shared);
    let least = greatest(least, &mut shared);
    let step = (most + least) / comptime!(LEVELS);
    // Nothing but zeros has any scale.
    let step = select(step == 0.0f32, 1.0f32, step);
    let middle = quantized::<I>(least / step, &rounding);
    let around = Rounding { zero: f32::cast_from(middle), low: rounding.low, high: rounding.high };
    let first = CUBE_POS * STRETCH;
    for at in range_stepped(first + unit, min(first + STRETCH, count), UNITS) {
        y[at] = quantized::<I>(x[at] / step, &around);
    }
    if CUBE_POS == 0 && unit == 0 {
        scale[0] = step;
        zero[0] = middle;
    }
}
