//! Inverse of square matrices.

use alloc::vec::Vec;
use burn::tensor::{Tensor, TensorData};

use crate::{
    ensure,
    reader::{Blocking, Reader, Waiting, now},
};

/// Returns the inverse of each matrix of the last two axes. That of a singular matrix contains infinities and NaN.
///
/// The host reads the matrices, and computes in f64.
#[inline(never)]
pub fn inverse<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    now(inverse_by(x, Blocking))
}

/// Async version of [`inverse`].
pub async fn inverse_async<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    inverse_by(x, Waiting).await
}

async fn inverse_by<const D: usize>(x: Tensor<D>, reader: impl Reader) -> Tensor<D> {
    let dims = x.dims();
    let size = dims[D - 1];
    ensure!(dims[D - 2] == size, "expected square matrices, found shape {dims:?}");
    let (device, dtype) = (x.device(), x.dtype());
    let count: usize = dims.iter().product();
    if count == 0 {
        return x;
    }
    let mut values: Vec<f64> = reader.read(x).await.iter::<f64>().collect();
    values.chunks_exact_mut(size * size).for_each(|matrix| invert(matrix, size));
    let data = TensorData::new(values, dims).convert_dtype(dtype);
    Tensor::from_data(data, (&device, dtype))
}

/// Gauss-Jordan elimination in place, with partial pivoting.
fn invert(rows: &mut [f64], size: usize) {
    let mut exchanged = Vec::with_capacity(size);
    for step in 0..size {
        let column = |row: &usize| rows[row * size + step].abs();
        let best = (step..size).max_by(|a, b| column(a).total_cmp(&column(b)));
        let best = best.expect("a row is left");
        exchanged.push(best);
        (0..size).for_each(|at| rows.swap(best * size + at, step * size + at));
        let pivot = core::mem::replace(&mut rows[step * size + step], 1.0);
        rows[step * size..][..size].iter_mut().for_each(|value| *value /= pivot);
        for row in (0..size).filter(|&row| row != step) {
            let factor = core::mem::replace(&mut rows[row * size + step], 0.0);
            for at in 0..size {
                rows[row * size + at] -= factor * rows[step * size + at];
            }
        }
    }
    // Swapped rows of the matrix are swapped columns of its inverse.
    for (step, best) in exchanged.into_iter().enumerate().rev() {
        (0..size).for_each(|row| rows.swap(row * size + step, row * size + best));
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use half::f16;

    use super::*;
    use crate::testing::{float, has_all, near, noise, same, with_reads};

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        if !has_all(&[DType::F64]) {
            return;
        }
        let x = noise::<3>([5, 4, 4], 7).cast(DType::F64);
        let one = x.clone().matmul(inverse(x));
        let expected = Tensor::<2>::eye(4, &Default::default()).cast(DType::F64);
        near(one, expected.unsqueeze::<3>().expand([5, 4, 4]).into_data(), 1e-9);
    }

    #[test]
    fn rows_are_exchanged_where_the_pivot_is_zero() {
        let x = float::<2>([[0f32, 2.0, 0.0], [0.0, 0.0, 4.0], [1.0, 0.0, 0.0]]);
        same(inverse(x), [[0f32, 0.0, 1.0], [0.5, 0.0, 0.0], [0.0, 0.25, 0.0]]);
        let x = float::<4>([[[[f16::from_f32(4.0)]]]]);
        same(inverse(x), [[[[f16::from_f32(0.25)]]]]);
    }

    #[test]
    fn axes_may_be_exchanged_in_memory() {
        let x = float::<2>([[1f32, 2.0], [0.0, 4.0]]);
        same(inverse(x.transpose()), [[1f32, 0.0], [-0.5, 0.25]]);
    }

    #[test]
    fn an_empty_batch_stays_empty() {
        let none = float::<3>(TensorData::new(Vec::<f32>::new(), [0, 3, 3]));
        assert_eq!(with_reads(0, || inverse(none)).dims(), [0, 3, 3]);
    }
}
