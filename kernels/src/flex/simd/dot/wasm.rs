//! Products of bytes by those of integers of 16 bits.

use std::arch::wasm32::*;

use super::{DotIsa, blocks};
use crate::flex::simd::memory::load;
use crate::flex::simd::{Simd128, wasm::I32x4};

/// Bytes as integers of 16 bits: the first and the third of each four, then the others.
#[inline(always)]
fn widened(bytes: v128) -> [v128; 2] {
    [v128_and(bytes, u16x8_splat(0xff)), u16x8_shr(bytes, 8)]
}

impl DotIsa for Simd128 {
    type Terms = [v128; 2];

    const WORDS: usize = 2;
    const SIGNED_COLUMNS: bool = false;
    const BYTE_MR: usize = 4;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> [v128; 2] {
        widened(load::<_, _, 4>(from))
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> [v128; 2] {
        let [block] = blocks::<1>(from, step);
        widened(i8x16_swizzle(load::<_, _, 16>(&block), load::<_, _, 16>(index)))
    }

    #[inline(always)]
    fn add_dot(self, sum: I32x4, terms: [v128; 2], row: &[u32]) -> I32x4 {
        let even = i32x4_dot_i16x8(terms[0], u32x4_splat(row[0]));
        let odd = i32x4_dot_i16x8(terms[1], u32x4_splat(row[1]));
        I32x4(i32x4_add(sum.0, i32x4_add(even, odd)))
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: I32x4, codes: I32x4, row: u32) -> I32x4 {
        let [even, odd] = widened(codes.0);
        let row = u32x4_splat(row);
        let even = i32x4_dot_i16x8(even, i16x8_shr(i16x8_shl(row, 8), 8));
        let odd = i32x4_dot_i16x8(odd, i16x8_shr(row, 8));
        I32x4(i32x4_add(sum.0, i32x4_add(even, odd)))
    }
}
