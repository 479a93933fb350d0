//! AVX-512.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use bytemuck::bytes_of;

use super::memory::{load, operators, registers, with_features, write_first};
use super::sealed::Register;
use super::{Floats, Fused, Ints, Isa, LaneMask, WIDEST, first_lanes};

/// Stores the lanes of a mask, as many as elements of `to`, which are then initialized.
macro_rules! masked_store {
    ($store:ident, $to:ident, $mask:expr, $lanes:ident) => {{
        // SAFETY: the instruction writes an element for each lane of the mask, which are those of the slice;
        // a register exists only where the processor has the instruction.
        unsafe { $store($to.as_mut_ptr().cast(), $mask as u16, $lanes.0) };
        // SAFETY: the instruction has written all elements of the slice.
        unsafe { $to.assume_init_mut() }
    }};
}

/// The foundation of AVX-512.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Avx512(());

registers! {
    F32x16(__m512): [f32; 16];
    I32x16(__m512i): [i32; 16];
}

impl Avx512 {
    /// Returns `None` if the processor lacks the instructions.
    pub fn new() -> Option<Self> {
        // Code for `avx512f` uses the other three too, which a hypervisor can hide.
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        has_all.then_some(Self(()))
    }
}

impl Isa for Avx512 {
    type Floats = F32x16;
    type Ints = I32x16;
    type Scalar = Fused;

    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    const MR: usize = 14;
    const NAME: &str = "avx512";
    const HAS_TRANSPOSE: bool = true;

    #[inline(always)]
    fn call<R>(self, run: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx512f")]
        fn compiled<R>(run: impl FnOnce() -> R) -> R {
            run()
        }
        // SAFETY: the token exists only where the processor has the instructions.
        unsafe { compiled(run) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> F32x16 {
        F32x16(load::<_, _, 16>(from))
    }

    #[inline(always)]
    fn load_ints(self, from: &[i32]) -> I32x16 {
        I32x16(load::<_, _, 16>(from))
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> I32x16 {
        self.widened(load::<_, _, 16>(from))
    }

    #[inline(always)]
    unsafe fn load_masked(self, from: *const f32, mask: u32, other: F32x16) -> F32x16 {
        // SAFETY: the instruction reads the elements of the mask alone, which the caller promises; the token
        // proves that the processor has it.
        F32x16(unsafe { _mm512_mask_loadu_ps(other.0, mask as u16, from) })
    }

    with_features! { "avx512f":
        fn splat(_isa: Avx512, value: f32) -> F32x16 {
            F32x16(_mm512_set1_ps(value))
        }

        fn splat_int(_isa: Avx512, value: i32) -> I32x16 {
            I32x16(_mm512_set1_epi32(value))
        }

        fn transposed(_isa: Avx512, rows: [F32x16; WIDEST]) -> [F32x16; WIDEST] {
            transposed(rows)
        }
    }
}

impl Avx512 {
    with_features! { "avx512f":
        fn widened(_isa: Avx512, bytes: __m128i) -> I32x16 {
            I32x16(_mm512_cvtepu8_epi32(bytes))
        }
    }
}

/// Pairs of rows exchange odd and even lanes, then fours of rows pairs of lanes, then all rows blocks of four lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(rows: [F32x16; WIDEST]) -> [F32x16; WIDEST] {
    let mut pairs = rows;
    for at in (0..WIDEST).step_by(2) {
        pairs[at] = F32x16(_mm512_unpacklo_ps(rows[at].0, rows[at + 1].0));
        pairs[at + 1] = F32x16(_mm512_unpackhi_ps(rows[at].0, rows[at + 1].0));
    }
    // Register `4 * i + j` has lane `4 * k + j` of four rows in its block `k`.
    let mut fours = [_mm512_setzero_pd(); WIDEST];
    for at in (0..WIDEST).step_by(4) {
        // Closures over registers are not inlined for sure.
        let a = _mm512_castps_pd(pairs[at].0);
        let b = _mm512_castps_pd(pairs[at + 1].0);
        let c = _mm512_castps_pd(pairs[at + 2].0);
        let d = _mm512_castps_pd(pairs[at + 3].0);
        fours[at] = _mm512_unpacklo_pd(a, c);
        fours[at + 1] = _mm512_unpackhi_pd(a, c);
        fours[at + 2] = _mm512_unpacklo_pd(b, d);
        fours[at + 3] = _mm512_unpackhi_pd(b, d);
    }
    let mut columns = rows;
    for at in 0..4 {
        let a = _mm512_castpd_ps(fours[at]);
        let b = _mm512_castpd_ps(fours[at + 4]);
        let c = _mm512_castpd_ps(fours[at + 8]);
        let d = _mm512_castpd_ps(fours[at + 12]);
        let even = [_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0x88>(c, d)];
        let odd = [_mm512_shuffle_f32x4::<0xdd>(a, b), _mm512_shuffle_f32x4::<0xdd>(c, d)];
        columns[at] = F32x16(_mm512_shuffle_f32x4::<0x88>(even[0], even[1]));
        columns[at + 4] = F32x16(_mm512_shuffle_f32x4::<0x88>(odd[0], odd[1]));
        columns[at + 8] = F32x16(_mm512_shuffle_f32x4::<0xdd>(even[0], even[1]));
        columns[at + 12] = F32x16(_mm512_shuffle_f32x4::<0xdd>(odd[0], odd[1]));
    }
    columns
}

impl Floats for F32x16 {
    type Ints = I32x16;

    with_features! { "avx512f":
        fn mul_add(x: F32x16, factor: F32x16, addend: F32x16) -> F32x16 {
            F32x16(_mm512_fmadd_ps(x.0, factor.0, addend.0))
        }

        fn max(x: F32x16, other: F32x16) -> F32x16 {
            // The instruction returns its second operand where either is NaN.
            let unordered = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x.0, x.0);
            F32x16(_mm512_mask_mov_ps(_mm512_max_ps(x.0, other.0), unordered, x.0))
        }

        fn clamp(x: F32x16, low: F32x16, high: F32x16) -> F32x16 {
            // The instruction returns its second operand where either is NaN.
            F32x16(_mm512_min_ps(high.0, _mm512_max_ps(low.0, x.0)))
        }

        fn even_lanes(x: F32x16, high: F32x16) -> F32x16 {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            F32x16(_mm512_permutex2var_ps(x.0, even, high.0))
        }

        fn odd_lanes(x: F32x16, high: F32x16) -> F32x16 {
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            F32x16(_mm512_permutex2var_ps(x.0, odd, high.0))
        }

        fn interleaved(x: F32x16, other: F32x16) -> [F32x16; 2] {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            let (a, b) = (_mm512_permutex2var_ps(x.0, low, other.0), _mm512_permutex2var_ps(x.0, high, other.0));
            [F32x16(a), F32x16(b)]
        }

        fn compressed(x: F32x16, mask: LaneMask) -> F32x16 {
            F32x16(_mm512_maskz_compress_ps(mask.bits as u16, x.0))
        }

        fn expanded(x: F32x16, mask: LaneMask) -> F32x16 {
            F32x16(_mm512_maskz_expand_ps(mask.bits as u16, x.0))
        }

        fn rounded(x: F32x16, zero: F32x16, low: F32x16, high: F32x16) -> I32x16 {
            let value = _mm512_add_ps(_mm512_roundscale_ps::<0>(x.0), zero.0);
            // The instruction returns its second operand where either is NaN.
            let value = _mm512_min_ps(_mm512_max_ps(value, low.0), high.0);
            I32x16(_mm512_cvtps_epi32(value))
        }

        fn bits(x: F32x16) -> I32x16 {
            I32x16(_mm512_castps_si512(x.0))
        }
    }

    #[inline(always)]
    fn write(self, to: &mut [MaybeUninit<f32>]) -> &mut [f32] {
        if to.len() == 16 {
            return write_first(&self.lanes(), 16, to);
        }
        assert!(to.len() < 16, "more elements than the register has lanes");
        masked_store!(_mm512_mask_storeu_ps, to, first_lanes(to.len()), self)
    }
}

impl Ints for I32x16 {
    type Floats = F32x16;

