//! Products of bytes without instructions for them.

use super::{DotIsa, blocks};
use crate::flex::simd::{Isa, Portable, portable::I32x4};

/// Adds products of four bytes each.
#[inline(always)]
fn add_products(sum: I32x4, terms: [u32; 4], row: u32) -> I32x4 {
    let row = row.to_le_bytes().map(|byte| byte as i8);
    I32x4(std::array::from_fn(|lane| {
        let bytes = terms[lane].to_le_bytes();
        // Products of bytes have 16 bits.
        let product = |at: usize| i32::from(bytes[at]) * i32::from(row[at]);
        let products = (product(0) + product(1)) + (product(2) + product(3));
        sum.0[lane].wrapping_add(products)
    }))
}

impl DotIsa for Portable {
    type Terms = [u32; 4];

    const WORDS: usize = 1;
    const SIGNED_COLUMNS: bool = false;
    const BYTE_MR: usize = 4;
    const HAS_REGISTERS: bool = false;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> [u32; 4] {
        [from[0], from[1], from[2], from[3]]
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> [u32; 4] {
        const { assert!(Self::LANES == 4) };
        let [block] = blocks::<1>(from, step);
        std::array::from_fn(|lane| {
            let byte = |term: usize| block[usize::from(index[4 * lane + term] & 15)];
            u32::from_le_bytes(std::array::from_fn(byte))
        })
    }

    #[inline(always)]
    fn add_dot(self, sum: I32x4, terms: [u32; 4], row: &[u32]) -> I32x4 {
        add_products(sum, terms, row[0])
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: I32x4, codes: I32x4, row: u32) -> I32x4 {
        add_products(sum, codes.0.map(|word| word as u32), row)
    }
}
