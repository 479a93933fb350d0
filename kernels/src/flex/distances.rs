//! Squared distances between the rows of two matrices.
//!
//! Several rows of the first matrix are computed at once, each in a lane. Features are added in blocks, so that the rounding
//! errors of long sums do not grow with the number of features.

use std::{array::from_fn, ops::Range};

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    memory::{Buffer, Cuts, Grid, Order},
    plan::tuning::multiplications_per_thread,
    simd::{MulAdd, WIDEST, compiled_per_set},
    threads,
    view::Dense,
};

/// Number of rows that are computed at once.
const ROWS: usize = WIDEST;
/// Number of other rows that are computed at once, so that the sums of all lanes stay in registers.
const OTHERS: usize = 4;
/// Number of other rows of a part of the result, whose rows are collected before they are written.
const PART: usize = 256;
/// Number of features that are added before their sum is.
const FEATURES: usize = 64;

/// One element of each of several rows.
type Lanes = [f32; ROWS];

/// The other rows, with a divisor for each element if there are any.
#[derive(Clone, Copy)]
struct Others<'a> {
    rows: &'a [f32],
    divisors: Option<&'a [f32]>,
    features: usize,
}

/// Returns the squared distances of each row of `a` from each row of `b`. Returns `None` for other element types than f32.
pub fn squared_distances(a: FlexTensor, b: FlexTensor, divisors: Option<FlexTensor>) -> Option<FlexTensor> {
    if [Some(&a), Some(&b), divisors.as_ref()].into_iter().flatten().any(|x| x.dtype() != DType::F32) {
        return None;
    }
    let ([count, features], others) = ([a.shape()[0], a.shape()[1]], b.shape()[0]);
    let (a, b, divisors) = (Dense::new(&a), Dense::new(&b), divisors.map(|x| Dense::new(&x)));
    let rows = a.values();
    let all = Others { rows: b.values(), divisors: divisors.as_ref().map(Dense::values), features };
    let grid =
        Grid { rows: Cuts::every(count, ROWS), columns: Cuts::every(others, PART), order: Order::RowMajor };
    let multiplications = rows.len().saturating_mul(others);
    let tasks = (multiplications / multiplications_per_thread()).clamp(1, threads::count());
    let y = Buffer::filled(count * others, |out| {
        out.reshaped(count, others).in_tasks(grid, tasks, |parts| {
            let mut sums = [0.0; ROWS * PART];
            let mut lanes = vec![[0.0; ROWS]; features];
            let mut packed = None;
            parts.write(|_, spot, out| {
                if packed != Some(spot.rows.start) {
                    pack(&rows[spot.rows.start * features..spot.rows.end * features], &mut lanes);
                    packed = Some(spot.rows.start);
                }
                distances(&mut sums, &lanes, all.part(spot.columns.start, spot.columns.end));
                out.write_rows(|row, out| out.write_copy_of_slice(&sums[row * PART..][..spot.columns.len()]))
            })
        })
    });
    Some(y.tensor([count, others]))
}

impl<'a> Others<'a> {
    fn part(self, start: usize, end: usize) -> Self {
        let part = |all: &'a [f32]| &all[start * self.features..end * self.features];
        Self { rows: part(self.rows), divisors: self.divisors.map(part), ..self }
    }
}

/// Copies at most [`ROWS`] rows to lanes, feature by feature.
fn pack(rows: &[f32], lanes: &mut [Lanes]) {
    for (lane, row) in rows.chunks(lanes.len()).enumerate() {
        lanes.iter_mut().zip(row).for_each(|(lanes, x)| lanes[lane] = *x);
    }
}

