//! Registers of AVX-512 with VNNI, AVX-VNNI and AVX2.

use std::arch::x86_64::*;

use super::Lanes;

/// AVX-512 with its products of bytes.
#[derive(Clone, Copy)]
pub struct Vnni(__m512i);

/// AVX2 with products of bytes.
#[derive(Clone, Copy)]
pub struct VnniNarrow(__m256i);

/// AVX2, with products of numbers of 16 bits: those of bytes saturate.
#[derive(Clone, Copy)]
pub struct Madd(__m256i);

macro_rules! narrow {
    ($name:ident $words:literal $terms:ty { $($own:item)* }) => {
        impl Lanes for $name {
            const COUNT: usize = 8;
            const WORDS: usize = $words;
            type Terms = $terms;
            type Float = __m256;

            $($own)*

            #[inline(always)]
            unsafe fn splat(value: i32) -> Self {
                // SAFETY: the processor has the instructions, as for all methods.
                Self(unsafe { _mm256_set1_epi32(value) })
            }

            #[inline(always)]
            unsafe fn load(from: *const i32) -> Self {
                // SAFETY: as above, and the pointer is good for the lanes.
                Self(unsafe { _mm256_loadu_si256(from.cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut i32) {
                // SAFETY: as above.
                unsafe { _mm256_storeu_si256(to.cast(), self.0) };
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { _mm256_add_epi32(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { _mm256_mullo_epi32(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn splat_float(value: f32) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_set1_ps(value) }
            }

            #[inline(always)]
            unsafe fn load_float(from: *const f32) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_loadu_ps(from) }
            }

            #[inline(always)]
            unsafe fn scaled(self, factor: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_mul_ps(_mm256_cvtepi32_ps(self.0), factor) }
            }

            #[inline(always)]
            unsafe fn add_float(a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_add_ps(a, b) }
            }

            #[inline(always)]
            unsafe fn rounded(x: __m256, zero: __m256, low: __m256, high: __m256) -> Self {
                const EVEN: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
                // SAFETY: as above.
                unsafe {
                    let value = _mm256_add_ps(_mm256_round_ps::<EVEN>(x), zero);
                    // The second operand passes where one is NaN.
                    let value = _mm256_min_ps(_mm256_max_ps(value, low), high);
                    Self(_mm256_cvtps_epi32(value))
                }
            }

            #[inline(always)]
            unsafe fn bits(x: __m256) -> Self {
                // SAFETY: as above.
                Self(unsafe { _mm256_castps_si256(x) })
            }
        }
    };
}

/// The bytes of an index from two places.
#[inline(always)]
unsafe fn narrow_windows(from: *const u8, step: usize, index: &[u8; 16]) -> __m256i {
    // SAFETY: the processor has the instructions, and the pointers are good for sixteen bytes.
    unsafe {
        let low = _mm_loadu_si128(from.cast());
        let high = _mm_loadu_si128(from.add(step).cast());
        let places = _mm_loadu_si128(index.as_ptr().cast());
        _mm256_shuffle_epi8(
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high),
            _mm256_broadcastsi128_si256(places),
        )
    }
}

narrow! { VnniNarrow 1 __m256i {
    #[inline(always)]
    unsafe fn windows(from: *const u8, step: usize, index: &[u8; 16]) -> __m256i {
        // SAFETY: as below.
        unsafe { narrow_windows(from, step, index) }
    }

    #[inline(always)]
    unsafe fn terms(from: *const u32) -> __m256i {
        // SAFETY: as below.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn plus(self, terms: __m256i, row: *const u32) -> Self {
        // SAFETY: as below.
        unsafe {
            let row = _mm256_set1_epi32(row.cast::<i32>().read());
            Self(_mm256_dpbusd_avx_epi32(self.0, terms, row))
        }
    }
} }

/// Bytes as numbers of 16 bits: the first and the third of each four, then the others.
#[inline(always)]
unsafe fn apart(bytes: __m256i) -> [__m256i; 2] {
    // SAFETY: the processor has the instructions.
    unsafe {
        let even = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
        [even, _mm256_srli_epi16::<8>(bytes)]
    }
}

narrow! { Madd 2 [__m256i; 2] {
    #[inline(always)]
    unsafe fn terms(from: *const u32) -> [__m256i; 2] {
        // SAFETY: as below.
        unsafe { apart(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn windows(from: *const u8, step: usize, index: &[u8; 16]) -> [__m256i; 2] {
        // SAFETY: as below.
        unsafe { apart(narrow_windows(from, step, index)) }
    }

    #[inline(always)]
    unsafe fn plus(self, terms: [__m256i; 2], row: *const u32) -> Self {
        // SAFETY: as below; a row has two words.
        unsafe {
            let even = _mm256_set1_epi32(row.cast::<i32>().read());
            let odd = _mm256_set1_epi32(row.add(1).cast::<i32>().read());
            let sum = _mm256_add_epi32(
                _mm256_madd_epi16(terms[0], even),
                _mm256_madd_epi16(terms[1], odd),
            );
            Self(_mm256_add_epi32(self.0, sum))
        }
    }
} }

impl Lanes for Vnni {
    const COUNT: usize = 16;
    const WORDS: usize = 1;
    type Terms = __m512i;
    type Float = __m512;

    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        // SAFETY: the processor has the instructions, as for all methods.
        Self(unsafe { _mm512_set1_epi32(value) })
    }

    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        // SAFETY: as above, and the pointer is good for the lanes.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) };
    }

    #[inline(always)]
    unsafe fn terms(from: *const u32) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn windows(from: *const u8, step: usize, index: &[u8; 16]) -> __m512i {
        // SAFETY: as above; the pointers are good for sixteen bytes.
        unsafe {
            let part = |at: usize| _mm_loadu_si128(from.add(at * step).cast());
            let bytes = _mm512_castsi128_si512(part(0));
            let bytes = _mm512_inserti32x4::<1>(bytes, part(1));
            let bytes = _mm512_inserti32x4::<2>(bytes, part(2));
            let bytes = _mm512_inserti32x4::<3>(bytes, part(3));
            let places = _mm_loadu_si128(index.as_ptr().cast());
            _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(places))
        }
    }

    #[inline(always)]
    unsafe fn plus(self, terms: __m512i, row: *const u32) -> Self {
        // SAFETY: as above.
        unsafe {
            let row = _mm512_set1_epi32(row.cast::<i32>().read());
            Self(_mm512_dpbusd_epi32(self.0, terms, row))
        }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_mullo_epi32(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn splat_float(value: f32) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load_float(from: *const f32) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn scaled(self, factor: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_mul_ps(_mm512_cvtepi32_ps(self.0), factor) }
    }

    #[inline(always)]
    unsafe fn add_float(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn rounded(x: __m512, zero: __m512, low: __m512, high: __m512) -> Self {
        // SAFETY: as above.
        unsafe {
            let value = _mm512_add_ps(_mm512_roundscale_ps::<0>(x), zero);
            // The second operand passes where one is NaN.
            let value = _mm512_min_ps(_mm512_max_ps(value, low), high);
            Self(_mm512_cvtps_epi32(value))
        }
    }

    #[inline(always)]
    unsafe fn bits(x: __m512) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_castps_si512(x) })
    }

    #[inline(always)]
    unsafe fn gather(self, to: *mut u32, mask: u32) {
        let few = (1u32 << mask.count_ones()) - 1;
        // SAFETY: as above; a masked store writes as many numbers as there are lanes.
        unsafe {
            let values = _mm512_maskz_compress_epi32(mask as u16, self.0);
            _mm512_mask_storeu_epi32(to.cast(), few as u16, values);
        }
    }

    #[inline(always)]
    unsafe fn gather_bytes(self, to: *mut u8, mask: u32) {
        // SAFETY: as above.
        unsafe {
            if mask == 0xffff {
                return _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(self.0));
            }
            let few = (1u32 << mask.count_ones()) - 1;
            let values = _mm512_maskz_compress_epi32(mask as u16, self.0);
            _mm512_mask_cvtepi32_storeu_epi8(to.cast(), few as u16, values);
        }
    }
}
