//! Integers that stand for floats, each operation in one launch.
//!
//! They come in the dtypes that the device has: an i32 or a u32 may stand for fewer bits.

mod dynamic;
mod linear;
mod max_pool;
mod mean;
mod pair;
mod places;
mod softmax;
mod unary;

pub use dynamic::quantize_dynamic;
pub use linear::{dequantize, dequantize_along, quantize, quantize_along};
pub use max_pool::max_pool;
pub use mean::mean;
pub use pair::combine;
pub use unary::compute;

use burn::tensor::DType;
use cubecl::{calculate_cube_count_elemwise, client::Client, prelude::*};

use super::{INFINITE, magnitude};
use crate::spec::quantize::{Affine, range};

/// How rounded numbers become integers: by a zero point, and bounds.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Rounding {
    pub zero: f32,
    pub low: f32,
    pub high: f32,
}

impl RoundingLaunch {
    /// That of integers of so many bits.
    pub fn of(dtype: DType, bits: u32, zero: i64) -> Self {
        let [low, high] = range(dtype, bits).map(|bound| bound as f32);
        Self::new(zero as f32, low, high)
    }

    fn to(y: Affine) -> Self {
        Self::of(y.dtype(), y.bits(), y.zero())
    }
}

/// Elements of a unit, at a stride of the number of units: cubes cost more than the few steps of one element.
const EACH: usize = 4;

/// Cubes for so many elements, their units, and how many of all units have elements.
fn shared(client: &Client, count: usize) -> (CubeCount, CubeDim, usize) {
    let step = count.div_ceil(EACH);
    let units = CubeDim::new(client, step);
    let cubes = calculate_cube_count_elemwise(client, step, units);
    (cubes, units, step)
}

/// Whether differences are of integers: floats do not hold what has 32 bits. A u32 stands for fewer.
fn is_wide(dtype: DType) -> bool {
    dtype.size() >= 4 && !dtype.is_uint()
}

/// The integer of a number; what is no number becomes 0.
#[cube]
pub fn integer<I: Numeric>(x: f32, rounding: &Rounding) -> I {
    within::<I>(f32::round(x) + rounding.zero, rounding)
}

/// The integer of a number in steps from 0.
#[cube]
pub fn within<I: Numeric>(x: f32, rounding: &Rounding) -> I {
    let bounded = select(x < rounding.low, rounding.low, x);
    let bounded = select(bounded > rounding.high, rounding.high, bounded);
    let is_none = magnitude(x) > comptime!(INFINITE);
    I::cast_from(select(is_none, 0.0f32, bounded))
}

/// How many steps an integer is from the zero point.
#[cube]
fn difference<I: Int>(x: I, zero: i32, #[comptime] is_wide: bool) -> f32 {
    if comptime!(is_wide) {
        f32::cast_from(x - I::cast_from(zero))
    } else {
        f32::cast_from(x) - f32::cast_from(zero)
    }
}
