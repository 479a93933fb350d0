//! Arrays as registers, for the instructions that the build may use.

use std::ops::{Add, BitAnd, Div, Mul, Sub};

use super::memory::{first, registers};
use super::{Floats, Ints, Isa, MulAdd, Native};

/// The instructions that the target of the compilation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Portable;

registers! {
    F32x4([f32; 4]): [f32; 4];
    I32x4([i32; 4]): [i32; 4];
}

impl Isa for Portable {
    type Floats = F32x4;
    type Ints = I32x4;
    type Scalar = Native;

    const LANES: usize = 4;
    const REGISTERS: usize = 16;
    const MR: usize = 6;
    const NAME: &str = "portable";

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
        F32x4([value; 4])
    }

    #[inline(always)]
    fn splat_int(self, value: i32) -> I32x4 {
        I32x4([value; 4])
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> F32x4 {
        F32x4(first(from))
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32]) -> I32x4 {
        I32x4(first(from))
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> I32x4 {
        I32x4(first(from).map(i32::from))
    }

    #[inline(always)]
    unsafe fn load_masked(self, from: *const f32, mask: u32, other: F32x4) -> F32x4 {
        let mut lanes = other.0;
        for (lane, value) in lanes.iter_mut().enumerate() {
            if mask & (1 << lane) != 0 {
                // SAFETY: the caller promises the elements of the mask. The pointer may begin before them.
                *value = unsafe { from.wrapping_add(lane).read() };
            }
        }
        F32x4(lanes)
    }
}

impl F32x4 {
    #[inline(always)]
    fn zip(self, other: Self, run: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| run(self.0[lane], other.0[lane])))
    }
}

impl Floats for F32x4 {
    type Ints = I32x4;

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(std::array::from_fn(|lane| Native::mul_add(self.0[lane], factor.0[lane], addend.0[lane])))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b || a.is_nan() { a } else { b })
    }

    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        self.zip(low, |value, low| if value < low { low } else { value })
            .zip(high, |value, high| if value > high { high } else { value })
    }

    #[inline(always)]
    fn even_lanes(self, high: Self) -> Self {
        Self([self.0[0], self.0[2], high.0[0], high.0[2]])
    }

    #[inline(always)]
    fn odd_lanes(self, high: Self) -> Self {
        Self([self.0[1], self.0[3], high.0[1], high.0[3]])
    }

    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        [Self([a, e, b, f]), Self([c, g, d, h])]
    }

    #[inline(always)]
    fn rounded(self, zero: Self, low: Self, high: Self) -> I32x4 {
        I32x4(std::array::from_fn(|lane| {
            let value = self.0[lane].round_ties_even() + zero.0[lane];
            value.max(low.0[lane]).min(high.0[lane]) as i32
        }))
    }

    #[inline(always)]
    fn bits(self) -> I32x4 {
        I32x4(self.0.map(|value| value.to_bits() as i32))
    }
}

impl Ints for I32x4 {
    type Floats = F32x4;

    #[inline(always)]
    fn floats(self) -> F32x4 {
        F32x4(self.0.map(|value| value as f32))
    }

    #[inline(always)]
    fn shifted_right(self, places: usize) -> Self {
        Self(self.0.map(|value| (value as u32 >> places) as i32))
    }
}

macro_rules! operators {
    ($($register:ident $operator:ident $name:ident $run:expr;)*) => {$(
        impl $operator for $register {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self(std::array::from_fn(|lane| $run(self.0[lane], other.0[lane])))
            }
        }
    )*};
}

operators! {
    F32x4 Add add |a: f32, b| a + b;
    F32x4 Sub sub |a: f32, b| a - b;
    F32x4 Mul mul |a: f32, b| a * b;
    F32x4 Div div |a: f32, b| a / b;
    I32x4 Add add i32::wrapping_add;
    I32x4 Mul mul i32::wrapping_mul;
    I32x4 BitAnd bitand |a: i32, b| a & b;
}
