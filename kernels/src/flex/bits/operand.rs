//! Operands that are multiplied with packed weights.

use std::ops::Range;

use crate::flex::{
    memory::repeated,
    simd::{MulAdd, compiled_per_set},
    view::Matrix,
};
use crate::spec::bits::Panels;

/// Largest code of an operand that is rounded to 8 bits.
pub const LEVELS: f32 = 127.0;

/// Rows of floats, packed in panels of at most `panel` rows: the values of all rows for one position are contiguous.
pub struct Floats {
    pub panel: usize,
    places: usize,
    blocks: usize,
    values: Vec<f32>,
    /// Sum of each block.
    sums: Vec<f32>,
}

/// Some rows of [`Floats`].
#[derive(Clone, Copy)]
pub struct FloatRows<'a> {
    pub rows: usize,
    pub values: &'a [f32],
    pub sums: &'a [f32],
}

/// Rows rounded to 8 bits, block by block, in panels: the words, scales and sums of all rows for one word or block are contiguous.
pub struct Rounded {
    pub panel: usize,
    blocks: usize,
    words: usize,
    /// Four codes each, at the positions of the weight's codes that one word yields at once.
    values: Vec<u32>,
    scales: Vec<f32>,
    /// Sum of the codes of each block.
    sums: Vec<i32>,
}

/// Some rows of [`Rounded`].
#[derive(Clone, Copy)]
pub struct RoundedRows<'a> {
    pub rows: usize,
    pub values: &'a [u32],
    pub scales: &'a [f32],
    pub sums: &'a [i32],
}

/// Writes a row in the order of the positions of the weight's blocks, with 0 for positions without an input.
pub fn lay_out(panels: &Panels, row: &[f32], out: &mut [f32]) {
    match &panels.order {
        None => {
            let (inputs, padding) = out.split_at_mut(row.len());
            inputs.copy_from_slice(row);
            padding.fill(0.0);
        }
        Some(order) => {
            for (out, input) in out.iter_mut().zip(order) {
                *out = input.map_or(0.0, |input| row[input as usize]);
            }
        }
    }
}

/// The rows of each panel: `most`, then the largest halves of it that fit.
fn split(rows: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let mut first = 0;
    std::iter::from_fn(move || {
        let left = rows - first;
        let mut count = most;
        while count > left {
            count /= 2;
        }
        first += count;
        (count > 0).then(|| first - count..first)
    })
}

/// Number of elements that are added side by side.
const LANES: usize = 8;

/// Returns the sum of a block, whose order does not depend on the instruction set.
pub fn sum(block: &[f32]) -> f32 {
    let (parts, rest) = block.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for part in parts {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += x;
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += x;
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

impl Floats {
    pub fn new(x: Matrix<'_>, panels: &Panels, panel: usize) -> Self {
        let (blocks, size) = (panels.count, panels.blocks.size);
        let places = blocks * size;
        let mut values = repeated(x.rows * places, 0.0);
        let mut sums = repeated(x.rows * blocks, 0.0);
        let mut row = vec![0.0; places];
        for rows in split(x.rows, panel) {
            let (first, count) = (rows.start, rows.len());
            let out = &mut values[first * places..rows.end * places];
            let sums = &mut sums[first * blocks..rows.end * blocks];
            for at in rows {
                lay_out(panels, &x.values[at * x.columns..][..x.columns], &mut row);
                let sums = sums[at - first..].iter_mut().step_by(count);
                for (sum_of_block, block) in sums.zip(row.chunks_exact(size)) {
                    *sum_of_block = sum(block);
                }
                for (out, value) in out[at - first..].iter_mut().step_by(count).zip(&row) {
                    *out = *value;
                }
            }
        }
        Self { panel, places, blocks, values, sums }
    }

    /// The packed values of each panel.
    pub fn rows(&self) -> impl Iterator<Item = FloatRows<'_>> {
        let rows = self.values.len() / self.places;
        split(rows, self.panel).map(|rows| FloatRows {
            rows: rows.len(),
            values: &self.values[rows.start * self.places..rows.end * self.places],
            sums: &self.sums[rows.start * self.blocks..rows.end * self.blocks],
        })
    }
}

impl Rounded {
    pub fn new(x: Matrix<'_>, panels: &Panels, panel: usize) -> Self {
        let size = panels.blocks.size;
        let (blocks, places) = (panels.count, panels.count * size);
        let words = places / 4;
        let mut all = Self {
            panel,
            blocks,
            words,
            values: repeated(x.rows * words, 0),
            scales: repeated(x.rows * blocks, 0.0),
            sums: repeated(x.rows * blocks, 0),
        };
        let (mut row, mut codes) = (vec![0.0; places], vec![0i8; places]);
        for rows in split(x.rows, panel) {
            let (first, count) = (rows.start, rows.len());
            for at in rows {
                lay_out(panels, &x.values[at * x.columns..][..x.columns], &mut row);
                let of_blocks = row.chunks_exact(size).zip(codes.chunks_exact_mut(size));
                for (block, (x, codes)) in of_blocks.enumerate() {
                    let to = first * blocks + block * count + at - first;
                    round(x, codes, &mut all.scales[to], &mut all.sums[to]);
                }
                let out = &mut all.values[first * words..(first + count) * words];
                let out = out[at - first..].iter_mut().step_by(count);
                match panels.blocks.bits {
                    2 => interleave::<4>(&codes, out),
                    4 => interleave::<2>(&codes, out),
                    _ => interleave::<1>(&codes, out),
                }
            }
        }
        all
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.scales.len() / self.blocks
    }

    /// The packed values of each panel, with the indices of its rows.
    pub fn rows(&self) -> impl Iterator<Item = (Range<usize>, RoundedRows<'_>)> {
        split(self.count(), self.panel).map(|rows| {
            let blocks = rows.start * self.blocks..rows.end * self.blocks;
            let panel = RoundedRows {
                rows: rows.len(),
                values: &self.values[rows.start * self.words..rows.end * self.words],
                scales: &self.scales[blocks.clone()],
                sums: &self.sums[blocks],
            };
            (rows, panel)
        })
    }
}

/// Words of every `P`-th code of `4 * P`, first of those from the first one on.
pub fn interleave<'a, const P: usize>(codes: &[i8], out: impl Iterator<Item = &'a mut u32>) {
    let mut out = out;
    for codes in codes.chunks_exact(4 * P) {
        for part in 0..P {
            let bytes = std::array::from_fn(|byte| codes[byte * P + part] as u8);
            if let Some(out) = out.next() {
                *out = u32::from_le_bytes(bytes);
            }
        }
    }
}

