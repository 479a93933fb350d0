//! WebAssembly's SIMD, in programs compiled with `simd128`.
//!
//! Programs cannot detect it at run time.

use std::arch::wasm32::*;
use std::ops::{Add, BitAnd, Div, Mul, Sub};

use super::memory::{first, load, registers};
use super::{Floats, Ints, Isa, Separate};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Simd128;

registers! {
    F32x4(v128): [f32; 4];
    I32x4(v128): [i32; 4];
}

impl Isa for Simd128 {
    type Floats = F32x4;
    type Ints = I32x4;
    type Scalar = Separate;

    const LANES: usize = 4;
    const REGISTERS: usize = 16;
    // Engines have 15 registers for x86: 6 rows leave none for a product.
    const MR: usize = 5;
    const NAME: &str = "simd128";

    #[inline(always)]
    fn call<R>(self, run: impl FnOnce() -> R) -> R {
        // A function of its own, as with other sets: compilers allocate registers of large functions badly.
        #[inline(never)]
        fn compiled<R>(run: impl FnOnce() -> R) -> R {
            run()
        }
        compiled(run)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> F32x4 {
        F32x4(f32x4_splat(value))
    }

    #[inline(always)]
    fn splat_int(self, value: i32) -> I32x4 {
        I32x4(i32x4_splat(value))
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> F32x4 {
        F32x4(load::<_, _, 4>(from))
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32]) -> I32x4 {
        I32x4(load::<_, _, 4>(from))
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> I32x4 {
        let bytes = u32x4_splat(u32::from_le_bytes(first(from)));
        I32x4(u32x4_extend_low_u16x8(u16x8_extend_low_u8x16(bytes)))
    }

    #[inline(always)]
    unsafe fn load_masked(self, from: *const f32, mask: u32, other: F32x4) -> F32x4 {
        if mask == 0xf {
            // SAFETY: the caller promises all 4 elements.
            return F32x4(unsafe { v128_load(from.cast()) });
        }
        let mut values = other.0;
        macro_rules! load {
            ($load:ident::<$part:literal> from $lane:literal) => {
                // SAFETY: the caller promises the elements of the mask.
                values = unsafe { $load::<$part>(values, from.wrapping_add($lane).cast()) }
            };
        }
        // Padding is at one end of most registers.
        match mask & 0xf {
            0b0000 => {}
            0b0001 => load!(v128_load32_lane::<0> from 0),
            0b0011 => load!(v128_load64_lane::<0> from 0),
            0b0111 => {
                load!(v128_load64_lane::<0> from 0);
                load!(v128_load32_lane::<2> from 2);
            }
            0b1000 => load!(v128_load32_lane::<3> from 3),
            0b1100 => load!(v128_load64_lane::<1> from 2),
            0b1110 => {
                load!(v128_load32_lane::<1> from 1);
                load!(v128_load64_lane::<1> from 2);
            }
            _ => {
                if mask & 1 != 0 {
                    load!(v128_load32_lane::<0> from 0);
                }
                if mask & 2 != 0 {
                    load!(v128_load32_lane::<1> from 1);
                }
                if mask & 4 != 0 {
                    load!(v128_load32_lane::<2> from 2);
                }
                if mask & 8 != 0 {
                    load!(v128_load32_lane::<3> from 3);
                }
            }
        }
        F32x4(values)
    }
}

impl Floats for F32x4 {
    type Ints = I32x4;

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        self * factor + addend
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // NaN where one is.
        Self(f32x4_max(self.0, other.0))
    }

    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        // The first operand where one is NaN.
        Self(f32x4_pmin(f32x4_pmax(self.0, low.0), high.0))
    }

    #[inline(always)]
    fn even_lanes(self, high: Self) -> Self {
        Self(i32x4_shuffle::<0, 2, 4, 6>(self.0, high.0))
    }

    #[inline(always)]
    fn odd_lanes(self, high: Self) -> Self {
        Self(i32x4_shuffle::<1, 3, 5, 7>(self.0, high.0))
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        [
            Self(i32x4_shuffle::<0, 4, 1, 5>(self.0, other.0)),
            Self(i32x4_shuffle::<2, 6, 3, 7>(self.0, other.0)),
        ]
    }

    #[inline(always)]
    fn rounded(self, zero: Self, low: Self, high: Self) -> I32x4 {
        let value = f32x4_add(f32x4_nearest(self.0), zero.0);
        // The first operand where one is NaN.
        let value = f32x4_pmax(low.0, value);
        I32x4(i32x4_trunc_sat_f32x4(f32x4_pmin(high.0, value)))
    }

    #[inline(always)]
    fn bits(self) -> I32x4 {
        I32x4(self.0)
    }
}

impl Ints for I32x4 {
    type Floats = F32x4;

    #[inline(always)]
    fn floats(self) -> F32x4 {
        F32x4(f32x4_convert_i32x4(self.0))
    }

    #[inline(always)]
    fn shifted_right(self, places: usize) -> Self {
        Self(u32x4_shr(self.0, places as u32))
    }
}

macro_rules! operators {
    ($($register:ident $operator:ident $name:ident $intrinsic:ident;)*) => {$(
        impl $operator for $register {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self($intrinsic(self.0, other.0))
            }
        }
    )*};
}

operators! {
    F32x4 Add add f32x4_add;
    F32x4 Sub sub f32x4_sub;
    F32x4 Mul mul f32x4_mul;
    F32x4 Div div f32x4_div;
    I32x4 Add add i32x4_add;
    I32x4 Mul mul i32x4_mul;
    I32x4 BitAnd bitand v128_and;
}
