//! VNNI of AVX-512, AVX-VNNI, and AVX2.

use std::arch::x86_64::*;

use super::{DotIsa, blocks};
use crate::flex::simd::memory::{extended, load, with_features};
use crate::flex::simd::{Avx2, Avx512, avx2::I32x8, avx512::I32x16};

extended! {
    /// AVX-512 with products of bytes.
    Avx512Vnni, Avx512, "avx512f,avx512bw,avx512vnni", is_x86_feature_detected!("avx512bw"), is_x86_feature_detected!("avx512vnni")
}

extended! {
    /// AVX2 with products of bytes.
    AvxVnni, Avx2, "avx2,fma,avxvnni", is_x86_feature_detected!("avxvnni")
}

impl Avx512Vnni {
    /// The instruction set whose registers it uses.
    #[inline(always)]
    pub fn base(self) -> Avx512 {
        self.0
    }
}

impl AvxVnni {
    /// The instruction set whose registers it uses.
    #[inline(always)]
    pub fn base(self) -> Avx2 {
        self.0
    }
}

impl DotIsa for Avx512Vnni {
    type Terms = __m512i;

    const WORDS: usize = 1;
    const SIGNED_COLUMNS: bool = false;
    const BYTE_MR: usize = 14;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> __m512i {
        load::<_, _, 16>(from)
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> __m512i {
        let blocks: __m512i = load::<_, _, 64>(blocks::<4>(from, step).as_flattened());
        self.shuffled(blocks, load::<_, _, 16>(index))
    }

    #[inline(always)]
    fn add_dot(self, sum: I32x16, terms: __m512i, row: &[u32]) -> I32x16 {
        self.add_products(sum, terms, row[0])
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: I32x16, codes: I32x16, row: u32) -> I32x16 {
        self.add_products(sum, codes.0, row)
    }
}

impl Avx512Vnni {
    with_features! { "avx512f,avx512bw,avx512vnni":
        fn add_products(_isa: Avx512Vnni, sum: I32x16, terms: __m512i, row: u32) -> I32x16 {
            I32x16(_mm512_dpbusd_epi32(sum.0, terms, _mm512_set1_epi32(row as i32)))
        }

        fn shuffled(_isa: Avx512Vnni, blocks: __m512i, index: __m128i) -> __m512i {
            _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(index))
        }
    }
}

impl Avx2 {
    with_features! { "avx2":
        fn shuffled(_isa: Avx2, blocks: __m256i, index: __m128i) -> __m256i {
            _mm256_shuffle_epi8(blocks, _mm256_broadcastsi128_si256(index))
        }

        /// Bytes as integers of 16 bits: the first and the third of each four, then the others.
        fn widened(_isa: Avx2, bytes: __m256i) -> [__m256i; 2] {
            let even = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
            [even, _mm256_srli_epi16::<8>(bytes)]
        }

        fn add_products(_isa: Avx2, sum: I32x8, terms: [__m256i; 2], even: u32, odd: u32) -> I32x8 {
            let even = _mm256_madd_epi16(terms[0], _mm256_set1_epi32(even as i32));
            let odd = _mm256_madd_epi16(terms[1], _mm256_set1_epi32(odd as i32));
            I32x8(_mm256_add_epi32(sum.0, _mm256_add_epi32(even, odd)))
        }

        /// Products of codes of less than 8 bits: sums of two have less than 16 bits.
        fn add_code_products(_isa: Avx2, sum: I32x8, codes: I32x8, row: u32) -> I32x8 {
            let pairs = _mm256_maddubs_epi16(codes.0, _mm256_set1_epi32(row as i32));
            let products = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
            I32x8(_mm256_add_epi32(sum.0, products))
        }

        /// Products of codes of 8 bits.
        fn add_byte_products(_isa: Avx2, sum: I32x8, codes: I32x8, row: u32) -> I32x8 {
            let row = _mm256_set1_epi32(row as i32);
            let even = _mm256_and_si256(codes.0, _mm256_set1_epi16(0xff));
            let odd = _mm256_srli_epi16::<8>(codes.0);
            let even_row = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(row));
            let odd_row = _mm256_srai_epi16::<8>(row);
            let even = _mm256_madd_epi16(even, even_row);
            let odd = _mm256_madd_epi16(odd, odd_row);
            I32x8(_mm256_add_epi32(sum.0, _mm256_add_epi32(even, odd)))
        }
    }
}

impl DotIsa for Avx2 {
    type Terms = [__m256i; 2];

    const WORDS: usize = 2;
    const SIGNED_COLUMNS: bool = false;
    const BYTE_MR: usize = 4;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> [__m256i; 2] {
        self.widened(load::<_, _, 8>(from))
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> [__m256i; 2] {
        let blocks: __m256i = load::<_, _, 32>(blocks::<2>(from, step).as_flattened());
        self.widened(self.shuffled(blocks, load::<_, _, 16>(index)))
    }

    #[inline(always)]
    fn add_dot(self, sum: I32x8, terms: [__m256i; 2], row: &[u32]) -> I32x8 {
        self.add_products(sum, terms, row[0], row[1])
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: I32x8, codes: I32x8, row: u32) -> I32x8 {
        if BITS < 8 {
            self.add_code_products(sum, codes, row)
        } else {
            self.add_byte_products(sum, codes, row)
        }
    }
}

impl DotIsa for AvxVnni {
    type Terms = __m256i;

    const WORDS: usize = 1;
    const SIGNED_COLUMNS: bool = false;
    const BYTE_MR: usize = 6;

    #[inline(always)]
    fn terms(self, from: &[u32]) -> __m256i {
        load::<_, _, 8>(from)
    }

    #[inline(always)]
    fn windows(self, from: &[u8], step: usize, index: &[u8; 16]) -> __m256i {
        let blocks: __m256i = load::<_, _, 32>(blocks::<2>(from, step).as_flattened());
        self.base().shuffled(blocks, load::<_, _, 16>(index))
    }

    #[inline(always)]
    fn add_dot(self, sum: I32x8, terms: __m256i, row: &[u32]) -> I32x8 {
        self.add_products(sum, terms, row[0])
    }

    #[inline(always)]
    fn add_code_dot<const BITS: usize>(self, sum: I32x8, codes: I32x8, row: u32) -> I32x8 {
        self.add_products(sum, codes.0, row)
    }
}

impl AvxVnni {
    with_features! { "avx2,avxvnni":
        fn add_products(_isa: AvxVnni, sum: I32x8, terms: __m256i, row: u32) -> I32x8 {
            I32x8(_mm256_dpbusd_avx_epi32(sum.0, terms, _mm256_set1_epi32(row as i32)))
        }
    }
}