compiled_per_set! {
    /// Codes of a block, the number that one of them stands for, and their sum. Where an element is not finite, no result is a number.
    fn round(x: &[f32], codes: &mut [i8], scale: &mut f32, sum: &mut i32) = round_of;
}

/// A number that is added to it loses its fraction, half to even, and is in the lowest bits of the sum.
pub const WHOLE: f32 = 12_582_912.0;

/// Returns the largest magnitude, NaN if an element is.
#[inline(always)]
pub fn largest_of(x: &[f32]) -> f32 {
    // As integers, NaN is above all others.
    f32::from_bits(x.iter().fold(0, |most, x| most.max(x.abs().to_bits())))
}

#[inline(always)]
fn round_of<S: MulAdd>(x: &[f32], codes: &mut [i8], scale: &mut f32, sum: &mut i32) {
    let largest = largest_of(x);
    if largest < f32::INFINITY {
        let finer = if largest > 0.0 { (LEVELS / largest).min(f32::MAX) } else { 0.0 };
        let mut all = 0;
        for (code, x) in codes.iter_mut().zip(x) {
            // Two roundings, as the product alone may be halfway.
            *code = (x * finer + WHOLE).to_bits() as i8;
            all += i32::from(*code);
        }
        (*scale, *sum) = (largest / LEVELS, all);
    } else {
        codes.fill(0);
        (*scale, *sum) = (f32::NAN, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    #[test]
    fn rows_are_split_into_powers_of_two() {
        assert_eq!(split(0, 8).count(), 0);
        let all: Vec<_> = split(23, 8).collect();
        assert_eq!(all, [0..8, 8..16, 16..20, 20..22, 22..23]);
    }

    #[test]
    fn blocks_are_rounded_to_even_codes() {
        with_each_set(|_| {
            let (mut codes, mut scale, mut sum) = ([0; 5], 0.0, 0);
            let mut run = |x: [f32; 5]| {
                round(&x, &mut codes, &mut scale, &mut sum);
                (codes, scale, sum)
            };
            assert_eq!(run([254.0, 1.0, -3.0, 5.1, -254.0]), ([127, 0, -2, 3, -127], 2.0, 1));
            assert_eq!(run([0.0, -0.0, 0.0, 0.0, 0.0]), ([0; 5], 0.0, 0));
            let tiny = f32::from_bits(2);
            let (codes, scale, _) = run([tiny, 0.0, 0.0, 0.0, -tiny]);
            assert!(codes[0] >= 0 && codes[4] <= 0 && scale.is_finite());
            for odd in [f32::NAN, -f32::NAN, f32::INFINITY, -f32::INFINITY] {
                let (codes, scale, sum) = run([1.0, odd, 0.0, 0.0, 0.0]);
                assert!(codes == [0; 5] && scale.is_nan() && sum == 0);
            }
        });
    }

    #[test]
    fn codes_of_a_word_are_those_of_its_bytes() {
        let codes: Vec<i8> = (0..16).collect();
        fn words<const P: usize>(codes: &[i8]) -> [[u8; 4]; 4] {
            let mut words = [0u32; 4];
            interleave::<P>(codes, words.iter_mut());
            words.map(u32::to_le_bytes)
        }
        assert_eq!(words::<1>(&codes)[1], [4, 5, 6, 7]);
        assert_eq!(words::<2>(&codes)[..2], [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(words::<4>(&codes)[1], [1, 5, 9, 13]);
    }
}
