//! Registers of NEON, with and without products of bytes.

use std::arch::{aarch64::*, asm};

use super::{Lanes, mask};

/// NEON.
#[derive(Clone, Copy)]
pub struct Neon(uint32x4_t);

/// NEON with products of bytes.
#[derive(Clone, Copy)]
pub struct NeonDot(uint32x4_t);

/// Codes as signed bytes.
///
/// # Safety
///
/// The processor has NEON.
#[inline(always)]
unsafe fn signed<const BITS: usize>(codes: uint32x4_t) -> int8x16_t {
    // SAFETY: what the caller says.
    unsafe {
        if BITS < 8 {
            vreinterpretq_s8_u32(codes)
        } else {
            vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_u32(codes), vdupq_n_u8(128)))
        }
    }
}

macro_rules! lanes {
    ($name:ident { $($own:item)* }) => {
        impl Lanes for $name {
            const COUNT: usize = 4;
            type Float = float32x4_t;
            type Table = float32x4_t;

            $($own)*

            #[inline(always)]
            fn less(bits: usize) -> i32 {
                if bits < 8 { 0 } else { 128 }
            }

            #[inline(always)]
            unsafe fn load(from: *const u32) -> Self {
                // SAFETY: the processor has the instructions, as for all methods, and the pointer is good for the lanes.
                Self(unsafe { vld1q_u32(from) })
            }

            #[inline(always)]
            unsafe fn splat(value: i32) -> Self {
                // SAFETY: as above.
                Self(unsafe { vdupq_n_u32(value as u32) })
            }

            #[inline(always)]
            unsafe fn widened(from: *const u8) -> Self {
                // SAFETY: as above.
                unsafe {
                    let bytes = vcreate_u8(u64::from(from.cast::<u32>().read_unaligned()));
                    Self(vmovl_u16(vget_low_u16(vmovl_u8(bytes))))
                }
            }

            #[inline(always)]
            unsafe fn part<const BITS: usize>(self, part: usize) -> Self {
                if BITS == 8 {
                    return self;
                }
                // SAFETY: as above.
                unsafe {
                    let shift = vdupq_n_s32(-((BITS * part) as i32));
                    Self(vandq_u32(vshlq_u32(self.0, shift), vdupq_n_u32(mask(BITS))))
                }
            }

            #[inline(always)]
            unsafe fn times<const BITS: usize>(self, factor: i32) -> Self {
                // SAFETY: as above.
                unsafe {
                    let codes = vsubq_u32(self.0, vdupq_n_u32(Self::less(BITS) as u32));
                    Self(vmulq_n_u32(codes, factor as u32))
                }
            }

            #[inline(always)]
            unsafe fn float(self) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vcvtq_f32_s32(vreinterpretq_s32_u32(self.0)) }
            }

            #[inline(always)]
            unsafe fn table(less: f32) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vdupq_n_f32(less) }
            }

            #[inline(always)]
            unsafe fn value<const BITS: usize>(self, term: usize, less: float32x4_t) -> float32x4_t {
                // SAFETY: as above.
                unsafe {
                    let shift = vdupq_n_s32(-((BITS * term) as i32));
                    let code = vandq_u32(vshlq_u32(self.0, shift), vdupq_n_u32((1 << BITS) - 1));
                    vsubq_f32(vcvtq_f32_u32(code), less)
                }
            }

            #[inline(always)]
            unsafe fn mul(a: float32x4_t, b: float32x4_t) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vmulq_f32(a, b) }
            }

            #[inline(always)]
            unsafe fn sub(a: float32x4_t, b: float32x4_t) -> float32x4_t {
                // SAFETY: as above.
                unsafe { vsubq_f32(a, b) }
            }
        }
    };
}

lanes! { Neon {
    #[inline(always)]
    unsafe fn dot<const BITS: usize>(self, codes: Self, row: *const u32) -> Self {
        // SAFETY: as below; the pointer is good for one number.
        unsafe {
            let codes = signed::<BITS>(codes.0);
            let row = vreinterpretq_s8_u32(vld1q_dup_u32(row));
            let low = vmull_s8(vget_low_s8(codes), vget_low_s8(row));
            // Sums of two products with numbers above -128 have less than 16 bits.
            let pairs = vpaddq_s16(low, vmull_high_s8(codes, row));
            Self(vreinterpretq_u32_s32(vpadalq_s16(vreinterpretq_s32_u32(self.0), pairs)))
        }
    }
} }

lanes! { NeonDot {
    #[inline(always)]
    unsafe fn dot<const BITS: usize>(mut self, codes: Self, row: *const u32) -> Self {
        // SAFETY: as below; the pointer is good for one number.
        unsafe {
            let row = vsetq_lane_u32::<0>(row.read(), vdupq_n_u32(0));
            asm!(
                "sdot {sum:v}.4s, {codes:v}.16b, {row:v}.4b[0]",
                sum = inout(vreg) self.0,
                codes = in(vreg) signed::<BITS>(codes.0),
                row = in(vreg) row,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        self
    }
} }
