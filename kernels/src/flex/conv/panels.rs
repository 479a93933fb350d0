//! Packed panels of a band, for tiles that read it many times.

use crate::flex::{gemm::FEW, instructions::Set};

/// Output pixels of a band, as many as a tile has columns; the last panel has fewer.
pub struct Panel {
    /// Start of each vector in the band, and the mask of its lanes that are output pixels.
    registers: Vec<(usize, u32)>,
}

/// Number of pixels in the first tile of a panel: a few beyond a whole vector take less time in a narrow tile.
pub fn first_tile(set: Set, count: usize) -> usize {
    let rest = count % set.lanes();
    if rest <= FEW && rest < count {
        count - rest
    } else {
        count
    }
}

/// Returns true if packing is cheap with these instructions.
pub fn is_fast(set: Set) -> bool {
    set.lanes() == 16
}

/// The panels of some output rows, which are `step` elements apart in the band.
pub fn panels(set: Set, rows: usize, wide: usize, step: usize) -> Vec<Panel> {
    let positions = rows * wide;
    let place = |position: usize| position / wide * step + position % wide;
    let panel = |at: usize| {
        let count = set.columns().min(positions - at);
        let (begin, end) = (place(at), place(at + count - 1) + 1);
        let registers = (begin..end).step_by(set.lanes()).filter_map(|first| {
            let lanes = 0..set.lanes().min(end - first);
            let there = lanes.filter(|lane| (first + lane) % step < wide);
            let mask = there.fold(0u32, |mask, lane| mask | 1 << lane);
            (mask != 0).then_some((first, mask))
        });
        Panel {
            registers: registers.collect(),
        }
    };
    (0..positions).step_by(set.columns()).map(panel).collect()
}

impl Panel {
    /// Packs [`Set::columns`] elements for each offset. May overwrite up to one vector past the end.
    pub fn copy(&self, set: Set, seen: &[f32], offsets: &[u32], out: &mut [f32]) {
        assert!(set.is_there());
        assert!(out.len() >= offsets.len() * set.columns() + set.lanes());
        #[cfg(target_arch = "x86_64")]
        let (offsets, out) = if set == Set::Avx512 {
            let last = self.registers.last().map_or(0, |register| register.0);
            let fits = |offset: &u32| *offset as usize + last + set.lanes() <= seen.len();
            let count = offsets.iter().take_while(|offset| fits(offset)).count();
            // SAFETY: the processor has the instructions, and so many offsets fit; the assertion holds for the rest.
            unsafe { wide(&self.registers, seen, &offsets[..count], out) };
            (&offsets[count..], &mut out[count * set.columns()..])
        } else {
            (offsets, out)
        };
        for (offset, out) in offsets.iter().zip(out.chunks_exact_mut(set.columns())) {
            let mut out = out.iter_mut();
            for (first, mask) in &self.registers {
                let seen = &seen[*offset as usize + first..];
                let lanes = (0..set.lanes()).filter(|lane| mask & 1 << lane != 0);
                for (lane, out) in lanes.zip(&mut out) {
                    *out = seen[lane];
                }
            }
        }
    }
}

/// Copies vector by vector. The next term overwrites what the last vector wrote too much.
///
/// # Safety
///
/// [`Panel::copy`] has checked what is read and written.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn wide(registers: &[(usize, u32)], seen: &[f32], offsets: &[u32], out: &mut [f32]) {
    use std::arch::x86_64::{_mm512_loadu_ps, _mm512_maskz_compress_ps, _mm512_storeu_ps};

    const COLUMNS: usize = 32;
    let mut line = out.as_mut_ptr();
    for offset in offsets {
        let seen = seen.as_ptr().wrapping_add(*offset as usize);
        let mut to = line;
        for &(first, mask) in registers {
            // SAFETY: what the caller says.
            unsafe {
                let mut values = _mm512_loadu_ps(seen.wrapping_add(first));
                if mask != 0xffff {
                    values = _mm512_maskz_compress_ps(mask as u16, values);
                }
                _mm512_storeu_ps(to, values);
            }
            to = to.wrapping_add(mask.count_ones() as usize);
        }
        line = line.wrapping_add(COLUMNS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::instructions::with_each_set;

    #[test]
    fn panels_have_the_positions_of_rows_side_by_side() {
        let seen: Vec<f32> = (0..2000).map(|value| value as f32).collect();
        let offsets = [0, 7, 900, 3];
        with_each_set(|set| {
            for (rows, wide, step) in [(1, 1, 1), (1, 70, 70), (7, 7, 9), (3, 40, 43), (20, 3, 8)] {
                let panels = panels(set, rows, wide, step);
                let pixels = rows * wide;
                assert_eq!(panels.len(), pixels.div_ceil(set.columns()));
                // Inputs that extend past the last pixel by whole vectors, and inputs that end with it.
                let end = 900 + (rows - 1) * step + wide;
                for (number, panel) in panels.iter().enumerate() {
                    let first = number * set.columns();
                    for seen in [&seen[..], &seen[..end]] {
                        let mut out = vec![f32::NAN; 4 * set.columns() + set.lanes()];
                        panel.copy(set, seen, &offsets, &mut out);
                        for (term, offset) in offsets.iter().enumerate() {
                            for column in 0..set.columns().min(pixels - first) {
                                let at = first + column;
                                let place = *offset as usize + at / wide * step + at % wide;
                                let found = out[term * set.columns() + column];
                                assert_eq!(found, place as f32, "{set:?} {rows} {wide} {at}");
                            }
                        }
                    }
                }
            }
        });
    }
}
