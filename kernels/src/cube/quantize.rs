//! Operations on quantized tensors, in one launch each.
//!
//! Integers have a dtype of the device: an i32 or a u32 may hold integers of fewer bits.

pub mod blocks;
pub mod coded;
mod dynamic;
pub mod integer;
mod linear;
mod max_pool;
mod mean;
mod operand_indices;
mod pair;
pub mod small;
mod softmax;
mod unary;

pub use dynamic::quantize_dynamic;
pub use linear::{dequantize, dequantize_along, quantize, quantize_along};
pub use max_pool::max_pool;
pub use mean::mean;
pub use pair::combine;
pub use unary::compute;

use burn::tensor::DType;
use cubecl::prelude::*;

use super::{INFINITE, magnitude};
use crate::spec::quantize::{Affine, range};

/// Zero point and bounds of rounded numbers.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Rounding {
    pub zero: f32,
    pub low: f32,
    pub high: f32,
}

impl RoundingLaunch {
    /// Returns the zero point and bounds of integers of `bits` bits.
    pub fn of(dtype: DType, bits: u32, zero: i64) -> Self {
        let [low, high] = range(dtype, bits).map(|bound| bound as f32);
        Self::new(zero as f32, low, high)
    }

    fn to(y: Affine) -> Self {
        Self::of(y.dtype(), y.bits(), y.zero())
    }
}

/// Number of elements of a unit, at a stride of the number of units: cubes cost more than the few steps of an element.
const EACH: usize = 4;

/// Returns the number of units for `count` elements.
fn sharing(count: usize) -> usize {
    count.div_ceil(EACH)
}

/// Returns `true` if differences are of integers, since `f32` does not hold 32 bits. A u32 holds fewer bits.
fn is_wide(dtype: DType) -> bool {
    dtype.size() >= 4 && !dtype.is_uint()
}

/// Returns the integer of a number, 0 for NaN.
#[cube]
pub fn quantized<I: Numeric>(x: f32, rounding: &Rounding) -> I {
    within::<I>(f32::round(x) + rounding.zero, rounding)
}

/// Returns the integer of a rounded number.
#[cube]
pub fn within<I: Numeric>(x: f32, rounding: &Rounding) -> I {
    let bounded = select(x < rounding.low, rounding.low, x);
    let bounded = select(bounded > rounding.high, rounding.high, bounded);
    let is_none = magnitude(x) > comptime!(INFINITE);
    I::cast_from(select(is_none, 0.0f32, bounded))
}

/// Returns the difference of an integer from the zero point.
#[cube]
fn difference<I: Int>(x: I, zero: i32, #[comptime] is_wide: bool) -> f32 {
    if comptime!(is_wide) {
        f32::cast_from(x - I::cast_from(zero))
    } else {
        f32::cast_from(x) - f32::cast_from(zero)
    }
}
