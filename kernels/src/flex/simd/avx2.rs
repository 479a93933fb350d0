//! AVX2 with FMA.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::memory::{compressed, first, load, operators, registers, with_features, write_first};
use super::sealed::Register;
use super::{Floats, Fused, Ints, Isa, LaneMask, first_lanes};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Avx2(());

registers! {
    F32x8(__m256): [f32; 8];
    I32x8(__m256i): [i32; 8];
}

impl Avx2 {
    /// Returns `None` if the processor lacks the instructions.
    pub fn new() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        has_all.then_some(Self(()))
    }
}

impl Isa for Avx2 {
    type Floats = F32x8;
    type Ints = I32x8;
    type Scalar = Fused;

    const LANES: usize = 8;
    const REGISTERS: usize = 16;
    const MR: usize = 6;
    const NAME: &str = "avx2";

    #[inline(always)]
    fn call<R>(self, run: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,fma")]
        fn compiled<R>(run: impl FnOnce() -> R) -> R {
            run()
        }
        // SAFETY: the token exists only where the processor has the instructions.
        unsafe { compiled(run) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> F32x8 {
        F32x8(load::<_, _, 8>(from))
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32]) -> I32x8 {
        I32x8(load::<_, _, 8>(from))
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> I32x8 {
        self.widened_bytes(u64::from_le_bytes(first(from)))
    }

    #[inline(always)]
    unsafe fn load_masked(self, from: *const f32, mask: u32, other: F32x8) -> F32x8 {
        if mask == 0xff {
            // SAFETY: the caller promises all 8 elements, and the token that the processor has the instruction.
            return F32x8(unsafe { _mm256_loadu_ps(from) });
        }
        let mask = self.wide_mask(mask);
        // SAFETY: the instruction reads the elements of the mask alone, which the caller promises; the token
        // proves that the processor has it.
        let values = unsafe { _mm256_maskload_ps(from, mask) };
        // SAFETY: the token proves that the processor has the instruction.
        let mask = unsafe { _mm256_castsi256_ps(mask) };
        // SAFETY: the token proves that the processor has the instruction.
        F32x8(unsafe { _mm256_blendv_ps(other.0, values, mask) })
    }

    with_features! { "avx2,fma":
        fn splat(_isa: Avx2, value: f32) -> F32x8 {
            F32x8(_mm256_set1_ps(value))
        }

        fn splat_int(_isa: Avx2, value: i32) -> I32x8 {
            I32x8(_mm256_set1_epi32(value))
        }
    }
}

impl Avx2 {
    with_features! { "avx2":
        fn widened_bytes(_isa: Avx2, bytes: u64) -> I32x8 {
            I32x8(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes as i64)))
        }

        /// All bits of the lanes of a mask.
        fn wide_mask(_isa: Avx2, mask: u32) -> __m256i {
            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let mask = _mm256_and_si256(_mm256_set1_epi32(mask as i32), bits);
            _mm256_cmpeq_epi32(mask, bits)
        }
    }
}

impl Floats for F32x8 {
    type Ints = I32x8;

    with_features! { "avx2,fma":
        fn mul_add(x: F32x8, factor: F32x8, addend: F32x8) -> F32x8 {
            F32x8(_mm256_fmadd_ps(x.0, factor.0, addend.0))
        }

        fn max(x: F32x8, other: F32x8) -> F32x8 {
            // The instruction returns its second operand where either is NaN.
            let unordered = _mm256_cmp_ps::<_CMP_UNORD_Q>(x.0, x.0);
            F32x8(_mm256_blendv_ps(_mm256_max_ps(x.0, other.0), x.0, unordered))
        }

        fn clamp(x: F32x8, low: F32x8, high: F32x8) -> F32x8 {
            // The instruction returns its second operand where either is NaN.
            F32x8(_mm256_min_ps(high.0, _mm256_max_ps(low.0, x.0)))
        }

        fn even_lanes(x: F32x8, high: F32x8) -> F32x8 {
            let mixed = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(x.0, high.0));
            F32x8(_mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(mixed)))
        }

        fn odd_lanes(x: F32x8, high: F32x8) -> F32x8 {
            let mixed = _mm256_castps_pd(_mm256_shuffle_ps::<0b11_01_11_01>(x.0, high.0));
            F32x8(_mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(mixed)))
        }

        fn interleaved(x: F32x8, other: F32x8) -> [F32x8; 2] {
            // Pairs of the lower and of the upper halves of each 128 bits.
            let low = _mm256_unpacklo_ps(x.0, other.0);
            let high = _mm256_unpackhi_ps(x.0, other.0);
            [
                F32x8(_mm256_permute2f128_ps::<0x20>(low, high)),
                F32x8(_mm256_permute2f128_ps::<0x31>(low, high)),
            ]
        }

        fn rounded(x: F32x8, zero: F32x8, low: F32x8, high: F32x8) -> I32x8 {
            const EVEN: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
            let value = _mm256_add_ps(_mm256_round_ps::<EVEN>(x.0), zero.0);
            // The instruction returns its second operand where either is NaN.
            let value = _mm256_min_ps(_mm256_max_ps(value, low.0), high.0);
            I32x8(_mm256_cvtps_epi32(value))
        }

        fn bits(x: F32x8) -> I32x8 {
            I32x8(_mm256_castps_si256(x.0))
        }
    }

    #[inline(always)]
    fn write(self, to: &mut [MaybeUninit<f32>]) -> &mut [f32] {
        if to.len() == 8 {
            return write_first(&self.lanes(), 8, to);
        }
        assert!(to.len() < 8, "more elements than the register has lanes");
        let mask = Avx2(()).wide_mask(first_lanes(to.len()));
        // SAFETY: the instruction writes the elements of the mask, which are those of the slice; a register
        // exists only where the processor has it.
        unsafe { _mm256_maskstore_ps(to.as_mut_ptr().cast(), mask, self.0) };
        // SAFETY: the instruction has written all elements of the slice.
        unsafe { to.assume_init_mut() }
    }
}

impl Ints for I32x8 {
    type Floats = F32x8;

    with_features! { "avx2":
        fn floats(x: I32x8) -> F32x8 {
            F32x8(_mm256_cvtepi32_ps(x.0))
        }

        fn shifted_right(x: I32x8, places: usize) -> I32x8 {
            I32x8(_mm256_srl_epi32(x.0, _mm_cvtsi32_si128(places as i32)))
        }
    }

    #[inline(always)]
    fn write_bytes(self, to: &mut [MaybeUninit<u8>], mask: LaneMask) -> &mut [u8] {
        assert!(to.len() == mask.count());
        let bytes = self.low_bytes().to_le_bytes();
        write_first(&if mask.is_first() { bytes } else { compressed(bytes, mask) }, 8, to)
    }
}

impl I32x8 {
    with_features! { "avx2":
        /// The least significant byte of each lane.
        fn low_bytes(x: I32x8) -> i64 {
            let first = _mm256_setr_epi8(
                0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, //
                0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
            );
            let halves = _mm256_shuffle_epi8(x.0, first);
            let (low, high) = (_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
            _mm_cvtsi128_si64(_mm_unpacklo_epi32(low, high))
        }
    }
}

operators! { "avx2":
    F32x8 Add add _mm256_add_ps;
    F32x8 Sub sub _mm256_sub_ps;
    F32x8 Mul mul _mm256_mul_ps;
    F32x8 Div div _mm256_div_ps;
    I32x8 Add add _mm256_add_epi32;
    I32x8 Mul mul _mm256_mullo_epi32;
    I32x8 BitAnd bitand _mm256_and_si256;
}
