//! Registers of NEON, with and without products of bytes.

use std::arch::{aarch64::*, asm};
use std::mem::transmute;

use super::Lanes;

/// NEON with products of bytes, signed ones with signed ones.
#[derive(Clone, Copy)]
pub struct Sdot(int32x4_t);

/// NEON, with products of numbers of 16 bits.
#[derive(Clone, Copy)]
pub struct Neon(int32x4_t);

macro_rules! lanes {
    ($name:ident $words:literal $terms:ty { $($own:item)* }) => {
        impl Lanes for $name {
            const COUNT: usize = 4;
            const WORDS: usize = $words;
            type Terms = $terms;
            type Float = float32x4_t;

            $($own)*

            #[inline(always)]
            unsafe fn splat(value: i32) -> Self {
                // SAFETY: the processor has the instructions, as for all methods.
                Self(unsafe { vdupq_n_s32(value) })
            }

            #[inline(always)]
            unsafe fn load(from: *const i32) -> Self {
                // SAFETY: as above, and the pointer is good for the lanes.
                Self(unsafe { vld1q_s32(from) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut i32) {
                // SAFETY: as above.
                unsafe { vst1q_s32(to, self.0) };
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { vaddq_s32(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { vmulq_s32(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn splat_float(value: f32) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vdupq_n_f32(value) }
            }

            #[inline(always)]
            unsafe fn load_float(from: *const f32) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vld1q_f32(from) }
            }

            #[inline(always)]
            unsafe fn scaled(self, factor: float32x4_t) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vmulq_f32(vcvtq_f32_s32(self.0), factor) }
            }

            #[inline(always)]
            unsafe fn add_float(a: float32x4_t, b: float32x4_t) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vaddq_f32(a, b) }
            }

            #[inline(always)]
            unsafe fn rounded(
                x: float32x4_t,
                zero: float32x4_t,
                low: float32x4_t,
                high: float32x4_t,
            ) -> Self {
                // SAFETY: as above.
                unsafe {
                    // The bounds pass where a number is NaN.
                    let value = vmaxnmq_f32(vaddq_f32(vrndnq_f32(x), zero), low);
                    Self(vcvtnq_s32_f32(vminnmq_f32(value, high)))
                }
            }

            #[inline(always)]
            unsafe fn bits(x: float32x4_t) -> Self {
                // SAFETY: as above.
                Self(unsafe { vreinterpretq_s32_f32(x) })
            }

            #[inline(always)]
            unsafe fn gather(self, to: *mut u32, mask: u32) {
                // SAFETY: as above; there is room for each lane of the mask.
                unsafe {
                    if mask == 15 {
                        return vst1q_s32(to.cast(), self.0);
                    }
                    some::<i32>(to.cast(), mask, transmute(self.0));
                }
            }

            #[inline(always)]
            unsafe fn gather_bytes(self, to: *mut u8, mask: u32) {
                // SAFETY: as above.
                unsafe {
                    let words = vmovn_s32(self.0);
                    let bytes = vmovn_s16(vcombine_s16(words, words));
                    let bytes = vget_lane_s32::<0>(vreinterpret_s32_s8(bytes)).to_le_bytes();
                    if mask == 15 {
                        to.cast::<[u8; 4]>().write(bytes);
                    } else {
                        some(to, mask, bytes);
                    }
                }
            }
        }
    };
}

/// Writes the lanes of a mask one after another.
///
/// # Safety
///
/// There is room for each lane of the mask.
#[inline(always)]
unsafe fn some<T: Copy>(to: *mut T, mask: u32, lanes: [T; 4]) {
    let mut to = to;
    for (at, lane) in lanes.into_iter().enumerate() {
        if mask & (1 << at) != 0 {
            // SAFETY: what the caller says.
            unsafe {
                to.write_unaligned(lane);
                to = to.add(1);
            }
        }
    }
}

/// Adds the products of four bytes of each lane with those of a lane of `$row`.
macro_rules! sdot {
    ($sum:expr, $terms:expr, $row:expr, $lane:literal) => {
        asm!(
            concat!("sdot {sum:v}.4s, {terms:v}.16b, {row:v}.4b[", $lane, "]"),
            sum = inout(vreg) $sum,
            terms = in(vreg) $terms,
            row = in(vreg) $row,
            options(pure, nomem, nostack, preserves_flags)
        )
    };
}

