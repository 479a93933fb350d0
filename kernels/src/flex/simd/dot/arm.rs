//! NEON, with and without products of bytes.

use std::arch::{aarch64::*, asm};

use super::{DotIsa, blocks};
use crate::flex::simd::memory::{extended, load, with_features};
use crate::flex::simd::{Neon, neon::I32x4};

extended! {
    /// NEON with products of signed bytes.
    NeonDot, Neon, "neon,dotprod", std::arch::is_aarch64_feature_detected!("dotprod")
}

impl NeonDot {
    /// The instruction set whose registers it uses.
    #[inline(always)]
    pub fn base(self) -> Neon {
        self.0
    }
}

/// Adds the products of four bytes of each lane with those of a lane of `row`.
///
/// # Safety
///
/// The processor has the products.
#[inline(always)]
unsafe fn sdot<const LANE: usize>(sum: I32x4, terms: int8x16_t, row: uint32x4_t) -> I32x4 {
    let mut sum = sum.0;
    macro_rules! sdot {
        ($lane:literal) => {
            // SAFETY: the caller promises the instruction, which changes no memory.
            unsafe {
                asm!(
                    concat!("sdot {sum:v}.4s, {terms:v}.16b, {row:v}.4b[", $lane, "]"),
                    sum = inout(vreg) sum,
                    terms = in(vreg) terms,
                    row = in(vreg) row,
                    options(pure, nomem, nostack, preserves_flags)
                )
            }
        };
    }
    match LANE {
        0 => sdot!(0),
        1 => sdot!(1),
        2 => sdot!(2),
        _ => sdot!(3),
    }
    I32x4(sum)
}

impl NeonDot {
    /// Adds the products with the four bytes of a lane of `row`.
    #[inline(always)]
    fn add_lane<const LANE: usize>(self, sum: I32x4, terms: int8x16_t, row: uint32x4_t) -> I32x4 {
        // SAFETY: the token exists only where the processor has the products.
        unsafe { sdot::<LANE>(sum, terms, row) }
    }
}

impl DotIsa for NeonDot {
    type Terms = int8x16_t;

    const WORDS: usize = 1;
    const SIGNED_COLUMNS: bool = true;
    const BYTE_MR: usize = 12;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> int8x16_t {
        load::<_, _, 4>(from)
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> int8x16_t {
        let [block] = blocks::<1>(from, step);
        self.base().looked_up(load::<_, _, 16>(&block), load::<_, _, 16>(index))
    }

    #[inline(always)]
    fn add_dot(self, sum: I32x4, terms: int8x16_t, row: &[u32]) -> I32x4 {
        self.add_lane::<0>(sum, terms, load::<_, _, 4>(&[row[0], 0, 0, 0]))
    }

    /// Takes the terms of four rows out of one register.
    #[inline(always)]
    fn add_dots<const ROWS: usize, const REGISTERS: usize>(
        self,
        sums: &mut [[I32x4; REGISTERS]; ROWS],
        rows: &[u32],
        columns: [int8x16_t; REGISTERS],
    ) {
        let (fours, rest) = rows[..ROWS].as_chunks::<4>();
        let (sums_of_fours, sums_of_rest) = sums.as_chunks_mut::<4>();
        for (sums, rows) in sums_of_fours.iter_mut().zip(fours) {
            let rows = load::<_, _, 4>(rows);
            for (at, column) in columns.into_iter().enumerate() {
                sums[0][at] = self.add_lane::<0>(sums[0][at], column, rows);
                sums[1][at] = self.add_lane::<1>(sums[1][at], column, rows);
                sums[2][at] = self.add_lane::<2>(sums[2][at], column, rows);
                sums[3][at] = self.add_lane::<3>(sums[3][at], column, rows);
            }
        }
        for (sums, row) in sums_of_rest.iter_mut().zip(rest) {
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = self.add_dot(*sum, column, &[*row]);
            }
        }
    }

    #[inline(always)]
    fn code_offset(bits: usize) -> i32 {
        code_offset(bits)
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: I32x4, codes: I32x4, row: u32) -> I32x4 {
        let codes = self.base().signed_codes::<BITS>(codes);
        self.add_lane::<0>(sum, codes, load::<_, _, 4>(&[row, 0, 0, 0]))
    }
}

/// Codes of 8 bits are signed bytes, 128 less.
#[inline(always)]
fn code_offset(bits: usize) -> i32 {
    if bits < 8 { 0 } else { 128 }
}

/// The first terms of four columns, then the third ones, as
/// [`DotInstructions::write_row`](super::DotInstructions::write_row) has them, then the others.
const ORDER: [u8; 16] = [0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15];

impl Neon {
    with_features! { "neon":
        fn looked_up(_isa: Neon, bytes: int8x16_t, places: uint8x16_t) -> int8x16_t {
            vqtbl1q_s8(bytes, places)
        }

        fn order(_isa: Neon, places: uint8x16_t, order: uint8x16_t) -> uint8x16_t {
            vqtbl1q_u8(places, order)
        }

        /// Bytes in the order of some indices, as integers of 16 bits.
        fn widened(_isa: Neon, bytes: int8x16_t, places: uint8x16_t) -> [int16x8_t; 2] {
            let bytes = vqtbl1q_s8(bytes, places);
            [vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)]
        }

        fn add_products(_isa: Neon, sum: I32x4, terms: [int16x8_t; 2], row: int16x4_t) -> I32x4 {
            let sum = vmlal_lane_s16::<0>(sum.0, vget_low_s16(terms[0]), row);
            let sum = vmlal_high_lane_s16::<1>(sum, terms[0], row);
            let sum = vmlal_lane_s16::<2>(sum, vget_low_s16(terms[1]), row);
            I32x4(vmlal_high_lane_s16::<3>(sum, terms[1], row))
        }

        fn signed_codes[const BITS](_isa: Neon, codes: I32x4) -> int8x16_t {
            if BITS < 8 {
                vreinterpretq_s8_s32(codes.0)
            } else {
                vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_s32(codes.0), vdupq_n_u8(128)))
            }
        }

        /// Products of signed codes with bytes above -128: sums of two have less than 16 bits.
        fn add_code_products(_isa: Neon, sum: I32x4, codes: int8x16_t, row: u32) -> I32x4 {
            let row = vreinterpretq_s8_u32(vdupq_n_u32(row));
            let low = vmull_s8(vget_low_s8(codes), vget_low_s8(row));
            let pairs = vpaddq_s16(low, vmull_high_s8(codes, row));
            I32x4(vpadalq_s16(sum.0, pairs))
        }
    }
}

impl DotIsa for Neon {
    type Terms = [int16x8_t; 2];

    const WORDS: usize = 2;
    const SIGNED_COLUMNS: bool = true;
    const BYTE_MR: usize = 8;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> [int16x8_t; 2] {
        self.widened(load::<_, _, 4>(from), load::<_, _, 16>(&ORDER))
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> [int16x8_t; 2] {
        let [block] = blocks::<1>(from, step);
        let places = self.order(load::<_, _, 16>(index), load::<_, _, 16>(&ORDER));
        self.widened(load::<_, _, 16>(&block), places)
    }

    #[inline(always)]
    fn add_dot(self, sum: I32x4, terms: [int16x8_t; 2], row: &[u32]) -> I32x4 {
        self.add_products(sum, terms, load::<_, _, 2>(row))
    }

    #[inline(always)]
    fn code_offset(bits: usize) -> i32 {
        code_offset(bits)
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: I32x4, codes: I32x4, row: u32) -> I32x4 {
        let codes = self.signed_codes::<BITS>(codes);
        self.add_code_products(sum, codes, row)
    }
}
