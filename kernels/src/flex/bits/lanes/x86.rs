//! Registers of AVX-512 with VNNI, AVX-VNNI and AVX2.

use std::arch::x86_64::*;

use super::{Lanes, mask};

/// AVX-512; products of bytes by VNNI.
#[derive(Clone, Copy)]
pub struct Wide(__m512i);

/// AVX2.
#[derive(Clone, Copy)]
pub struct Narrow(__m256i);

/// AVX2 with products of bytes.
#[derive(Clone, Copy)]
pub struct NarrowVnni(__m256i);

macro_rules! narrow {
    ($name:ident { $($own:item)* }) => {
        impl Lanes for $name {
            const COUNT: usize = 8;
            type Float = __m256;
            type Table = __m256;

            $($own)*

            #[inline(always)]
            unsafe fn load(from: *const u32) -> Self {
                // SAFETY: the processor has the instructions, as for all methods, and the pointer is good for the lanes.
                Self(unsafe { _mm256_loadu_si256(from.cast()) })
            }

            #[inline(always)]
            unsafe fn splat(value: i32) -> Self {
                // SAFETY: as above.
                Self(unsafe { _mm256_set1_epi32(value) })
            }

            #[inline(always)]
            unsafe fn widened(from: *const u8) -> Self {
                // SAFETY: as above.
                Self(unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast())) })
            }

            #[inline(always)]
            unsafe fn part<const BITS: usize>(self, part: usize) -> Self {
                if BITS == 8 {
                    return self;
                }
                // SAFETY: as above.
                unsafe {
                    let shift = _mm_cvtsi32_si128((BITS * part) as i32);
                    let mask = _mm256_set1_epi32(mask(BITS) as i32);
                    Self(_mm256_and_si256(_mm256_srl_epi32(self.0, shift), mask))
                }
            }

            #[inline(always)]
            unsafe fn times<const BITS: usize>(self, factor: i32) -> Self {
                // SAFETY: as above; of pairs of products of 16 bits the second ones are those of 0.
                Self(unsafe { _mm256_madd_epi16(self.0, _mm256_set1_epi32(factor)) })
            }

            #[inline(always)]
            unsafe fn float(self) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_cvtepi32_ps(self.0) }
            }

            #[inline(always)]
            unsafe fn table(less: f32) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_set1_ps(less) }
            }

            #[inline(always)]
            unsafe fn value<const BITS: usize>(self, term: usize, less: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe {
                    let shift = _mm_cvtsi32_si128((BITS * term) as i32);
                    let mask = _mm256_set1_epi32((1 << BITS) - 1);
                    let code = _mm256_and_si256(_mm256_srl_epi32(self.0, shift), mask);
                    _mm256_sub_ps(_mm256_cvtepi32_ps(code), less)
                }
            }

            #[inline(always)]
            unsafe fn mul(a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_mul_ps(a, b) }
            }

            #[inline(always)]
            unsafe fn sub(a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_sub_ps(a, b) }
            }
        }
    };
}

narrow! { Narrow {
    #[inline(always)]
    unsafe fn dot<const BITS: usize>(self, codes: Self, row: *const u32) -> Self {
        // SAFETY: as below; the pointer is good for one number.
        unsafe {
            let row = _mm256_set1_epi32(row.cast::<i32>().read());
            let sum = if BITS < 8 {
                // Sums of two products have less than 16 bits.
                let pairs = _mm256_maddubs_epi16(codes.0, row);
                _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
            } else {
                let even = _mm256_and_si256(codes.0, _mm256_set1_epi16(0xff));
                let odd = _mm256_srli_epi16::<8>(codes.0);
                let even_row = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(row));
                let odd_row = _mm256_srai_epi16::<8>(row);
                _mm256_add_epi32(
                    _mm256_madd_epi16(even, even_row),
                    _mm256_madd_epi16(odd, odd_row),
                )
            };
            Self(_mm256_add_epi32(self.0, sum))
        }
    }
} }

narrow! { NarrowVnni {
    #[inline(always)]
    unsafe fn dot<const BITS: usize>(self, codes: Self, row: *const u32) -> Self {
        // SAFETY: as below; the pointer is good for one number.
        unsafe {
            let row = _mm256_set1_epi32(row.cast::<i32>().read());
            Self(_mm256_dpbusd_avx_epi32(self.0, codes.0, row))
        }
    }
} }

impl Lanes for Wide {
    const COUNT: usize = 16;
    type Float = __m512;
    /// Floats of the first 16 codes, and the number that is subtracted from others.
    type Table = [__m512; 2];

    #[inline(always)]
    unsafe fn load(from: *const u32) -> Self {
        // SAFETY: the processor has the instructions, as for all methods, and the pointer is good for the lanes.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn splat(value: i32) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_set1_epi32(value) })
    }

    #[inline(always)]
    unsafe fn widened(from: *const u8) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast())) })
    }

    #[inline(always)]
    unsafe fn part<const BITS: usize>(self, part: usize) -> Self {
        if BITS == 8 {
            return self;
        }
        // SAFETY: as above.
        unsafe {
            let shift = _mm_cvtsi32_si128((BITS * part) as i32);
            let mask = _mm512_set1_epi32(mask(BITS) as i32);
            Self(_mm512_and_si512(_mm512_srl_epi32(self.0, shift), mask))
        }
    }

    #[inline(always)]
    unsafe fn dot<const BITS: usize>(self, codes: Self, row: *const u32) -> Self {
        // SAFETY: as above; the pointer is good for one number.
        unsafe {
            let row = _mm512_set1_epi32(row.cast::<i32>().read());
            Self(_mm512_dpbusd_epi32(self.0, codes.0, row))
        }
    }

    #[inline(always)]
    unsafe fn times<const BITS: usize>(self, factor: i32) -> Self {
        // SAFETY: as above; of pairs of products of 16 bits the second ones are those of 0.
        Self(unsafe { _mm512_madd_epi16(self.0, _mm512_set1_epi32(factor)) })
    }

    #[inline(always)]
    unsafe fn float(self) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_cvtepi32_ps(self.0) }
    }

    #[inline(always)]
    unsafe fn table(less: f32) -> [__m512; 2] {
        const CODES: [f32; 16] = {
            let mut codes = [0.0; 16];
            let mut code = 1;
            while code < 16 {
                codes[code] = code as f32;
                code += 1;
            }
            codes
        };
        // SAFETY: as above.
        unsafe {
            let less = _mm512_set1_ps(less);
            [_mm512_sub_ps(_mm512_loadu_ps(CODES.as_ptr()), less), less]
        }
    }

    #[inline(always)]
    unsafe fn value<const BITS: usize>(self, term: usize, [codes, less]: [__m512; 2]) -> __m512 {
        // SAFETY: as above.
        unsafe {
            let shift = _mm_cvtsi32_si128((BITS * term) as i32);
            let shifted = _mm512_srl_epi32(self.0, shift);
            let mask = _mm512_set1_epi32((1 << BITS) - 1);
            match BITS {
                // What is above the lowest four bits is ignored.
                4 => _mm512_permutexvar_ps(shifted, codes),
                2 => _mm512_permutexvar_ps(_mm512_and_si512(shifted, mask), codes),
                _ => {
                    let code = _mm512_and_si512(shifted, mask);
                    _mm512_sub_ps(_mm512_cvtepi32_ps(code), less)
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_sub_ps(a, b) }
    }
}
