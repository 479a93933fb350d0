//! Packed panels of a band, for tiles that read it many times.

use crate::flex::{
    simd::{Floats, InstructionSet, Isa, LaneMask, with_isa},
    tile::{RowOffsets, narrow_columns},
};

/// Output pixels of a band, as many as a tile has columns; the last panel has fewer.
pub struct Panel {
    /// Start of each register in the band.
    registers: RowOffsets,
    /// The lanes of each register that are output pixels.
    masks: Vec<LaneMask>,
}

/// Number of pixels in the first tile of a panel: a few beyond a whole vector take less time in a narrow tile.
pub fn first_tile(set: InstructionSet, count: usize) -> usize {
    let rest = count % set.lanes();
    if rest <= narrow_columns(set) && rest < count { count - rest } else { count }
}

/// The panels of some output rows, which are `step` elements apart in the band.
pub fn panels(set: InstructionSet, rows: usize, wide: usize, step: usize) -> Vec<Panel> {
    let positions = rows * wide;
    let place = |position: usize| position / wide * step + position % wide;
    let panel = |at: usize| {
        let (mut firsts, mut masks) = (Vec::new(), Vec::new());
        let count = set.nr().min(positions - at);
        let (begin, end) = (place(at), place(at + count - 1) + 1);
        for first in (begin..end).step_by(set.lanes()) {
            let lanes = 0..set.lanes().min(end - first);
            let there = lanes.filter(|lane| (first + lane) % step < wide);
            let mask = LaneMask::new(there.fold(0, |mask, lane| mask | 1 << lane));
            if mask.count() > 0 {
                firsts.push(first);
                masks.push(mask);
            }
        }
        let registers = RowOffsets::new(firsts.into_iter());
        Panel { registers: registers.expect("a band has less than 2^32 elements"), masks }
    };
    (0..positions).step_by(set.nr()).map(panel).collect()
}

/// Packs the first `count` panels of an input without gaps between its pixels. Lines of all panels are read one after another,
/// in the order of memory.
pub fn copy_side_by_side(
    set: InstructionSet,
    seen: &[f32],
    offsets: &RowOffsets,
    count: usize,
    out: &mut [f32],
) {
    with_isa!(set, isa => side_by_side(isa, seen, offsets, count, out));
}

#[inline(always)]
fn side_by_side<I: Isa>(isa: I, seen: &[f32], offsets: &RowOffsets, count: usize, out: &mut [f32]) {
    if count == 0 {
        return;
    }
    let width = 2 * I::LANES;
    let length = offsets.count() * width;
    let (lines, _) = offsets.groups::<_, 1>(seen, count * width);
    for (line, seen) in lines.enumerate() {
        let panels = out[line * width..].chunks_mut(length);
        for (panel, seen) in panels.zip(seen.row(0).chunks_exact(width)) {
            isa.load(seen).store(panel);
            isa.load(&seen[I::LANES..]).store(&mut panel[I::LANES..]);
        }
    }
}

impl Panel {
    /// Packs [`InstructionSet::nr`] elements for each offset. `out` has room for one register more, which may be overwritten.
    pub fn copy(&self, set: InstructionSet, seen: &[f32], offsets: &[u32], out: &mut [f32]) {
        let last = self.registers.furthest();
        let fits = |offset: &u32| *offset as usize + last + set.lanes() <= seen.len();
        let count = offsets.iter().take_while(|offset| fits(offset)).count();
        let (offsets, rest) = offsets.split_at(count);
        with_isa!(set, isa => by_registers(isa, self, seen, offsets, out));
        let out = &mut out[count * set.nr()..];
        for (offset, out) in rest.iter().zip(out.chunks_exact_mut(set.nr())) {
            let mut out = out.iter_mut();
            for (first, mask) in self.registers.offsets().iter().zip(&self.masks) {
                let seen = &seen[*offset as usize + *first as usize..];
                let lanes = (0..set.lanes()).filter(|lane| mask.has(*lane));
                for (lane, out) in lanes.zip(&mut out) {
                    *out = seen[lane];
                }
            }
        }
    }
}

/// Copies register by register. Each store writes a whole register; the next one overwrites what is too much.
#[inline(always)]
fn by_registers<I: Isa>(isa: I, panel: &Panel, seen: &[f32], offsets: &[u32], out: &mut [f32]) {
    for (line, offset) in offsets.iter().enumerate() {
        let mut to = &mut out[line * 2 * I::LANES..][..3 * I::LANES];
        let (registers, _) = panel.registers.groups::<_, 1>(&seen[*offset as usize..], I::LANES);
        for (register, mask) in registers.zip(&panel.masks) {
            let values = isa.load(register.row(0));
            let is_whole = mask.count() == I::LANES;
            let values = if is_whole { values } else { values.compressed(*mask) };
            values.store(to);
            to = &mut to[mask.count()..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    #[test]
    fn panels_have_the_positions_of_rows_side_by_side() {
        let seen: Vec<f32> = (0..2000).map(|value| value as f32).collect();
        let offsets = [0, 7, 900, 3];
        with_each_set(|set| {
            for (rows, wide, step) in [(1, 1, 1), (1, 70, 70), (7, 7, 9), (3, 40, 43), (20, 3, 8)] {
                let panels = panels(set, rows, wide, step);
                let pixels = rows * wide;
                assert_eq!(panels.len(), pixels.div_ceil(set.nr()));
                // Inputs that extend past the last pixel by whole vectors, and inputs that end with it.
                let end = 900 + (rows - 1) * step + wide;
                for (number, panel) in panels.iter().enumerate() {
                    let first = number * set.nr();
                    for seen in [&seen[..], &seen[..end]] {
                        let mut out = vec![f32::NAN; 4 * set.nr() + set.lanes()];
                        panel.copy(set, seen, &offsets, &mut out);
                        for (term, offset) in offsets.iter().enumerate() {
                            for column in 0..set.nr().min(pixels - first) {
                                let at = first + column;
                                let place = *offset as usize + at / wide * step + at % wide;
                                let found = out[term * set.nr() + column];
                                assert_eq!(found, place as f32, "{set:?} {rows} {wide} {at}");
                            }
                        }
                    }
                }
            }
        });
    }

    #[test]
    fn panels_side_by_side_are_those_of_one_row() {
        let seen: Vec<f32> = (0..2000).map(|value| value as f32).collect();
        let offsets = RowOffsets::new([3, 700, 90].into_iter()).unwrap();
        with_each_set(|set| {
            for count in [0, 1, 4] {
                let length = 3 * set.nr();
                let mut out = vec![f32::NAN; count * length + set.lanes()];
                copy_side_by_side(set, &seen, &offsets, count, &mut out);
                let wide = (count * set.nr()).max(1);
                for (panel, out) in panels(set, 1, wide, wide).iter().zip(out.chunks_exact(length)) {
                    let mut expected = vec![f32::NAN; length + set.lanes()];
                    panel.copy(set, &seen, offsets.offsets(), &mut expected);
                    assert_eq!(*out, expected[..length], "{set:?} {count}");
                }
            }
        });
    }
}
