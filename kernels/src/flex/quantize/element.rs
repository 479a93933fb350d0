//! 8- and 16-bit integers, and their conversion from floats.

use burn::tensor::{DType, Element};

use crate::spec::quantize::Affine;

/// An integer type that f32 represents exactly.
pub trait Integer: Element + bytemuck::Pod + Ord + Into<i32> {
    const LEAST: Self;

    /// Truncates to the low bits.
    fn low(wide: i32) -> Self;

    #[inline(always)]
    fn float(self) -> f32 {
        let wide: i32 = self.into();
        wide as f32
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            const LEAST: Self = Self::MIN;

            #[inline(always)]
            fn low(wide: i32) -> Self {
                wide as Self
            }
        }
    )*};
}

integers! { u8 i8 u16 i16 }

/// Runs code for the integer type of a dtype; `None` for other dtypes.
macro_rules! by_dtype {
    ($dtype:expr, $integer:ident => $run:expr) => {
        match $dtype {
            burn::tensor::DType::U8 => {
                type $integer = u8;
                Some($run)
            }
            burn::tensor::DType::I8 => {
                type $integer = i8;
                Some($run)
            }
            burn::tensor::DType::U16 => {
                type $integer = u16;
                Some($run)
            }
            burn::tensor::DType::I16 => {
                type $integer = i16;
                Some($run)
            }
            _ => None,
        }
    };
}

pub(crate) use by_dtype;

/// Adding and then subtracting this rounds to the nearest integer, ties to even.
pub const ROUNDING: f32 = 12_582_912.0;

/// Conversion of scaled floats to integers: rounding, zero point, and clamping.
#[derive(Clone, Copy, Debug)]
pub struct Rounding {
    /// The bounds less the zero point.
    low: f32,
    high: f32,
    /// [`ROUNDING`] less the zero point.
    after: f32,
}

impl Rounding {
    /// Maximum magnitude of a zero point: larger than any of 16 bits.
    const LARGEST: i64 = 1 << 17;

    /// Returns `None` if the sums would not be exact.
    pub fn new(dtype: DType, bits: u32, zero: i64) -> Option<Self> {
        if bits > 16 || zero.abs() > Self::LARGEST {
            return None;
        }
        let (levels, zero) = (2f32.powi(bits as i32), zero as f32);
        let least = if dtype.is_uint() { 0.0 } else { -levels / 2.0 };
        Some(Self { low: least - zero, high: least + levels - 1.0 - zero, after: ROUNDING - zero })
    }

    /// Returns the rounding of a scale and zero point.
    pub fn of(affine: Affine) -> Option<Self> {
        Self::new(affine.dtype(), affine.bits(), affine.zero())
    }

    /// Returns the same range with another zero point, which is a 16-bit integer.
    #[inline(always)]
    pub fn around(self, zero: f32) -> Self {
        Self { low: self.low - zero, high: self.high - zero, after: self.after - zero }
    }

    /// Converts a float to an integer; NaN becomes 0.
    #[inline(always)]
    pub fn integer<T: Integer>(self, x: f32) -> T {
        // The bounds are integers, so rounding cannot exceed them.
        let x = if x < self.low { self.low } else { x };
        let x = if x > self.high { self.high } else { x };
        let shifted = (x + ROUNDING) - self.after;
        let number = if shifted.is_nan() { 0.0 } else { shifted };
        // The least significant bits of the sum are those of the integer.
        T::low((number + ROUNDING).to_bits() as i32)
    }
}
