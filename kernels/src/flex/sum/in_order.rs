//! Sums whose order depends on the sizes along and after the axis alone.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::DType;

use crate::{
    backend::primitives,
    flex::{
        memory::{Buffer, Cuts, Grid, zeroed},
        plan::threads_reading,
        simd::{MulAdd, compiled_per_set},
        threads::even_parts,
        view::Dense,
    },
};

/// Number of elements of a row that are added in parallel.
const LANES: usize = 16;

pub fn sum(x: FlexTensor, axis: usize, mean: bool) -> FlexTensor {
    let (dtype, mut shape) = (x.dtype(), x.shape().to_vec());
    // Burn adds double precision one by one. Over no elements there is no order.
    if dtype == DType::F64 || shape.contains(&0) {
        return primitives::sum::<Flex>(x, axis, mean);
    }
    let [before, count, after] = [&shape[..axis], &shape[axis..=axis], &shape[axis + 1..]]
        .map(|sizes| sizes.iter().product::<usize>());
    let x = Dense::new(&x);
    let values = x.values();
    let parts = even_parts(threads_reading(0, 4 * values.len()));
    let grid = Grid::of_row(Cuts::every(before * after, before.div_ceil(parts) * after));
    let divisor = if mean { count as f32 } else { 1.0 };
    let y = Buffer::filled(before * after, |out| {
        out.side_by_side(grid, usize::MAX, |_, spot, out| {
            out.write(|out| {
                let out = zeroed(out);
                add(&values[spot.columns.start * count..], [count, after], divisor, out);
                out
            })
        })
    });
    shape[axis] = 1;
    let y = y.tensor(shape);
    if dtype == DType::F32 { y } else { Flex::float_cast(y, dtype.into()) }
}

compiled_per_set! {
    /// Adds the first values, as `count` rows of `after` elements for as many sums each, and divides.
    fn add(values: &[f32], sizes: [usize; 2], divisor: f32, sums: &mut [f32]) = add_of;
}

#[inline(always)]
fn add_of<S: MulAdd>(values: &[f32], [count, after]: [usize; 2], divisor: f32, sums: &mut [f32]) {
    match [count, after] {
        // Such as the parts of complex numbers.
        [2, 1] => add_short::<2>(values, sums),
        [3, 1] => add_short::<3>(values, sums),
        [4, 1] => add_short::<4>(values, sums),
        [_, 1] => {
            for (sum, row) in sums.iter_mut().zip(values.chunks_exact(count)) {
                *sum = total(row);
            }
        }
        _ => {
            for (sums, rows) in sums.chunks_exact_mut(after).zip(values.chunks_exact(count * after)) {
                for row in rows.chunks_exact(after) {
                    for (sum, x) in sums.iter_mut().zip(row) {
                        *sum += x;
                    }
                }
            }
        }
    }
    if divisor != 1.0 {
        for sum in sums {
            *sum /= divisor;
        }
    }
}

#[inline(always)]
fn add_short<const COUNT: usize>(values: &[f32], sums: &mut [f32]) {
    for (sum, row) in sums.iter_mut().zip(values.as_chunks::<COUNT>().0) {
        let mut total = row[0];
        for x in &row[1..] {
            total += x;
        }
        *sum = total;
    }
}

#[inline(always)]
fn total(values: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (parts, rest) = values.as_chunks::<LANES>();
    for part in parts {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += x;
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += x;
    }
    let eight: [f32; LANES / 2] = std::array::from_fn(|at| sums[at] + sums[at + LANES / 2]);
    let four: [f32; LANES / 4] = std::array::from_fn(|at| eight[at] + eight[at + LANES / 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::deterministic::deterministic;
    use crate::flex::with_each_set;
    use crate::reduce::sum::{mean_dim, sum_dim};
    use crate::testing::{near, noise};

    #[test]
    fn sums_are_near_burns_and_equal_with_each_set() {
        for sizes in [
            [1, 1, 1],
            [3, 5, 7],
            [2, 100, 1],
            [5, 33, 40],
            [1, 2000, 3],
            [40, 2000, 1],
            [50, 3, 2],
            [41, 1, 4],
        ] {
            for dtype in [DType::F32, DType::F16, DType::F64] {
                let x = noise::<3>(sizes, 1).cast(dtype);
                let tolerance = if dtype == DType::F16 { 1e-2 } else { 5e-5 };
                for x in [x.clone(), x.swap_dims(0, 2)] {
                    for axis in 0..3 {
                        let (sum, mean): (Tensor<3>, Tensor<3>) =
                            deterministic(|| (sum_dim(x.clone(), axis), mean_dim(x.clone(), axis)));
                        near(sum.clone(), x.clone().sum_dim(axis).into_data(), tolerance);
                        near(mean, x.clone().mean_dim(axis).into_data(), tolerance);
                        with_each_set(|_| {
                            let again = deterministic(|| sum_dim(x.clone(), axis));
                            near(again, sum.to_data(), 0.0);
                        });
                    }
                }
            }
        }
    }
}
