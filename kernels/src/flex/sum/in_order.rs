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
    let grid = Grid::of_rows(Cuts::every(before, before.div_ceil(parts)), after);
    let divisor = if mean { count as f32 } else { 1.0 };
    let y = Buffer::filled(before * after, |out| {
        out.reshaped(before, after).side_by_side(grid, usize::MAX, |_, spot, out| {
            out.write_rows(|row, out| {
                let out = zeroed(out);
                let first = (spot.rows.start + row) * count * after;
                add(&values[first..][..count * after], divisor, out);
                out
            })
        })
    });
    shape[axis] = 1;
    let y = y.tensor(shape);
    if dtype == DType::F32 { y } else { Flex::float_cast(y, dtype.into()) }
}

compiled_per_set! {
    /// Adds rows of as many elements as `sums` has, and divides.
    fn add(values: &[f32], divisor: f32, sums: &mut [f32]) = add_of;
}

#[inline(always)]
fn add_of<S: MulAdd>(values: &[f32], divisor: f32, sums: &mut [f32]) {
    if let [sum] = sums {
        *sum = total(values) / divisor;
        return;
    }
    for row in values.chunks_exact(sums.len()) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x;
        }
    }
    for sum in sums {
        *sum /= divisor;
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
        for sizes in [[1, 1, 1], [3, 5, 7], [2, 100, 1], [5, 33, 40], [1, 2000, 3], [40, 2000, 1]] {
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
