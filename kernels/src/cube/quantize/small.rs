//! Rounding to 8-bit and 4-bit floats, on the bits of `f32`.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::{
    prelude::*,
    std::tensor::layout::linear::{LinearView, LinearViewMut},
};

use crate::cube::{
    INFINITE,
    launch::{Grid, Linear, launch},
    unwritten,
};
use crate::spec::small::{Small, Toward};

/// Format of a type, as a constant of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Format {
    mantissa: u32,
    /// Exponents of the least and the greatest normal value.
    lowest: i32,
    highest: i32,
    /// Bits of the largest value, and of the result of larger ones.
    largest: u32,
    beyond: u32,
    /// Bits of the result of NaN.
    nan: u32,
    signed_zero: bool,
}

const NAN: u32 = 0x7fc0_0000;

impl Format {
    fn new(mantissa: u32, lowest: i32, largest: f32) -> Self {
        Format {
            mantissa,
            lowest,
            highest: (largest.to_bits() >> 23) as i32 - 127,
            largest: largest.to_bits(),
            beyond: NAN,
            nan: NAN,
            signed_zero: true,
        }
    }

    /// Returns the format of a type. `None` for the type of exponents alone.
    fn of(small: Small) -> Option<Self> {
        Some(match small {
            Small::E4M3Fn => Format::new(3, -6, 448.0),
            Small::E4M3Fnuz => Format { signed_zero: false, ..Format::new(3, -7, 240.0) },
            Small::E5M2 => Format { beyond: INFINITE, ..Format::new(2, -14, 57344.0) },
            Small::E5M2Fnuz => Format { signed_zero: false, ..Format::new(2, -15, 57344.0) },
            Small::E2M1 => Format { beyond: 6f32.to_bits(), nan: 0, ..Format::new(1, 0, 6.0) },
            Small::E8M0(_) => return None,
        })
    }
}

pub fn to_small(x: CubeTensor, small: Small, saturate: bool) -> CubeTensor {
    let y = unwritten(&x, x.shape(), DType::F32);
    let grid = Grid::units(y.shape().num_elements());
    let dtype = dtype_to_storage_type(x.dtype);
    let (input, output) = (Linear(x, &y), Linear(y.clone(), &y));
    if let Small::E8M0(toward) = small {
        launch!(grid => power_kernel(input, output; toward, saturate, dtype));
    } else if let Some(mut format) = Format::of(small) {
        if saturate {
            format.beyond = format.largest;
        }
        launch!(grid => float_kernel(input, output; format, dtype));
    }
    y
}

/// A unit rounds an element: a value is a whole number of steps between values of its exponent.
///
/// Units beyond the elements of `output` end, and `input` has the same shape.
#[cube(launch_unchecked, address_type = "dynamic")]
fn float_kernel<T: Numeric>(
    input: LinearView<'_, T>,
    mut output: LinearViewMut<'_, f32>,
    #[comptime] format: Format,
    #[define(T)] _dtype: ElemType,
) {
    if !output.is_in_bounds(ABSOLUTE_POS) {
        terminate!();
    }
    let bits = u32::reinterpret(f32::cast_from(input.read(ABSOLUTE_POS)));
    let sign = bits & 0x8000_0000u32;
    let fraction = bits & 0x007f_ffffu32;
    let field = (bits >> 23u32) & 0xffu32;
    let exponent = field as i32 - 127i32;
    let mut y = sign | comptime!(format.beyond);
    if field == 0xffu32 && fraction != 0u32 {
        y = comptime!(format.nan).runtime();
    } else if exponent <= comptime!(format.highest) {
        let scale = max(exponent, comptime!(format.lowest));
        let dropped = (comptime!(23 - format.mantissa as i32) + scale - exponent) as u32;
        let dropped = min(dropped, 25u32);
        let mut significand = fraction | 0x0080_0000u32;
        if field == 0u32 {
            // Far below the least value.
            significand = 0u32;
        }
        let odd = (significand >> dropped) & 1u32;
        let steps = (significand + (1u32 << (dropped - 1u32)) - 1u32 + odd) >> dropped;
        let step = (scale + comptime!(127 - format.mantissa as i32)) as u32;
        let rounded = f32::cast_from(steps) * f32::reinterpret(step << 23u32);
        let magnitude = u32::reinterpret(rounded);
        if magnitude <= comptime!(format.largest) {
            y = sign | magnitude;
        }
        if comptime!(!format.signed_zero) {
            if magnitude == 0u32 {
                y = 0u32;
            }
        }
    }
    output.write(ABSOLUTE_POS, f32::reinterpret(y));
}

/// A unit rounds an element to a power of two. The bounds are those of [`float_kernel`].
#[cube(launch_unchecked, address_type = "dynamic")]
fn power_kernel<T: Numeric>(
    input: LinearView<'_, T>,
    mut output: LinearViewMut<'_, f32>,
    #[comptime] toward: Toward,
    #[comptime] saturate: bool,
    #[define(T)] _dtype: ElemType,
) {
    if !output.is_in_bounds(ABSOLUTE_POS) {
        terminate!();
    }
    let bits = u32::reinterpret(f32::cast_from(input.read(ABSOLUTE_POS)));
    let magnitude = bits & 0x7fff_ffffu32;
    // The least power is below what floats have a full significand for.
    let least = 0x0040_0000u32;
    let most = 0x7f00_0000u32;
    let mut below = magnitude & 0x7f80_0000u32;
    let mut above = below + 0x0080_0000u32;
    let mut middle = below + 0x0040_0000u32;
    if magnitude < 0x0080_0000u32 {
        below = least;
        above = 0x0080_0000u32;
        middle = 0x0060_0000u32;
    }
    let mut y = below;
    if comptime!(toward == Toward::Up) {
        if magnitude > below {
            y = above;
        }
    } else if comptime!(toward == Toward::Nearest) {
        if magnitude >= middle {
            y = above;
        }
    }
    y = min(y, most);
    if magnitude > most || magnitude < least {
        if comptime!(saturate) {
            y = select(magnitude > most, most, least);
        } else {
            y = comptime!(NAN).runtime();
        }
    }
    if magnitude > comptime!(INFINITE) {
        y = comptime!(NAN).runtime();
    }
    output.write(ABSOLUTE_POS, f32::reinterpret(y));
}
