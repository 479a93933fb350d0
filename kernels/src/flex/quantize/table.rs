//! Bytes replaced by those of a table.

use super::parts::Blank;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::flex::instructions::Set;

/// Writes what the table has for each byte.
pub fn look_up(table: &[u8; 256], x: &[u8], y: &mut Blank<u8>) {
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
    each(table, x, y);
}

fn each(table: &[u8; 256], x: &[u8], y: &mut Blank<u8>) {
    for (y, x) in y.iter_mut().zip(x) {
        y.write(table[usize::from(*x)]);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{Blank, each};

    /// Bytes of a register.
    const LANES: usize = 64;

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub fn look_up(table: &[u8; 256], x: &[u8], y: &mut Blank<u8>) {
        let (parts, _) = table.as_chunks::<LANES>();
        let load = |part: &[u8; LANES]| {
            // SAFETY: a register is as long as the array.
            unsafe { _mm512_loadu_si512(part.as_ptr().cast()) }
        };
        let [a, b, c, d] = [0, 1, 2, 3].map(|part| load(&parts[part]));
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks_mut::<LANES>());
        for (y, x) in y.iter_mut().zip(x) {
            let places = load(x);
            let lower = _mm512_permutex2var_epi8(a, places, b);
            let upper = _mm512_permutex2var_epi8(c, places, d);
            let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(places), lower, upper);
            // SAFETY: a register is as long as the array.
            unsafe { _mm512_storeu_si512(y.as_mut_ptr().cast(), found) };
        }
        each(table, x_rest, y_rest);
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::{Blank, each};

    /// Bytes of a register.
    const LANES: usize = 16;

    pub fn look_up(table: &[u8; 256], x: &[u8], y: &mut Blank<u8>) {
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks_mut::<LANES>());
        // SAFETY: registers are as long as the arrays, and the table has four times four of them.
        unsafe {
            let [a, b, c, d] =
                [0, 64, 128, 192].map(|first| vld1q_u8_x4(table.as_ptr().add(first)));
            let part = vdupq_n_u8(64);
            for (y, x) in y.iter_mut().zip(x) {
                // Of places behind its end a table has 0, or what was there before.
                let place = vld1q_u8(x.as_ptr());
                let mut found = vqtbl4q_u8(a, place);
                let place = vsubq_u8(place, part);
                found = vqtbx4q_u8(found, b, place);
                let place = vsubq_u8(place, part);
                found = vqtbx4q_u8(found, c, place);
                let place = vsubq_u8(place, part);
                found = vqtbx4q_u8(found, d, place);
                vst1q_u8(y.as_mut_ptr().cast(), found);
            }
        }
        each(table, x_rest, y_rest);
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
            look_up(&table, &x, &mut y);
            for (x, y) in x.iter().zip(y) {
                // SAFETY: all have begun as 0.
                assert_eq!(
                    unsafe { y.assume_init() },
                    table[usize::from(*x)],
                    "{set:?}"
                );
            }
        });
    }
}
