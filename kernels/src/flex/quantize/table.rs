//! Bytes replaced by those of a table.

use super::parts::Blank;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::flex::instructions::Set;
use crate::flex::memory::write_each;

/// Writes what the table has for each byte.
pub fn look_up<'a>(table: &[u8; 256], x: &[u8], y: &'a mut Blank<u8>) -> &'a mut [u8] {
    #[cfg(target_arch = "x86_64")]
    if Set::best() == Set::Avx512
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
    {
        // SAFETY: the processor has the instructions.
        return unsafe { wide::look_up(table, x, y) };
    }
    #[cfg(target_arch = "aarch64")]
    if Set::best() == Set::Neon {
        return neon::look_up(table, x, y);
    }
    write_each(y, x, |x| table[usize::from(x)])
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::{arch::x86_64::*, mem::transmute};

    use super::Blank;
    use crate::flex::memory::write_chunks;

    /// Bytes of a register.
    const LANES: usize = 64;

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub fn look_up<'a>(table: &[u8; 256], x: &[u8], y: &'a mut Blank<u8>) -> &'a mut [u8] {
        let (parts, _) = table.as_chunks::<LANES>();
        let load = |part: &[u8; LANES]| {
            // SAFETY: a register is as long as the array.
            unsafe { _mm512_loadu_si512(part.as_ptr().cast()) }
        };
        let [a, b, c, d] = [0, 1, 2, 3].map(|part| load(&parts[part]));
        let register = |x: &[u8; LANES]| {
            let places = load(x);
            let lower = _mm512_permutex2var_epi8(a, places, b);
            let upper = _mm512_permutex2var_epi8(c, places, d);
            let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(places), lower, upper);
            // SAFETY: a register consists of as many bytes, and all bytes are values.
            unsafe { transmute::<__m512i, [u8; LANES]>(found) }
        };
        write_chunks(y, x, register, |x| table[usize::from(x)])
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::{arch::aarch64::*, mem::transmute};

    use super::Blank;
    use crate::flex::memory::write_chunks;

    /// Bytes of a register.
    const LANES: usize = 16;

    pub fn look_up<'a>(table: &[u8; 256], x: &[u8], y: &'a mut Blank<u8>) -> &'a mut [u8] {
        // SAFETY: the table has four times four registers.
        let [a, b, c, d] =
            [0, 64, 128, 192].map(|first| unsafe { vld1q_u8_x4(table.as_ptr().add(first)) });
        let register = |x: &[u8; LANES]| {
            // SAFETY: a register is as long as the arrays, and all bytes are values.
            unsafe {
                let part = vdupq_n_u8(64);
                // Of places behind its end a table has 0, or what was there before.
                let place = vld1q_u8(x.as_ptr());
                let mut found = vqtbl4q_u8(a, place);
                let place = vsubq_u8(place, part);
                found = vqtbx4q_u8(found, b, place);
                let place = vsubq_u8(place, part);
                found = vqtbx4q_u8(found, c, place);
                let place = vsubq_u8(place, part);
                found = vqtbx4q_u8(found, d, place);
                transmute::<uint8x16_t, [u8; LANES]>(found)
            }
        };
        write_chunks(y, x, register, |x| table[usize::from(x)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::instructions::with_each_set;
    use std::mem::MaybeUninit;

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
