//! Lines of numbers, copied with zeros on both sides.

#[cfg_attr(not(target_arch = "x86_64"), allow(unused_imports))]
use crate::flex::instructions::{Set, WIDEST};

/// Lines of an input, and which part of a line of the copy they are.
pub struct Lines<'a> {
    pub values: &'a [f32],
    /// From one line to the next.
    pub step: usize,
    pub count: usize,
    /// The first number of a line that is copied, and from one to the next.
    pub first: usize,
    pub stride: usize,
    /// Where in a line of the copy they are; the rest is 0.
    pub begin: usize,
    pub end: usize,
    pub width: usize,
}

impl Lines<'_> {
    /// Writes line after line; up to [`WIDEST`] numbers behind the last one may change.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub fn copy(&self, set: Set, out: &mut [f32]) {
        if self.begin == self.end {
            return out[..self.count * self.width].fill(0.0);
        }
        #[cfg(target_arch = "x86_64")]
        if set == Set::Avx512 && self.stride == 1 {
            assert!(set.is_there());
            assert!(out.len() >= self.count * self.width + WIDEST);
            let last = (self.count - 1) * self.step + self.first + self.end - self.begin;
            assert!(self.values.len() >= last);
            // SAFETY: the processor has the instructions, and the assertions hold for what is read and written.
            return unsafe { wide(self, out) };
        }
        for (line, out) in out
            .chunks_exact_mut(self.width)
            .take(self.count)
            .enumerate()
        {
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

/// Whole registers, of which the next line writes over what is too much.
///
/// # Safety
///
/// [`Lines::copy`] has checked the lines.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn wide(lines: &Lines<'_>, out: &mut [f32]) {
    use std::arch::x86_64::{_mm512_maskz_expandloadu_ps, _mm512_maskz_loadu_ps, _mm512_storeu_ps};

    for line in 0..lines.count {
        for first in (0..lines.width).step_by(WIDEST) {
            // The numbers of this register that come from the input.
            let begin = lines.begin.clamp(first, first + WIDEST);
            let end = lines.end.clamp(begin, first + WIDEST);
            let mask = (((1u32 << (end - begin)) - 1) << (begin - first)) as u16;
            // SAFETY: a masked load reads as many numbers as the mask has, all in the line; the store is
            // inside of the line, or of what is behind it.
            unsafe {
                let skipped = begin.clamp(lines.begin, lines.end) - lines.begin;
                let from = line * lines.step + lines.first + skipped;
                let from = lines.values.as_ptr().add(from);
                let values = if begin == first {
                    _mm512_maskz_loadu_ps(mask, from)
                } else {
                    _mm512_maskz_expandloadu_ps(mask, from)
                };
                _mm512_storeu_ps(out.as_mut_ptr().add(line * lines.width + first), values);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::instructions::with_each_set;

    #[test]
    fn lines_have_zeros_around_them() {
        let values: Vec<f32> = (1..=200).map(|value| value as f32).collect();
        with_each_set(|set| {
            for (begin, end, width) in [(0, 3, 3), (1, 4, 7), (20, 37, 40), (0, 16, 17), (5, 5, 6)]
            {
                for stride in [0, 1, 2, 3] {
                    let lines = Lines {
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