    with_features! { "avx512f":
        fn floats(x: I32x16) -> F32x16 {
            F32x16(_mm512_cvtepi32_ps(x.0))
        }

        fn shifted_right(x: I32x16, places: usize) -> I32x16 {
            I32x16(_mm512_srl_epi32(x.0, _mm_cvtsi32_si128(places as i32)))
        }

        fn compressed(x: I32x16, mask: LaneMask) -> I32x16 {
            I32x16(_mm512_maskz_compress_epi32(mask.bits as u16, x.0))
        }
    }

    #[inline(always)]
    fn write_compressed(self, to: &mut [MaybeUninit<u8>], mask: LaneMask) -> &mut [u8] {
        assert!(to.len() == 4 * mask.count);
        if mask.count == 16 {
            return write_first(bytes_of(&self.lanes()), 64, to);
        }
        let lanes = if mask.is_first() { self } else { self.compressed(mask) };
        masked_store!(_mm512_mask_storeu_epi32, to, mask.first, lanes)
    }

    #[inline(always)]
    fn write_bytes(self, to: &mut [MaybeUninit<u8>], mask: LaneMask) -> &mut [u8] {
        assert!(to.len() == mask.count);
        if mask.count == 16 {
            return write_first(bytes_of(&self.bytes()), 16, to);
        }
        let lanes = if mask.is_first() { self } else { self.compressed(mask) };
        masked_store!(_mm512_mask_cvtepi32_storeu_epi8, to, mask.first, lanes)
    }
}

impl I32x16 {
    with_features! { "avx512f":
        /// The least significant byte of each lane.
        fn bytes(x: I32x16) -> __m128i {
            _mm512_cvtepi32_epi8(x.0)
        }
    }
}

operators! { "avx512f":
    F32x16 Add add _mm512_add_ps;
    F32x16 Sub sub _mm512_sub_ps;
    F32x16 Mul mul _mm512_mul_ps;
    F32x16 Div div _mm512_div_ps;
    I32x16 Add add _mm512_add_epi32;
    I32x16 Mul mul _mm512_mullo_epi32;
    I32x16 BitAnd bitand _mm512_and_si512;
}
