//! Element types of host arrays and their arithmetic.

use core::fmt;

use burn::tensor::Element;
use half::{bf16, f16};

/// A number or boolean in a type that represents it exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wide {
    Int(i128),
    Float(f64),
}

/// A numeric or boolean type.
pub trait Scalar: Element + PartialEq + fmt::Display {
    /// Converts the value to the wider type, exactly.
    fn widen(self) -> Wide;

    /// Converts a value as ONNX's `Cast` does: integers wrap, fractions are truncated, and floats out of range become
    /// the nearest bound.
    fn narrow(wide: Wide) -> Self;

    /// Returns the nearest value of the type.
    fn nearest(wide: Wide) -> Self;
}

/// A numeric type with ONNX's arithmetic: integers wrap, and their division by zero returns zero.
pub trait Number: Scalar + PartialOrd {
    const ZERO: Self;
    const ONE: Self;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Returns the quotient, truncated toward zero for integers.
    fn div(self, other: Self) -> Self;
    /// Returns the remainder of the division, with the sign of `self`.
    fn remainder(self, other: Self) -> Self;
    fn neg(self) -> Self;

    /// Returns `true` if this is NaN.
    fn is_nan(self) -> bool;

    /// Applies a function of floats.
    fn through(self, function: fn(f64) -> f64) -> Self {
        match self.widen() {
            Wide::Int(value) => Self::narrow(Wide::Float(function(value as f64))),
            Wide::Float(value) => Self::narrow(Wide::Float(function(value))),
        }
    }

    /// Returns the remainder of the division, with the sign of `other` even if it is zero.
    fn modulo(self, other: Self) -> Self {
        let rest = self.remainder(other);
        let is_negative = other < Self::ZERO;
        if rest == Self::ZERO {
            return if is_negative { Self::ZERO.neg() } else { Self::ZERO };
        }
        if (rest < Self::ZERO) == is_negative { rest } else { rest.add(other) }
    }
}

macro_rules! integers {
    ($($int:ident)*) => {$(
        impl Scalar for $int {
            fn widen(self) -> Wide {
                Wide::Int(self as i128)
            }

            fn narrow(wide: Wide) -> Self {
                match wide {
                    Wide::Int(value) => value as $int,
                    Wide::Float(value) => value as $int,
                }
            }

            fn nearest(wide: Wide) -> Self {
                match wide {
                    Wide::Int(value) => value.clamp($int::MIN as i128, $int::MAX as i128) as $int,
                    Wide::Float(value) => value as $int,
                }
            }
        }

        impl Number for $int {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn div(self, other: Self) -> Self {
                match other {
                    0 => 0,
                    _ => self.wrapping_div(other),
                }
            }

            fn remainder(self, other: Self) -> Self {
                match other {
                    0 => 0,
                    _ => self.wrapping_rem(other),
                }
            }

            fn neg(self) -> Self {
                self.wrapping_neg()
            }

            fn is_nan(self) -> bool {
                false
            }
        }
    )*};
}

macro_rules! floats {
    ($($float:ident, $zero:expr, $one:expr, $from_int:expr, $from_float:expr;)*) => {$(
        impl Scalar for $float {
            fn widen(self) -> Wide {
                Wide::Float(self.into())
            }

            fn narrow(wide: Wide) -> Self {
                match wide {
                    Wide::Int(value) => $from_int(value),
                    Wide::Float(value) => $from_float(value),
                }
            }

            fn nearest(wide: Wide) -> Self {
                Self::narrow(wide)
            }
        }

        impl Number for $float {
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            fn add(self, other: Self) -> Self {
                self + other
            }

            fn sub(self, other: Self) -> Self {
                self - other
            }

            fn mul(self, other: Self) -> Self {
                self * other
            }

            fn div(self, other: Self) -> Self {
                self / other
            }

            fn remainder(self, other: Self) -> Self {
                self % other
            }

            fn neg(self) -> Self {
                -self
            }

            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

floats! {
    f32, 0.0, 1.0, |value| value as f32, |value| value as f32;
    f64, 0.0, 1.0, |value| value as f64, |value| value;
    f16, f16::ZERO, f16::ONE, |value| f16::from_f64(value as f64), f16::from_f64;
    bf16, bf16::ZERO, bf16::ONE, |value| bf16::from_f64(value as f64), bf16::from_f64;
}

impl Scalar for bool {
    fn widen(self) -> Wide {
        Wide::Int(self as i128)
    }

    fn narrow(wide: Wide) -> Self {
        match wide {
            Wide::Int(value) => value != 0,
            Wide::Float(value) => value != 0.0,
        }
    }

    fn nearest(wide: Wide) -> Self {
        Self::narrow(wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_wrap_and_lowering_keeps_the_nearest() {
        let large = Wide::Int(i64::MAX as i128);
        assert_eq!((i32::narrow(large), i32::nearest(large)), (-1, i32::MAX));
        assert_eq!((u8::narrow(Wide::Int(-1)), u8::nearest(Wide::Int(-1))), (255, 0));
    }

    #[test]
    fn floats_are_cut_off_and_end_at_the_limit() {
        assert_eq!(i32::narrow(Wide::Float(-1.9)), -1);
        assert_eq!(u8::narrow(Wide::Float(300.0)), 255);
        assert_eq!(f16::narrow(Wide::Float(1e9)), f16::INFINITY);
    }

    #[test]
    fn modulo_has_the_sign_of_the_divisor() {
        assert_eq!((Number::modulo(-7i64, 3), Number::modulo(7i64, -3)), (2, -2));
        assert_eq!(Number::modulo(-0.5f32, 2.0), 1.5);
        assert!(Number::modulo(6f32, -3.0).is_sign_negative());
        assert!(Number::modulo(-6f32, 3.0).is_sign_positive());
        assert_eq!(Number::modulo(250u8, 7), 5);
    }

    #[test]
    fn integers_never_stop_the_program() {
        assert_eq!(Number::div(1i64, 0), 0);
        assert_eq!(Number::div(i64::MIN, -1), i64::MIN);
        assert_eq!(Number::add(i32::MAX, 1), i32::MIN);
    }
}
