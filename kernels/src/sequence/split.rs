//! SplitToSequence into any number of parts.

use alloc::vec::Vec;
use burn::tensor::{Tensor, kind::Basic};

use crate::{ensure, shape::slice::split_to_vec};

/// Splits into parts of these sizes along `axis`.
///
/// # Panics
/// If their sum is not the size of the axis, or one is negative.
#[track_caller]
pub fn parts<const D: usize, K: Basic>(x: Tensor<D, K>, axis: usize, sizes: &[i64]) -> Vec<Tensor<D, K>> {
    let size = x.dims()[axis];
    let total = sizes.iter().try_fold(0i64, |total, &size| total.checked_add(size));
    let fits = total == Some(size as i64) && sizes.iter().all(|&size| size >= 0);
    ensure!(fits, "expected non-negative split sizes with a sum of {size}, found {sizes:?}");
    let sizes: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
    split_to_vec(x, axis, &sizes)
}

/// Splits into parts of equal size along `axis`; the last may be smaller.
///
/// # Panics
/// If the size is not positive.
#[track_caller]
pub fn chunks<const D: usize, K: Basic>(x: Tensor<D, K>, axis: usize, size: i64) -> Vec<Tensor<D, K>> {
    ensure!(size > 0, "expected a positive split size, found {size}");
    let (total, size) = (x.dims()[axis], size as usize);
    let starts = (0..total).step_by(size);
    let sizes: Vec<usize> = starts.map(|start| size.min(total - start)).collect();
    split_to_vec(x, axis, &sizes)
}

/// Splits into the slices along `axis`, which is removed; `E` is one less than `D`.
pub fn unbind<const D: usize, const E: usize, K: Basic>(x: Tensor<D, K>, axis: usize) -> Vec<Tensor<E, K>> {
    let slices = chunks(x, axis, 1).into_iter();
    slices.map(|slice| slice.squeeze_dim(axis)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, int, same};

    #[test]
    fn parts_follow_one_another() {
        let x = || float::<2>([[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let [left, right] = parts(x(), 1, &[2, 1]).try_into().unwrap();
        same(left, [[1f32, 2.0], [4.0, 5.0]]);
        same(right, [[3f32], [6.0]]);
        let [left, right] = chunks(x(), 1, 2).try_into().unwrap();
        same(left, [[1f32, 2.0], [4.0, 5.0]]);
        same(right, [[3f32], [6.0]]);
        let [upper, lower] = unbind::<2, 1, _>(x(), 0).try_into().unwrap();
        same(upper, [1f32, 2.0, 3.0]);
        same(lower, [4f32, 5.0, 6.0]);
    }

    #[test]
    fn permuted_tensors_and_integers_have_parts_too() {
        let x = int::<2>([[1i64, 2, 3], [4, 5, 6]]).transpose();
        let [first, _, last] = unbind::<2, 1, _>(x, 0).try_into().unwrap();
        same(first, [1i64, 4]);
        same(last, [3i64, 6]);
    }

    #[test]
    fn sizes_that_contradict_the_axis_are_refused() {
        for sizes in [&[1, 2][..], &[3, -1], &[i64::MAX, i64::MAX], &[i64::MIN, -1]] {
            let failed = attempt(|| parts(float::<1>([1f32, 2.0]), 0, sizes)).unwrap_err();
            let expected = format!("expected non-negative split sizes with a sum of 2, found {sizes:?}");
            assert_eq!(failed.reason, expected);
        }
    }

    #[test]
    fn parts_may_be_empty_and_none_there() {
        let x = || float::<2>([[1f32, 2.0]]);
        let empty = parts(x(), 1, &[0, 2]);
        assert_eq!((empty.len(), empty[0].dims()), (2, [1, 0]));
        let none = empty[0].clone();
        assert!(chunks(none.clone(), 1, 3).is_empty());
        let rows = unbind::<2, 1, _>(none, 0);
        assert_eq!((rows.len(), rows[0].dims()), (1, [0]));
    }
}
