//! Tests on the bits of floats.
//!
//! Shaders may assume that no float is infinite or NaN.

use cubecl::prelude::*;

/// Bits of infinity.
pub const INFINITE: u32 = 0x7f80_0000;

/// Returns the bits of an absolute value, which exceed [`INFINITE`] for NaN.
#[cube]
pub fn magnitude(x: f32) -> u32 {
    u32::reinterpret(x) & 0x7fff_ffffu32
}

#[cube]
pub fn is_nan(x: f32) -> bool {
    magnitude(x) > INFINITE
}
