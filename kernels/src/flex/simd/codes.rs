//! Codes of 2, 4 or 8 bits as floats.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "aarch64")]
use super::Neon;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use super::Simd128;
#[cfg(target_arch = "x86_64")]
use super::{
    Avx2, Avx512,
    avx512::{F32x16, I32x16},
    memory::with_features,
};
use super::{Ints, Isa, Portable, sealed::Register};

/// An instruction set that makes floats of codes.
pub trait CodeIsa: Isa {
    /// Operand of [`CodeIsa::code`], made once for the number that is subtracted.
    type CodeTable: Copy;

    /// Prepares the subtraction of a number from codes.
    fn code_table(self, less: f32) -> Self::CodeTable;

    /// The code with a number of each word, counted from the least significant bits on.
    fn code<const BITS: usize>(
        self,
        words: Self::Ints,
        number: usize,
        table: Self::CodeTable,
    ) -> Self::Floats;
}

/// The lower and the upper halves of words as numbers in half precision, none of them infinite or NaN.
#[inline(always)]
pub fn halves<I: Isa>(isa: I, words: I::Ints) -> [I::Floats; 2] {
    let number = |magnitude: I::Ints, sign: I::Ints| {
        let bits = (magnitude + sign).lanes();
        // The exponents of half precision begin 112 later.
        isa.load(bytemuck::cast_slice(bits.as_ref())) * isa.splat(f32::from_bits((127 + 112) << 23))
    };
    let only = |mask: i32| words & isa.splat_int(mask);
    let low = number(only(0x7fff) * isa.splat_int(1 << 13), only(0x8000) * isa.splat_int(1 << 16));
    let high = number(words.shifted_right(3) & isa.splat_int(0x0fff_e000), only(i32::MIN));
    [low, high]
}

/// Converts codes and subtracts `less`.
#[inline(always)]
fn converted<I: Isa, const BITS: usize>(isa: I, words: I::Ints, number: usize, less: I::Floats) -> I::Floats {
    let mask = isa.splat_int((1 << BITS) - 1);
    (words.shifted_right(BITS * number) & mask).floats() - less
}

macro_rules! by_conversion {
    ($($isa:ident),*) => {$(
        impl CodeIsa for $isa {
            type CodeTable = <$isa as Isa>::Floats;

            #[inline(always)]
            fn code_table(self, less: f32) -> Self::CodeTable {
                self.splat(less)
            }

            #[inline(always)]
            fn code<const BITS: usize>(
                self,
                words: Self::Ints,
                number: usize,
                less: Self::CodeTable,
            ) -> Self::Floats {
                converted::<$isa, BITS>(self, words, number, less)
            }
        }
    )*};
}

by_conversion! { Portable }
#[cfg(target_arch = "x86_64")]
by_conversion! { Avx2 }
#[cfg(target_arch = "aarch64")]
by_conversion! { Neon }
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
by_conversion! { Simd128 }

#[cfg(target_arch = "x86_64")]
impl CodeIsa for Avx512 {
    /// Floats of the first sixteen codes, and the number that is subtracted from larger ones.
    type CodeTable = [F32x16; 2];

    #[inline(always)]
    fn code_table(self, less: f32) -> [F32x16; 2] {
        let codes: [f32; 16] = std::array::from_fn(|code| code as f32);
        let less = self.splat(less);
        [self.load(&codes) - less, less]
    }

    #[inline(always)]
    fn code<const BITS: usize>(self, words: I32x16, number: usize, [codes, less]: [F32x16; 2]) -> F32x16 {
        match BITS {
            // The instruction ignores all bits but the least significant four.
            4 => words.shifted_right(BITS * number).looked_up(codes),
            2 => (words.shifted_right(BITS * number) & self.splat_int(3)).looked_up(codes),
            _ => converted::<Self, BITS>(self, words, number, less),
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl I32x16 {
    with_features! { "avx512f":
        /// The elements of a table whose numbers the least significant four bits are.
        fn looked_up(x: I32x16, table: F32x16) -> F32x16 {
            F32x16(_mm512_permutexvar_ps(x.0, table.0))
        }
    }
}
