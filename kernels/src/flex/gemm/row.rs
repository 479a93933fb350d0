//! One row times a matrix in place.

use crate::deterministic;
use crate::flex::{
    plan::tuning::columns_of_row,
    simd::{Floats, InstructionSet, Isa, MulAdd, WIDEST, compiled_per_set, with_isa},
    view::Matrix,
};

/// Number of independent parts of a sum.
const LANES: usize = 16;

/// Writes `a * b` to `out`.
pub fn multiply_row(a: &[f32], b: Matrix<'_>, out: &mut [f32]) {
    if b.row_step == 1 && b.column_step != 1 && !deterministic::is_on() {
        with_isa!(InstructionSet::best(), isa => by_columns(isa, a, b, out));
    } else {
        multiply_in_order(a, b, out);
    }
}

compiled_per_set! {
    fn multiply_in_order(a: &[f32], b: Matrix<'_>, out: &mut [f32]) = multiply_row_of;
}

#[inline(always)]
fn multiply_row_of<S: MulAdd>(a: &[f32], b: Matrix<'_>, out: &mut [f32]) {
    if b.column_step == 1 {
        by_rows::<S>(a, b, out);
    } else if b.row_step == 1 {
        in_order::<S>(a, b, out);
    } else {
        for (column, out) in out.iter_mut().enumerate() {
            let terms = a.iter().enumerate();
            *out = terms.fold(0.0, |sum, (at, a)| S::mul_add(*a, b.at(at, column), sum));
        }
    }
}

/// Adds rows, four at a time.
#[inline(always)]
fn by_rows<S: MulAdd>(a: &[f32], b: Matrix<'_>, out: &mut [f32]) {
    let columns = columns_of_row();
    for (strip, sums) in out.chunks_mut(columns).enumerate() {
        let width = sums.len();
        let row = |term: usize| &b.values[term * b.row_step + strip * columns..][..width];
        sums.fill(0.0);
        let fours = a.chunks_exact(4);
        let rest = a.len() - fours.remainder().len();
        for (at, four) in fours.enumerate() {
            let [p, q, r, s] = std::array::from_fn(|term| row(4 * at + term));
            for (((sum, p), q), (r, s)) in sums.iter_mut().zip(p).zip(q).zip(r.iter().zip(s)) {
                let two = S::mul_add(four[1], *q, S::mul_add(four[0], *p, *sum));
                *sum = S::mul_add(four[3], *s, S::mul_add(four[2], *r, two));
            }
        }
        for (at, scale) in a[rest..].iter().enumerate() {
            for (sum, value) in sums.iter_mut().zip(row(rest + at)) {
                *sum = S::mul_add(*scale, *value, *sum);
            }
        }
    }
}

/// A sum for each column, whose values are contiguous, with its terms one after another.
#[inline(always)]
fn in_order<S: MulAdd>(a: &[f32], b: Matrix<'_>, out: &mut [f32]) {
    /// Number of terms that are transposed at once.
    const TERMS: usize = 32;

    for (at, out) in out.chunks_mut(LANES).enumerate() {
        let mut sums = [0.0; LANES];
        for (part, a) in a.chunks(TERMS).enumerate() {
            let mut values = [[0.0; LANES]; TERMS];
            for lane in 0..out.len() {
                let first = (at * LANES + lane) * b.column_step + part * TERMS;
                for (values, value) in values.iter_mut().zip(&b.values[first..][..a.len()]) {
                    values[lane] = *value;
                }
            }
            for (a, values) in a.iter().zip(&values) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = S::mul_add(*a, *value, *sum);
                }
            }
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}

/// A sum for each column, whose values are contiguous: as many at once as a register has lanes.
#[inline(always)]
fn by_columns<I: Isa>(isa: I, a: &[f32], b: Matrix<'_>, out: &mut [f32]) {
    for (at, out) in out.chunks_mut(I::LANES).enumerate() {
        let values = b.values.get(at * I::LANES * b.column_step..).unwrap_or(&[]);
        let mut sums = [isa.splat(0.0); WIDEST];
        if out.len() == I::LANES {
            add_columns(isa, a, values, b.column_step, &mut sums[..I::LANES]);
        } else {
            add_columns(isa, a, values, b.column_step, &mut sums[..out.len()]);
        }
        let mut count = I::LANES;
        while count > 1 {
            count /= 2;
            for pair in 0..count {
                let [low, high] = [sums[2 * pair], sums[2 * pair + 1]];
                sums[pair] = low.even_lanes(high) + low.odd_lanes(high);
            }
        }
        sums[0].store_first(out);
    }
}

/// Adds the products of each column, `step` elements apart, to the lanes of its register. Columns are read one after another, as
/// they are in memory.
#[inline(always)]
fn add_columns<I: Isa>(isa: I, a: &[f32], values: &[f32], step: usize, sums: &mut [I::Floats]) {
    let zero = isa.splat(0.0);
    for (column, sum) in sums.iter_mut().enumerate() {
        let values = &values[column * step..][..a.len()];
        let parts = a.chunks_exact(I::LANES);
        let (rest, of_rest) = (parts.remainder(), values.chunks_exact(I::LANES).remainder());
        for (a, values) in parts.zip(values.chunks_exact(I::LANES)) {
            *sum = isa.load(values).mul_add(isa.load(a), *sum);
        }
        if !rest.is_empty() {
            *sum = isa.load_first(of_rest, zero).mul_add(isa.load_first(rest, zero), *sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::simd::with_each_set;

    #[test]
    fn every_order_of_the_matrix() {
        let (inner, columns) = (71, 1030);
        let values: Vec<f32> = (0..inner * columns).map(|at| (at * 37 % 101) as f32 * 0.01).collect();
        let a: Vec<f32> = (0..inner).map(|at| (at * 29 % 83) as f32 * 0.01).collect();
        let rows = Matrix::dense(&values, columns);
        let transposed = Matrix::dense(&values, inner).transposed();
        let strided = Matrix { rows: inner, columns: columns / 2, ..rows.every(2) };
        for b in [rows, transposed, strided] {
            with_each_set(|set| {
                let mut out = vec![f32::NAN; b.columns];
                multiply_row(&a, b, &mut out);
                for (column, out) in out.iter().enumerate() {
                    let terms = a.iter().enumerate();
                    let expected: f32 = terms.map(|(at, a)| a * b.at(at, column)).sum();
                    let error = (out - expected).abs();
                    assert!(error < 1e-4, "{set:?} {column}: {out} {expected}");
                }
            });
        }
        let mut out = [f32::NAN; 2];
        multiply_row(&[], Matrix { columns: 2, ..Matrix::dense(&[], 2) }, &mut out);
        assert_eq!(out, [0.0; 2]);
    }
}
