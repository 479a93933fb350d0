//! Bytes: loops over them, and a table for each byte.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use bytemuck::must_cast;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::InstructionSet;
#[cfg(target_arch = "aarch64")]
use super::Neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::memory::{load, with_features};
#[cfg(target_arch = "x86_64")]
use super::{Avx512, Isa, memory::extended};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::flex::memory::write_chunks;
use crate::flex::memory::write_each;

#[cfg(target_arch = "x86_64")]
extended! {
    /// AVX-512 for elements of 8 and 16 bits.
    Avx512Bytes, Avx512, "avx512f,avx512bw,avx512dq,avx512vl",
    is_x86_feature_detected!("avx512bw"),
    is_x86_feature_detected!("avx512dq"),
    is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
extended! {
    /// AVX-512 with permutations of bytes.
    Avx512Vbmi, Avx512, "avx512f,avx512bw,avx512vbmi",
    is_x86_feature_detected!("avx512bw"),
    is_x86_feature_detected!("avx512vbmi")
}

#[cfg(target_arch = "x86_64")]
impl Avx512Vbmi {
    with_features! { "avx512f,avx512bw,avx512vbmi":
        /// Element of a table of four registers for each byte.
        fn looked_up(_isa: Avx512Vbmi, table: [__m512i; 4], places: __m512i) -> __m512i {
            let lower = _mm512_permutex2var_epi8(table[0], places, table[1]);
            let upper = _mm512_permutex2var_epi8(table[2], places, table[3]);
            _mm512_mask_blend_epi8(_mm512_movepi8_mask(places), lower, upper)
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl Neon {
    with_features! { "neon":
        /// Element of a table of sixteen registers for each byte.
        fn looked_up_of_table(_isa: Neon, table: [uint8x16x4_t; 4], places: uint8x16_t) -> uint8x16_t {
            let part = vdupq_n_u8(64);
            // Indices beyond the end of a table give 0, or leave the result of the tables before.
            let mut found = vqtbl4q_u8(table[0], places);
            let places = vsubq_u8(places, part);
            found = vqtbx4q_u8(found, table[1], places);
            let places = vsubq_u8(places, part);
            found = vqtbx4q_u8(found, table[2], places);
            vqtbx4q_u8(found, table[3], vsubq_u8(places, part))
        }
    }
}

/// Writes the element of a table for each byte.
pub fn look_up<'a>(table: &[u8; 256], x: &[u8], y: &'a mut [MaybeUninit<u8>]) -> &'a mut [u8] {
    #[cfg(target_arch = "x86_64")]
    if let (InstructionSet::Avx512(_), Some(isa)) = (InstructionSet::best(), Avx512Vbmi::new()) {
        return isa.call(
            #[inline(always)]
            || {
                let parts: [__m512i; 4] = std::array::from_fn(
                    #[inline(always)]
                    |part| load::<_, _, 64>(&table[64 * part..]),
                );
                write_chunks(
                    y,
                    x,
                    #[inline(always)]
                    |x: &[u8; 64]| must_cast(isa.looked_up(parts, load::<_, _, 64>(x))),
                    |x| table[usize::from(x)],
                )
            },
        );
    }
    #[cfg(target_arch = "aarch64")]
    if let InstructionSet::Neon(isa) = InstructionSet::best() {
        let register = |at: usize| load::<_, _, 16>(&table[16 * at..]);
        let parts = std::array::from_fn(|part| {
            let [a, b, c, d] = std::array::from_fn(|at| register(4 * part + at));
            uint8x16x4_t(a, b, c, d)
        });
        return write_chunks(
            y,
            x,
            #[inline(always)]
            |x: &[u8; 16]| must_cast(isa.looked_up_of_table(parts, load::<_, _, 16>(x))),
            |x| table[usize::from(x)],
        );
    }
    write_each(y, x, |x| table[usize::from(x)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    #[test]
    fn every_byte_has_its_own_place() {
        let table: [u8; 256] = std::array::from_fn(|at| (at * 7 + 3) as u8);
        let x: Vec<u8> = (0..=255).rev().chain(0..77).collect();
        with_each_set(|set| {
            let mut y = vec![MaybeUninit::new(0); x.len()];
            let y = look_up(&table, &x, &mut y);
            for (x, y) in x.iter().zip(y) {
                assert_eq!(*y, table[usize::from(*x)], "{set:?}");
            }
        });
    }
}
