//! Lines of floats, copied with zeros on both sides.

use crate::flex::simd::{Floats, InstructionSet, Isa, MaskedLoad, WIDEST, with_isa};

/// Maximum length of lines that are copied by registers with masks. Longer ones are read in the order of memory.
const SHORT: usize = 64;

/// Lines of an input, and their range in a line of the copy.
pub struct PaddedLines<'a> {
    pub values: &'a [f32],
    /// Distance of two lines.
    pub step: usize,
    pub count: usize,
    /// Offset of the first element of a line that is copied, and distance of two elements.
    pub first: usize,
    pub stride: usize,
    /// Range in a line of the copy. The rest is 0.
    pub begin: usize,
    pub end: usize,
    pub width: usize,
}

impl PaddedLines<'_> {
    /// Writes line after line.
    pub fn copy(&self, set: InstructionSet, out: &mut [f32]) {
        if self.begin == self.end {
            return out[..self.count * self.width].fill(0.0);
        }
        if set.lanes() == WIDEST && self.stride == 1 && self.width <= SHORT {
            return with_isa!(set, isa => by_registers(isa, self, out));
        }
        for (line, out) in out.chunks_exact_mut(self.width).take(self.count).enumerate() {
            let values = &self.values[line * self.step + self.first..];
            out[..self.begin].fill(0.0);
            out[self.end..].fill(0.0);
            copy_line(values, self.stride, &mut out[self.begin..self.end]);
        }
    }
}

fn copy_line(values: &[f32], stride: usize, out: &mut [f32]) {
    match stride {
        0 => out.fill(values[0]),
        1 => out.copy_from_slice(&values[..out.len()]),
        2 => {
            let values = &values[..2 * out.len() - 1];
            for (out, pair) in out.iter_mut().zip(values.chunks(2)) {
                *out = pair[0];
            }
        }
        _ => {
            for (out, value) in out.iter_mut().zip(values.iter().step_by(stride)) {
                *out = *value;
            }
        }
    }
}

/// Copies register by register.
#[inline(always)]
fn by_registers<I: Isa>(isa: I, lines: &PaddedLines<'_>, out: &mut [f32]) {
    let (width, length) = (lines.width, lines.end - lines.begin);
    assert!(out.len() >= lines.count * width);
    for first in (0..width).step_by(I::LANES) {
        let load = MaskedLoad::new(I::LANES, first as isize - lines.begin as isize, length);
        let count = I::LANES.min(width - first);
        for (line, out) in out.chunks_exact_mut(width).take(lines.count).enumerate() {
            let values = &lines.values[line * lines.step + lines.first..];
            let values = load.load(isa, values, isa.splat(0.0));
            values.store_first(&mut out[first..][..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    #[test]
    fn lines_have_zeros_around_them() {
        let values: Vec<f32> = (1..=200).map(|value| value as f32).collect();
        with_each_set(|set| {
            for (begin, end, width) in [(0, 3, 3), (1, 4, 7), (20, 37, 40), (0, 16, 17), (5, 5, 6)] {
                for stride in [0, 1, 2, 3] {
                    let lines = PaddedLines {
                        values: &values,
                        step: 50,
                        count: 3,
                        first: 2,
                        stride,
                        begin,
                        end,
                        width,
                    };
                    let mut out = vec![f32::NAN; 3 * width + WIDEST];
                    lines.copy(set, &mut out);
                    for (at, value) in out[..3 * width].iter().enumerate() {
                        let (line, at) = (at / width, at % width);
                        let expected = if (begin..end).contains(&at) {
                            values[line * 50 + 2 + (at - begin) * stride]
                        } else {
                            0.0
                        };
                        assert_eq!(*value, expected, "{set:?} {begin} {end} {width} {stride}");
                    }
                }
            }
        });
    }
}