lanes! { Sdot 1 int8x16_t {
    #[inline(always)]
    unsafe fn terms(from: *const u32) -> int8x16_t {
        // SAFETY: as below.
        unsafe { vld1q_s8(from.cast()) }
    }

    #[inline(always)]
    unsafe fn windows(from: *const u8, _: usize, index: &[u8; 16]) -> int8x16_t {
        // SAFETY: as below; the pointers are good for sixteen bytes.
        unsafe { vqtbl1q_s8(vld1q_s8(from.cast()), vld1q_u8(index.as_ptr())) }
    }

    #[inline(always)]
    unsafe fn plus(mut self, terms: int8x16_t, row: *const u32) -> Self {
        // SAFETY: as below; the pointer is good for one number.
        unsafe {
            let row = vsetq_lane_u32::<0>(row.read(), vdupq_n_u32(0));
            sdot!(self.0, terms, row, 0);
        }
        self
    }

    /// Takes the terms of four rows out of a register.
    #[inline(always)]
    unsafe fn add_products<const G: usize, const V: usize>(
        sums: &mut [[Self; V]; G],
        rows: *const u32,
        columns: [int8x16_t; V],
    ) {
        // SAFETY: as below; there are terms of each row.
        unsafe {
            let mut row = 0;
            while row + 4 <= G {
                let four = vld1q_u32(rows.add(row));
                for (at, column) in columns.into_iter().enumerate() {
                    sdot!(sums[row][at].0, column, four, 0);
                    sdot!(sums[row + 1][at].0, column, four, 1);
                    sdot!(sums[row + 2][at].0, column, four, 2);
                    sdot!(sums[row + 3][at].0, column, four, 3);
                }
                row += 4;
            }
            while row < G {
                for (at, column) in columns.into_iter().enumerate() {
                    sums[row][at] = sums[row][at].plus(column, rows.add(row));
                }
                row += 1;
            }
        }
    }
} }

/// The first terms of four columns, then the third ones, as [`Dot::write`](crate::flex::integer::Dot::write) has them, then
/// the others.
const ORDER: [u8; 16] = [0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15];

/// The bytes of these places in numbers of 16 bits.
///
/// # Safety
///
/// The processor has NEON.
#[inline(always)]
unsafe fn wide(bytes: int8x16_t, places: uint8x16_t) -> [int16x8_t; 2] {
    // SAFETY: what the caller says.
    unsafe {
        let bytes = vqtbl1q_s8(bytes, places);
        [vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)]
    }
}

lanes! { Neon 2 [int16x8_t; 2] {
    #[inline(always)]
    unsafe fn terms(from: *const u32) -> [int16x8_t; 2] {
        // SAFETY: as below.
        unsafe { wide(vld1q_s8(from.cast()), vld1q_u8(ORDER.as_ptr())) }
    }

    #[inline(always)]
    unsafe fn windows(from: *const u8, _: usize, index: &[u8; 16]) -> [int16x8_t; 2] {
        // SAFETY: as below; the pointers are good for sixteen bytes.
        unsafe {
            let places = vqtbl1q_u8(vld1q_u8(index.as_ptr()), vld1q_u8(ORDER.as_ptr()));
            wide(vld1q_s8(from.cast()), places)
        }
    }

    #[inline(always)]
    unsafe fn plus(self, terms: [int16x8_t; 2], row: *const u32) -> Self {
        // SAFETY: as below; a row has two words.
        unsafe {
            let row = vld1_s16(row.cast());
            let sum = vmlal_lane_s16::<0>(self.0, vget_low_s16(terms[0]), row);
            let sum = vmlal_high_lane_s16::<1>(sum, terms[0], row);
            let sum = vmlal_lane_s16::<2>(sum, vget_low_s16(terms[1]), row);
            Self(vmlal_high_lane_s16::<3>(sum, terms[1], row))
        }
    }
} }
