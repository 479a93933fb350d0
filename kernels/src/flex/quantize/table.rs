//! Bytes replaced by those of a table.

use super::parts::Blank;
#[cfg(target_arch = "x86_64")]
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
