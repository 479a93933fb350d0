//! One row times a matrix whose rows are read in turn.

use crate::flex::{
    instructions::{Sum, dispatched},
    view::Matrix,
};

/// Columns that are computed at once.
const STRIP: usize = 1024;

dispatched! {
    /// [`super::multiply`] of one row with a matrix whose columns follow one another.
    pub fn chain_row(a: &[f32], b: Matrix<'_>, block: usize, started: bool, out: &mut [f32]) = chain_row_of;

    /// Writes `a * b` for one row `a` to `out`: four products are summed, and that is added.
    ///
    /// ONNX Runtime multiplies one row so where neither side is a weight.
    pub fn multiply_row(a: &[f32], b: Matrix<'_>, out: &mut [f32]) = multiply_row_of;
}

#[inline(always)]
fn chain_row_of<S: Sum>(a: &[f32], b: Matrix<'_>, block: usize, started: bool, out: &mut [f32]) {
    let mut sums = [0.0; STRIP];
    for (strip, out) in out.chunks_mut(STRIP).enumerate() {
        let sums = &mut sums[..out.len()];
        let width = out.len();
        let row = |term: usize| &b.values[term * b.row_step + strip * STRIP..][..width];
        for (at, a) in a.chunks(block).enumerate() {
            let first = at * block;
            sums.fill(0.0);
            let fours = a.chunks_exact(4);
            let rest = a.len() - fours.remainder().len();
            for (at, four) in fours.enumerate() {
                let [p, q, r, s] = std::array::from_fn(|term| row(first + 4 * at + term));
                for (((sum, p), q), (r, s)) in sums.iter_mut().zip(p).zip(q).zip(r.iter().zip(s)) {
                    let two = S::of(four[1], *q, S::of(four[0], *p, *sum));
                    *sum = S::of(four[3], *s, S::of(four[2], *r, two));
                }
            }
            for (at, scale) in a[rest..].iter().enumerate() {
                for (sum, value) in sums.iter_mut().zip(row(first + rest + at)) {
                    *sum = S::of(*scale, *value, *sum);
                }
            }
            let started = started || first > 0;
            for (out, sum) in out.iter_mut().zip(&*sums) {
                *out = if started { *out + *sum } else { *sum };
            }
        }
    }
}

#[inline(always)]
fn multiply_row_of<S: Sum>(a: &[f32], b: Matrix<'_>, out: &mut [f32]) {
    let (mut sums, mut terms) = ([0.0; STRIP], [0.0; STRIP]);
    for (strip, out) in out.chunks_mut(STRIP).enumerate() {
        let (sums, terms) = (&mut sums[..out.len()], &mut terms[..out.len()]);
        out.fill(0.0);
        let mut at = 0;
        while at < a.len() {
            let count = match a.len() - at {
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
            for (term, scale) in a[at..at + count].iter().enumerate() {
                let values = match b.column_step {
                    1 => &b.values[(at + term) * b.row_step + strip * STRIP..],
                    _ => {
                        b.copy(at + term, strip * STRIP, terms);
                        &*terms
                    }
                };
                for (sum, value) in sums.iter_mut().zip(values) {
                    let product = scale * value;
                    *sum = if term == 0 { product } else { *sum + product };
                }
            }
            for (out, sum) in out.iter_mut().zip(&*sums) {
                *out = if at == 0 { *sum } else { *out + *sum };
            }
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_sums_fours_then_twos() {
        let weights = [1.0, 1e-8, 3.0, 1e8, 1.0, 2.0, 0.1];
        let (b, transposed): (Vec<f32>, Vec<f32>) =
            ([1.0f32, 0.5].repeat(7), [[1.0f32; 7], [0.5; 7]].concat());
        let of = |scale: f32| {
            let [a, b, c, d, e, f, g] = weights.map(|weight: f32| weight * scale);
            (((((a + b) + c) + d) + (e + f)) + g).to_bits()
        };
        let transposed = Matrix {
            rows: 7,
            columns: 2,
            row_step: 1,
            column_step: 7,
            values: &transposed,
        };
        for b in [Matrix::dense(&b, 2), transposed] {
            let mut out = [f32::NAN; 2];
            multiply_row(&weights, b, &mut out);
            assert_eq!(out.map(f32::to_bits), [of(1.0), of(0.5)]);
        }
        let mut out = [f32::NAN; 2];
        multiply_row(&[], Matrix::dense(&[], 2), &mut out);
        assert_eq!(out, [0.0; 2]);
    }
}
