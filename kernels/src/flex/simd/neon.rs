//! NEON.

use std::arch::aarch64::*;

use super::memory::{first, load, operators, registers, with_features};
use super::{Floats, Fused, Ints, Isa};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neon(());

registers! {
    F32x4(float32x4_t): [f32; 4];
    I32x4(int32x4_t): [i32; 4];
}

impl Neon {
    /// Returns `None` if the processor lacks the instructions.
    pub fn new() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

impl Isa for Neon {
    type Floats = F32x4;
    type Ints = I32x4;
    type Scalar = Fused;

    const LANES: usize = 4;
    const REGISTERS: usize = 32;
    const MR: usize = 12;
    const NAME: &str = "neon";

    #[inline(always)]
    fn call<R>(self, run: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "neon")]
        fn compiled<R>(run: impl FnOnce() -> R) -> R {
            run()
        }
        // SAFETY: the token exists only where the processor has the instructions.
        unsafe { compiled(run) }
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
        self.widened_bytes(u32::from_le_bytes(first(from)))
    }

    #[inline(always)]
    unsafe fn load_masked(self, from: *const f32, mask: u32, other: F32x4) -> F32x4 {
        if mask == 0xf {
            // SAFETY: the caller promises all 4 elements, and the token that the processor has the instruction.
            return F32x4(unsafe { vld1q_f32(from) });
        }
        let mut values = other.0;
        macro_rules! load_lane {
            ($lane:literal) => {
                if mask & (1 << $lane) != 0 {
                    // SAFETY: the caller promises the elements of the mask, and the token that the processor has the instruction.
                    values = unsafe { vld1q_lane_f32::<$lane>(from.wrapping_add($lane), values) };
                }
            };
        }
        load_lane!(0);
        load_lane!(1);
        load_lane!(2);
        load_lane!(3);
        F32x4(values)
    }

    /// Takes the elements of four rows out of one register: loads and copies of single ones are slower.
    #[inline(always)]
    fn add_products<const ROWS: usize, const REGISTERS: usize>(
        self,
        sums: &mut [[F32x4; REGISTERS]; ROWS],
        rows: &[f32; ROWS],
        columns: [F32x4; REGISTERS],
    ) {
        let (fours, rest) = rows.as_chunks::<4>();
        let (sums_of_fours, sums_of_rest) = sums.as_chunks_mut::<4>();
        for (sums, rows) in sums_of_fours.iter_mut().zip(fours) {
            let rows = self.load(rows);
            for (at, column) in columns.into_iter().enumerate() {
                sums[0][at] = column.mul_add_lane::<0>(rows, sums[0][at]);
                sums[1][at] = column.mul_add_lane::<1>(rows, sums[1][at]);
                sums[2][at] = column.mul_add_lane::<2>(rows, sums[2][at]);
                sums[3][at] = column.mul_add_lane::<3>(rows, sums[3][at]);
            }
        }
        for (sums, row) in sums_of_rest.iter_mut().zip(rest) {
            let value = self.splat(*row);
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = value.mul_add(column, *sum);
            }
        }
    }

    with_features! { "neon":
        fn splat(_isa: Neon, value: f32) -> F32x4 {
            F32x4(vdupq_n_f32(value))
        }

        fn splat_int(_isa: Neon, value: i32) -> I32x4 {
            I32x4(vdupq_n_s32(value))
        }
    }
}

impl Neon {
    with_features! { "neon":
        fn widened_bytes(_isa: Neon, bytes: u32) -> I32x4 {
            let bytes = vmovl_u8(vcreate_u8(u64::from(bytes)));
            I32x4(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(bytes))))
        }
    }
}

impl F32x4 {
    #[inline(always)]
    fn mul_add_lane<const LANE: i32>(self, rows: Self, addend: Self) -> Self {
        #[inline]
        #[target_feature(enable = "neon")]
        fn compiled<const LANE: i32>(x: F32x4, rows: F32x4, addend: F32x4) -> F32x4 {
            F32x4(vfmaq_laneq_f32::<LANE>(addend.0, x.0, rows.0))
        }
        // SAFETY: a register exists only where the processor has the instructions.
        unsafe { compiled::<LANE>(self, rows, addend) }
    }
}

impl Floats for F32x4 {
    type Ints = I32x4;

    with_features! { "neon":
        fn mul_add(x: F32x4, factor: F32x4, addend: F32x4) -> F32x4 {
            F32x4(vfmaq_f32(addend.0, x.0, factor.0))
        }

        fn max(x: F32x4, other: F32x4) -> F32x4 {
            F32x4(vmaxq_f32(x.0, other.0))
        }

        fn clamp(x: F32x4, low: F32x4, high: F32x4) -> F32x4 {
            let value = vbslq_f32(vcltq_f32(x.0, low.0), low.0, x.0);
            F32x4(vbslq_f32(vcgtq_f32(value, high.0), high.0, value))
        }

        fn even_lanes(x: F32x4, high: F32x4) -> F32x4 {
            F32x4(vuzp1q_f32(x.0, high.0))
        }

        fn odd_lanes(x: F32x4, high: F32x4) -> F32x4 {
            F32x4(vuzp2q_f32(x.0, high.0))
        }

        fn interleaved(x: F32x4, other: F32x4) -> [F32x4; 2] {
            [F32x4(vzip1q_f32(x.0, other.0)), F32x4(vzip2q_f32(x.0, other.0))]
        }

        fn rounded(x: F32x4, zero: F32x4, low: F32x4, high: F32x4) -> I32x4 {
            // The bounds pass where a number is NaN.
            let value = vmaxnmq_f32(vaddq_f32(vrndnq_f32(x.0), zero.0), low.0);
            I32x4(vcvtnq_s32_f32(vminnmq_f32(value, high.0)))
        }

        fn bits(x: F32x4) -> I32x4 {
            I32x4(vreinterpretq_s32_f32(x.0))
        }
    }
}

impl Ints for I32x4 {
    type Floats = F32x4;

    with_features! { "neon":
        fn floats(x: I32x4) -> F32x4 {
            F32x4(vcvtq_f32_s32(x.0))
        }

        fn shifted_right(x: I32x4, places: usize) -> I32x4 {
            let shift = vdupq_n_s32(-(places as i32));
            I32x4(vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(x.0), shift)))
        }
    }
}

operators! { "neon":
    F32x4 Add add vaddq_f32;
    F32x4 Sub sub vsubq_f32;
    F32x4 Mul mul vmulq_f32;
    F32x4 Div div vdivq_f32;
    I32x4 Add add vaddq_s32;
    I32x4 Mul mul vmulq_s32;
    I32x4 BitAnd bitand vandq_s32;
}
