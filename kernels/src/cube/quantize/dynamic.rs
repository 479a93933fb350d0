//! DynamicQuantizeLinear: cubes find the ranges of parts of the values, then each takes the range of all from these.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{Rounding, RoundingLaunch, integer};
use crate::backend::{Declined, Outcome};
use crate::cube::units::{UNITS, greatest};
use crate::cube::{address, blank, type_of, unwritten};
use crate::spec::quantize::dynamic;

/// Values of a cube that quantizes them.
const STRETCH: usize = 32 * UNITS;

/// Parts whose ranges are found; more would be read by each cube.
const PARTS: usize = 64;

const LEVELS: f32 = 255.0;

type Quantized = (
    Outcome<CubeBackend>,
    Outcome<CubeBackend>,
    Outcome<CubeBackend>,
);

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
    let client = y.client.clone();
    let units = CubeDim::new_1d(UNITS as u32);
    let address = address([&x, &y]);
    // Safety: cubes beyond the parts and stretches end, and values beyond the last are neither read nor written.
    unsafe {
        ranges_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, parts * UNITS, units),
            units,
            address,
            x.clone().into_tensor_arg(),
            ranges.clone().into_tensor_arg(),
            count,
            parts,
        );
        dynamic_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, stretches * UNITS, units),
            units,
            address,
            x.into_tensor_arg(),
            ranges.into_tensor_arg(),
            y.clone().into_tensor_arg(),
            scale.clone().into_tensor_arg(),
            zero.clone().into_tensor_arg(),
            count,
            stretches,
            parts,
            RoundingLaunch::of(DType::U8, 8, 0),
            dtype_to_storage_type(dtype),
        );
    }
    (Outcome::Int(y), Outcome::Float(scale), Outcome::Int(zero))
}

/// The greatest value of each part, and the greatest of its negatives, 0 among them.
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
    let middle = integer::<I>(least / step, &rounding);
    let around = Rounding {
        zero: f32::cast_from(middle),
        low: rounding.low,
        high: rounding.high,
    };
    let first = CUBE_POS * STRETCH;
    for at in range_stepped(first + unit, min(first + STRETCH, count), UNITS) {
        y[at] = integer::<I>(x[at] / step, &around);
    }
    if CUBE_POS == 0 && unit == 0 {
        scale[0] = step;
        zero[0] = middle;
    }
}
