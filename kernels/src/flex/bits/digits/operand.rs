//! Rows as digits of 8 bits.

use super::super::operand::{LEVELS, WHOLE, interleave, largest_of, lay_out, sum};
use crate::flex::{
    memory::repeated,
    simd::{MulAdd, compiled_per_set},
    view::Matrix,
};
use crate::spec::bits::Panels;

/// Base of [`Digits`].
const BASE: f32 = 254.0;

/// Smallest magnitude whose digits have their full precision.
const SMALLEST: f32 = 1e-30;

/// Rows with three digits for each number, whose sums of products with codes are integers: `factors[0]` times the first digit,
/// and so on. The error of a number is at most 3 · 2⁻²⁴ of the largest magnitude in its block, which is what rounding adds to a
/// sum in single precision.
pub struct Digits {
    blocks: usize,
    words: usize,
    /// Words as those of [`Rounded`](super::super::operand::Rounded), three for the digits of the same numbers.
    values: Vec<u32>,
    factors: Vec<[f32; 3]>,
    /// Sum of the digits of each block, times the number that is to be added to codes.
    offsets: Vec<[i32; 3]>,
    /// Sum of each block.
    sums: Vec<f32>,
}

/// A row of [`Digits`].
#[derive(Clone, Copy)]
pub struct DigitRow<'a> {
    pub values: &'a [u32],
    pub factors: &'a [[f32; 3]],
    pub offsets: &'a [[i32; 3]],
    pub sums: &'a [f32],
}

impl Digits {
    /// Returns `None` if a block is not finite, or too small for its digits.
    ///
    /// `offset` is added to codes.
    pub fn new(x: Matrix<'_>, panels: &Panels, offset: i32) -> Option<Self> {
        let size = panels.blocks.size;
        let (blocks, places) = (panels.count, panels.count * size);
        let words = places * 3 / 4;
        let mut all = Self {
            blocks,
            words,
            values: repeated(x.rows * words, 0),
            factors: repeated(x.rows * blocks, [0.0; 3]),
            offsets: repeated(x.rows * blocks, [0; 3]),
            sums: repeated(x.rows * blocks, 0.0),
        };
        let (mut row, mut digits) = (vec![0.0; places], vec![0i8; 3 * places]);
        for at in 0..x.rows {
            lay_out(panels, &x.values[at * x.columns..][..x.columns], &mut row);
            let (first, others) = digits.split_at_mut(places);
            let (second, third) = others.split_at_mut(places);
            let mut of_blocks = [first, second, third];
            for (block, x) in row.chunks_exact(size).enumerate() {
                let of_block = of_blocks.each_mut().map(|digits| &mut digits[block * size..][..size]);
                let (mut largest, mut sums) = (0.0, [0; 3]);
                separate(x, of_block, &mut largest, &mut sums);
                let is_possible = largest == 0.0 || (SMALLEST..f32::INFINITY).contains(&largest);
                if !is_possible {
                    return None;
                }
                let first = largest / LEVELS;
                let to = at * blocks + block;
                all.factors[to] = [first, first / BASE, first / (BASE * BASE)];
                all.offsets[to] = sums.map(|sum| offset * sum);
                all.sums[to] = sum(x);
            }
            let out = &mut all.values[at * words..][..words];
            for (digit, codes) in digits.chunks_exact(places).enumerate() {
                let out = out[digit..].iter_mut().step_by(3);
                match panels.blocks.bits {
                    2 => interleave::<4>(codes, out),
                    4 => interleave::<2>(codes, out),
                    _ => interleave::<1>(codes, out),
                }
            }
        }
        Some(all)
    }

    /// Returns the rows.
    pub fn rows(&self) -> impl Iterator<Item = DigitRow<'_>> {
        (0..self.sums.len() / self.blocks).map(|row| {
            let blocks = row * self.blocks..(row + 1) * self.blocks;
            DigitRow {
                values: &self.values[row * self.words..][..self.words],
                factors: &self.factors[blocks.clone()],
                offsets: &self.offsets[blocks.clone()],
                sums: &self.sums[blocks],
            }
        })
    }
}

compiled_per_set! {
    /// Digits of a block, their sums, and the largest magnitude, NaN if an element is.
    fn separate(x: &[f32], digits: [&mut [i8]; 3], largest: &mut f32, sums: &mut [i32; 3]) = separate_of;
}

#[inline(always)]
fn separate_of<S: MulAdd>(x: &[f32], digits: [&mut [i8]; 3], largest: &mut f32, sums: &mut [i32; 3]) {
    *largest = largest_of(x);
    let finer = if *largest > 0.0 { LEVELS / *largest } else { 0.0 };
    let [first, second, third] = digits;
    let mut all = [0; 3];
    for (((x, first), second), third) in x.iter().zip(first).zip(second).zip(third) {
        let mut rest = x * finer;
        for ((digit, sum), factor) in [first, second, third].into_iter().zip(&mut all).zip([BASE, BASE, 0.0])
        {
            let whole = rest + WHOLE;
            *digit = whole.to_bits() as i8;
            *sum += i32::from(*digit);
            // Exact: the fraction has as few bits.
            rest = (rest - (whole - WHOLE)) * factor;
        }
    }
    *sums = all;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    fn digits_of(x: &[f32]) -> (Vec<[i8; 3]>, f32) {
        let (mut digits, mut largest, mut sums) = (vec![0; 3 * x.len()], 0.0, [0; 3]);
        let (first, others) = digits.split_at_mut(x.len());
        let (second, third) = others.split_at_mut(x.len());
        separate(x, [first, second, third], &mut largest, &mut sums);
        let of = |digit: usize| &digits[digit * x.len()..][..x.len()];
        assert_eq!(sums, [0, 1, 2].map(|digit| of(digit).iter().map(|x| i32::from(*x)).sum::<i32>()));
        ((0..x.len()).map(|at| [0, 1, 2].map(|digit| of(digit)[at])).collect(), largest)
    }

    #[test]
    fn digits_have_the_precision_of_the_largest_number() {
        let x: Vec<f32> = (0..3000).map(|at| (at as f32 * 0.7).sin() * 10f32.powi(at % 9 - 4)).collect();
        with_each_set(|_| {
            for x in x.chunks(30).chain([&[f32::MAX, -1.0][..], &[1e-30, -3e-31], &[-7.0]]) {
                let (digits, largest) = digits_of(x);
                let unit = f64::from(largest) / f64::from(LEVELS);
                let base = f64::from(BASE);
                for (x, digits) in x.iter().zip(digits) {
                    assert!(!digits.contains(&i8::MIN));
                    let [first, second, third] = digits.map(f64::from);
                    let found = unit * (first + (second + third / base) / base);
                    let error = (found - f64::from(*x)).abs() / f64::from(largest);
                    assert!(error < 3.0 / f64::from(1 << 24), "{x} {found}");
                }
            }
            assert_eq!(digits_of(&[0.0, -0.0]), (vec![[0; 3]; 2], 0.0));
            assert!(digits_of(&[1.0, f32::NAN]).1.is_nan());
            assert_eq!(digits_of(&[1.0, f32::NEG_INFINITY]).1, f32::INFINITY);
        });
    }
}