compiled_per_set! {
    fn distances(sums: &mut [f32], lanes: &[Lanes], others: Others<'_>) = distances_of;
}

/// Writes the distances of each lane to a row of `sums`, [`PART`] elements apart.
#[inline(always)]
fn distances_of<S: MulAdd>(sums: &mut [f32], lanes: &[Lanes], others: Others<'_>) {
    let (features, count) = (others.features, others.rows.len() / others.features);
    for first in (0..count).step_by(OTHERS) {
        // Other rows that do not exist are the last one.
        let starts = from_fn(
            #[inline(always)]
            |at| (first + at).min(count - 1) * features,
        );
        let mut totals = [[0.0; ROWS]; OTHERS];
        for start in (0..features).step_by(FEATURES) {
            let end = features.min(start + FEATURES);
            let (lanes, rows) = (&lanes[start..end], block(others.rows, starts, start..end));
            let sums = match others.divisors {
                None => sums_of::<S>(lanes, rows),
                Some(divisors) => divided_sums_of(lanes, rows, block(divisors, starts, start..end)),
            };
            for (totals, sums) in totals.iter_mut().zip(&sums) {
                totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
        }
        let width = OTHERS.min(count - first);
        for (lane, sums) in sums.chunks_exact_mut(PART).enumerate() {
            for (sum, totals) in sums[first..first + width].iter_mut().zip(&totals) {
                *sum = totals[lane];
            }
        }
    }
}

/// Returns some features of several rows that start there.
#[inline(always)]
fn block(rows: &[f32], starts: [usize; OTHERS], features: Range<usize>) -> [&[f32]; OTHERS] {
    starts.map(
        #[inline(always)]
        |start| &rows[start + features.start..start + features.end],
    )
}

/// Returns the sums of squared differences.
#[inline(always)]
fn sums_of<S: MulAdd>(lanes: &[Lanes], others: [&[f32]; OTHERS]) -> [Lanes; OTHERS] {
    let mut sums = [[0.0; ROWS]; OTHERS];
    let others = others.map(|row| &row[..lanes.len()]);
    for (feature, lanes) in lanes.iter().enumerate() {
        for (sums, other) in sums.iter_mut().zip(&others) {
            let other = other[feature];
            for (sum, x) in sums.iter_mut().zip(lanes) {
                let difference = x - other;
                *sum = S::mul_add(difference, difference, *sum);
            }
        }
    }
    sums
}

/// Returns the sums of squared differences that are divided.
#[inline(always)]
fn divided_sums_of(lanes: &[Lanes], others: [&[f32]; OTHERS], divisors: [&[f32]; OTHERS]) -> [Lanes; OTHERS] {
    let mut sums = [[0.0; ROWS]; OTHERS];
    let others = others.map(|row| &row[..lanes.len()]);
    let divisors = divisors.map(|row| &row[..lanes.len()]);
    for (feature, lanes) in lanes.iter().enumerate() {
        for ((sums, other), divisors) in sums.iter_mut().zip(&others).zip(&divisors) {
            let (other, divisor) = (other[feature], divisors[feature]);
            for (sum, x) in sums.iter_mut().zip(lanes) {
                let difference = x - other;
                *sum += difference * difference / divisor;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor, TensorData};

    use crate::{
        classical::distances::{divided_distances, squared_distances},
        flex::simd::with_each_set,
        testing::{float, near, noise, same},
    };

    /// Compares distances of f32, which have a kernel, with those of f64, which have none.
    fn check(a: Tensor<2>, b: Tensor<2>) {
        let wide = [&a, &b].map(|x| x.clone().cast(DType::F64));
        let divisors = b.clone().square() + 0.1;
        let [x, y] = wide;
        let expected = squared_distances(x.clone(), y.clone()).cast(DType::F32).into_data();
        near(squared_distances(a.clone(), b.clone()), expected, 1e-6);
        let expected = divided_distances(x, y, divisors.clone().cast(DType::F64));
        near(divided_distances(a, b, divisors), expected.cast(DType::F32).into_data(), 1e-6);
    }

    #[test]
    fn matrices_of_every_size() {
        with_each_set(|_| {
            for [rows, others, features] in
                [[1, 1, 1], [3, 5, 2], [16, 4, 64], [17, 7, 65], [50, 257, 9], [2, 1000, 200], [700, 30, 40]]
            {
                check(noise([rows, features], 1), noise([others, features], 2));
            }
            check(noise([9, 37], 3).transpose(), noise([9, 21], 4).transpose());
        });
    }

    #[test]
    fn infinities_and_nan_are_those_of_the_differences() {
        let (infinite, nan) = (f32::INFINITY, f32::NAN);
        let a = float::<2>([[infinite, 1.0], [1.0, 2.0], [nan, 0.0], [0.0, 3e30]]);
        let b = float::<2>([[infinite, 1.0], [1.0, 2.0]]);
        let expected = [[nan, infinite], [infinite, 0.0], [nan, nan], [infinite, infinite]];
        same(squared_distances(a.clone(), b.clone()), expected);
        let divisors = float::<2>([[1.0, 0.0], [infinite, 0.0]]);
        let expected = [[nan, nan], [infinite, nan], [nan, nan], [infinite, infinite]];
        same(divided_distances(a, b, divisors), expected);
    }

    #[test]
    fn many_rows_are_shared_among_threads() {
        let a = float::<2>(TensorData::new((0..6000).map(|at| at as f32).collect::<Vec<_>>(), [3000, 2]));
        let b = float::<2>(TensorData::new((0..600).map(|at| at as f32).collect::<Vec<_>>(), [300, 2]));
        let expected = (0..900_000).map(|at| {
            let distance = 2.0 * (at / 300) as f32 - 2.0 * (at % 300) as f32;
            2.0 * distance * distance
        });
        same(squared_distances(a, b), TensorData::new(expected.collect::<Vec<f32>>(), [3000, 300]));
    }
}
