//! Det: determinants of square matrices.

use alloc::vec::Vec;
use burn::tensor::{Tensor, TensorData};

use crate::{
    ensure,
    reader::{Blocking, Reader, Waiting, now},
};

/// Returns the determinant of each matrix of the last two axes. `O` is `D - 2`, at least 1.
///
/// The host reads the matrices, and computes in f64.
#[inline(never)]
pub fn det<const D: usize, const O: usize>(x: Tensor<D>) -> Tensor<O> {
    now(det_by(x, Blocking))
}

/// Async version of [`det`].
pub async fn det_async<const D: usize, const O: usize>(x: Tensor<D>) -> Tensor<O> {
    det_by(x, Waiting).await
}

async fn det_by<const D: usize, const O: usize>(x: Tensor<D>, reader: impl Reader) -> Tensor<O> {
    let dims = x.dims();
    let size = dims[D - 1];
    ensure!(dims[D - 2] == size, "expected square matrices, found shape {dims:?}");
    let (device, dtype) = (x.device(), x.dtype());
    let shape: [usize; O] = core::array::from_fn(|axis| if D == 2 { 1 } else { dims[axis] });
    let count = shape.iter().product();
    let values: Vec<f64> = match count * size {
        0 => Vec::new(),
        _ => reader.read(x).await.iter::<f64>().collect(),
    };
    let length = size * size;
    let matrix = |at: usize| values[at * length..(at + 1) * length].to_vec();
    let determinants: Vec<f64> = (0..count).map(|at| of_matrix(matrix(at), size)).collect();
    let data = TensorData::new(determinants, shape).convert_dtype(dtype);
    Tensor::from_data(data, (&device, dtype))
}

/// Gaussian elimination with partial pivoting.
///
/// Every element is a factor of some of the products whose sum is the determinant. So it is NaN if an element
/// is NaN, or if one is infinite and others are zero.
fn of_matrix(mut rows: Vec<f64>, size: usize) -> f64 {
    let has_sum = rows.iter().all(|element| element.is_finite());
    let mut determinant = 1.0;
    for step in 0..size {
        let column = |row: &usize| rows[row * size + step].abs();
        let best = (step..size).max_by(|a, b| column(a).total_cmp(&column(b)));
        let best = best.expect("a row is left");
        if best != step {
            (0..size).for_each(|at| rows.swap(best * size + at, step * size + at));
            determinant = -determinant;
        }
        let pivot = rows[step * size + step];
        determinant *= pivot;
        if pivot == 0.0 {
            return if has_sum { determinant } else { f64::NAN };
        }
        for row in step + 1..size {
            let factor = rows[row * size + step] / pivot;
            for at in step..size {
                rows[row * size + at] -= factor * rows[step * size + at];
            }
        }
    }
    determinant
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::{float, near, same, with_reads};

    #[test]
    fn rows_are_exchanged_where_the_pivot_is_zero() {
        let x = float::<2>([[0f32, 1.0, 2.0], [1.0, 0.0, 3.0], [4.0, -3.0, 8.0]]);
        let y: Tensor<1> = det(x);
        near(y, [-2f32], 1e-6);
    }

    #[test]
    fn a_nan_element_yields_nan() {
        const NAN: f32 = f32::NAN;
        const INF: f32 = f32::INFINITY;
        let zeros = [[0f32; 3]; 3];
        let mut matrices = [zeros; 4];
        matrices[0][0][1] = NAN;
        matrices[1][2][0] = NAN;
        matrices[2][2][2] = INF;
        matrices[3] = [[INF, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]];
        let y: Tensor<1> = det(float::<3>(matrices));
        same(y, [NAN, NAN, NAN, INF]);
    }

    #[test]
    fn each_matrix_of_a_batch_has_its_own() {
        let x = float::<3>([[[1f32, 2.0], [3.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]]]);
        let y: Tensor<1> = det(x.cast(burn::tensor::DType::F16));
        same(y, [f16::from_f32(-2.0), f16::ZERO]);
        let x = float::<4>([[[[3f64]], [[5.0]]]]);
        let y: Tensor<2> = det(x);
        same(y, [[3f64, 5.0]]);
    }

    #[test]
    fn singular_matrices_have_the_determinant_zero() {
        let x = float::<3>([
            [[1f32, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]],
            [[0.0; 3]; 3],
            [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 3.0, 0.0]],
        ]);
        let y: Tensor<1> = det(x);
        same(y, [0f32, 0.0, -6.0]);
    }

    #[test]
    fn empty_batches_and_matrices_are_not_read() {
        let none = |shape: [usize; 3]| float(TensorData::new(Vec::<f32>::new(), shape));
        same(with_reads(0, || det::<3, 1>(none([0, 3, 3]))), TensorData::new(Vec::<f32>::new(), [0]));
        same(with_reads(0, || det::<3, 1>(none([2, 0, 0]))), [1f32, 1.0]);
    }
}
