//! Codes of few bits in registers.

use crate::flex::gemm::{self, Plain};

/// A register of words of 32 bits, one for each of some outputs: codes, or sums of their products.
///
/// The methods may run on processors that have their instructions alone, and pointers are good for as many
/// numbers as they read. Parts and terms are numbered from the lowest bits on.
#[allow(clippy::missing_safety_doc)]
pub trait Lanes: Copy {
    const COUNT: usize;
    type Float: gemm::Lanes;
    /// What makes floats of codes.
    type Table: Copy;

    unsafe fn load(from: *const u32) -> Self;
    unsafe fn splat(value: i32) -> Self;
    /// Bytes, each in a word of its own.
    unsafe fn widened(from: *const u8) -> Self;
    /// Those of each byte's codes that have this number.
    unsafe fn part<const BITS: usize>(self, part: usize) -> Self;
    /// What [`dot`](Self::dot) takes from codes of so many bits before it multiplies them.
    #[inline(always)]
    fn less(_bits: usize) -> i32 {
        0
    }

    /// Adds the products of four codes with four signed bytes above -128.
    unsafe fn dot<const BITS: usize>(self, codes: Self, row: *const u32) -> Self;
    /// The products of what [`widened`](Self::widened) gives, less what [`dot`](Self::dot) takes from codes of so many bits,
    /// with a number of 16 bits.
    unsafe fn times<const BITS: usize>(self, factor: i32) -> Self;
    unsafe fn float(self) -> Self::Float;
    /// For codes less a number.
    unsafe fn table(less: f32) -> Self::Table;
    /// The code with this number of each word.
    unsafe fn value<const BITS: usize>(self, term: usize, table: Self::Table) -> Self::Float;
    unsafe fn mul(a: Self::Float, b: Self::Float) -> Self::Float;
    unsafe fn sub(a: Self::Float, b: Self::Float) -> Self::Float;
}

/// The bits of the first code of each byte.
const fn mask(bits: usize) -> u32 {
    0x0101_0101 * ((1 << bits) - 1)
}

/// Words for the compiler to find instructions for.
#[derive(Clone, Copy)]
pub struct Words([u32; 4]);

impl Words {
    #[inline(always)]
    fn map<T>(self, run: impl Fn(u32) -> T) -> [T; 4] {
        std::array::from_fn(|lane| run(self.0[lane]))
    }
}

#[inline(always)]
fn plain(values: [f32; 4]) -> Plain {
    // SAFETY: there are four numbers.
    unsafe { gemm::Lanes::load(values.as_ptr()) }
}

impl Lanes for Words {
    const COUNT: usize = 4;
    type Float = Plain;
    type Table = f32;

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the pointer is good for four numbers.
        Self(unsafe { from.cast::<[u32; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        Self([value as u32; 4])
    }

    #[inline(always)]
    unsafe fn widened(from: *const u8) -> Self {
        // SAFETY: the pointer is good for four numbers.
        Self(unsafe { from.cast::<[u8; 4]>().read() }.map(u32::from))
    }

    #[inline(always)]
    unsafe fn part<const BITS: usize>(self, part: usize) -> Self {
        Self(self.map(|word| (word >> (BITS * part)) & mask(BITS)))
    }

    #[inline(always)]
    unsafe fn dot<const BITS: usize>(self, codes: Self, row: *const u32) -> Self {
        // SAFETY: the pointer is good for one number.
        let row = unsafe { row.read() }.to_le_bytes().map(|byte| byte as i8);
        Self(std::array::from_fn(|lane| {
            let codes = codes.0[lane].to_le_bytes();
            // Products of bytes have 16 bits.
            let product = |at: usize| i32::from(codes[at]) * i32::from(row[at]);
            let sum = (product(0) + product(1)) + (product(2) + product(3));
            self.0[lane].wrapping_add(sum as u32)
        }))
    }

    #[inline(always)]
    unsafe fn times<const BITS: usize>(self, factor: i32) -> Self {
        Self(self.map(|word| (word as i32 * factor) as u32))
    }

    #[inline(always)]
    unsafe fn float(self) -> Plain {
        plain(self.map(|word| word as i32 as f32))
    }

    #[inline(always)]
    unsafe fn table(less: f32) -> f32 {
        less
    }

    #[inline(always)]
    unsafe fn value<const BITS: usize>(self, term: usize, less: f32) -> Plain {
        plain(self.map(|word| {
            let code = (word >> (BITS * term)) & ((1 << BITS) - 1);
            code as i32 as f32 - less
        }))
    }

    #[inline(always)]
    unsafe fn mul(a: Plain, b: Plain) -> Plain {
        a.zip(b, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn sub(a: Plain, b: Plain) -> Plain {
        a.zip(b, |a, b| a - b)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
pub use x86::{Narrow, NarrowVnni, Wide};

#[cfg(target_arch = "aarch64")]
mod arm;

#[cfg(target_arch = "aarch64")]
pub use arm::{Neon, NeonDot};
