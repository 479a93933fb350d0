//! Reshape, including sizes of zero.

use alloc::vec::Vec;
use burn::tensor::{Tensor, kind::Basic};

use crate::{
    backend::{Any, call},
    ensure,
    fault::fail,
    sizes::{elements, product, size},
};

/// Returns the elements in row-major order with another shape. Burn's own `reshape` treats a size of 0 as "unchanged".
///
/// # Panics
/// If the shapes differ in their number of elements.
pub fn reshape<const D: usize, const D2: usize, K: Basic>(
    x: Tensor<D, K>,
    shape: [usize; D2],
) -> Tensor<D2, K> {
    dense(x).with_shape(shape)
}

/// A reshape that uses each size literally, for chains of calls.
pub trait WithShape<const D: usize, K: Basic> {
    /// Returns the elements in row-major order with another shape. Burn's `Tensor::reshape` treats a size of
    /// 0 as "keep the size of this axis", so the lints of this crate forbid it.
    ///
    /// # Panics
    /// If the shapes differ in their number of elements.
    fn with_shape<const D2: usize>(self, shape: [usize; D2]) -> Tensor<D2, K>;
}

impl<const D: usize, K: Basic> WithShape<D, K> for Tensor<D, K> {
    fn with_shape<const D2: usize>(self, shape: [usize; D2]) -> Tensor<D2, K> {
        let dims = self.dims();
        let counts = [product(&dims), product(&shape)];
        ensure!(counts[0] == counts[1], "cannot reshape {dims:?} to {shape:?}");
        if shape.contains(&0) {
            return empty(&self, shape);
        }
        let x = if counts[0] < MANY { self } else { dense(self) };
        #[expect(clippy::disallowed_methods, reason = "no size is 0")]
        x.reshape(shape)
    }
}

/// Number of elements from which a copy uses memory again, in bytes of the smallest elements.
const MANY: usize = 64 << 10;

/// Returns a contiguous tensor, if copying it with our own kernel is faster.
fn dense<const D: usize, K: Basic>(x: Tensor<D, K>) -> Tensor<D, K> {
    let operand = Any::of(x.clone());
    match call!(@copy contiguous(operand)).tensor() {
        Some(y) => Tensor::from_dispatch(y),
        None => x,
    }
}

/// [`reshape`] by the rules of ONNX: a size of -1 is inferred, and one of 0 is that of the input unless `allow_zero`.
///
/// # Panics
/// If there are not `D2` sizes, a size is less than -1 or two are -1, or the shapes differ in their number of elements.
pub fn reshape_to<const D: usize, const D2: usize, K: Basic>(
    x: Tensor<D, K>,
    sizes: &[i64],
    allow_zero: bool,
) -> Tensor<D2, K> {
    ensure!(sizes.len() == D2, "expected {D2} sizes, found {}", sizes.len());
    let dims = x.dims();
    let open = sizes.iter().position(|&size| size == -1);
    let mut shape: [usize; D2] = core::array::from_fn(|axis| match sizes[axis] {
        _ if open == Some(axis) => 1,
        0 if !allow_zero => dims
            .get(axis)
            .copied()
            .unwrap_or_else(|| fail(format_args!("axis {axis} to copy is out of bounds for shape {dims:?}"))),
        given => size(given),
    });
    if let Some(open) = open {
        shape[open] = product(&dims).checked_div(product(&shape)).unwrap_or(0);
    }
    reshape(x, shape)
}

/// Squeeze with `D - D2` different axes that are known only at run time.
///
/// # Panics
/// If an axis is out of range, its size is not 1, or there are more or fewer axes.
pub fn squeeze_axes<const D: usize, const D2: usize, K: Basic>(
    x: Tensor<D, K>,
    axes: &[i64],
) -> Tensor<D2, K> {
    let sizes = squeezed(&x.dims(), axes);
    reshape(x, of_rank(sizes))
}

/// Unsqueeze with axes that are known only at run time. A scalar has no axes and is represented with one.
///
/// # Panics
/// If an axis is out of range or repeated, or there are more or fewer than `D2` requires.
pub fn unsqueeze_axes<const D: usize, const D2: usize, K: Basic>(
    x: Tensor<D, K>,
    axes: &[i64],
) -> Tensor<D2, K> {
    let dims = x.dims();
    let sizes = unsqueezed(&dims[D.saturating_sub(D2 - axes.len().min(D2))..], axes);
    reshape(x, of_rank(sizes))
}

/// Removes the sizes at `axes`, which are 1.
///
/// # Panics
/// If an axis is out of range, or its size is not 1.
pub fn squeezed(sizes: &[usize], axes: &[i64]) -> Vec<usize> {
    let dropped: Vec<usize> = axes.iter().map(|&at| axis(at, sizes.len())).collect();
    for &at in &dropped {
        ensure!(sizes[at] == 1, "expected axis {at} of shape {sizes:?} to have size 1");
    }
    let kept = sizes.iter().enumerate();
    let kept = kept.filter(|(at, _)| !dropped.contains(at));
    kept.map(|(_, &size)| size).collect()
}

/// Inserts sizes of 1 at `axes` of the result.
///
/// # Panics
/// If an axis is out of range or repeated.
pub fn unsqueezed(sizes: &[usize], axes: &[i64]) -> Vec<usize> {
    let rank = sizes.len() + axes.len();
    let mut new: Vec<usize> = axes.iter().map(|&at| axis(at, rank)).collect();
    new.sort_unstable();
    new.dedup();
    ensure!(new.len() == axes.len(), "expected distinct axes, found {axes:?}");
    let mut sizes = sizes.iter().copied();
    (0..rank)
        .map(|at| {
            if new.contains(&at) {
                1
            } else {
                sizes.next().expect("as many are left as there are other axes")
            }
        })
        .collect()
}

fn axis(axis: i64, rank: usize) -> usize {
    let at = if axis < 0 { axis + rank as i64 } else { axis };
    ensure!((0..rank as i64).contains(&at), "axis {axis} is out of bounds for rank {rank}");
    at as usize
}

/// Returns the sizes of a Burn tensor; a scalar has those of a vector of one element.
fn of_rank<const D: usize>(mut sizes: Vec<usize>) -> [usize; D] {
    if sizes.is_empty() {
        sizes.push(1);
    }
    let found = sizes.len();
    sizes
        .try_into()
        .unwrap_or_else(|_| fail(format_args!("expected a result of rank {D}, found {found} sizes")))
}

/// Inserts an axis of size 1 at `axis`. Burn's `unsqueeze_dim` treats a size of 0 as "unchanged".
///
/// # Panics
/// If `D2` is not `D + 1`, or `axis` is more than `D`.
pub fn insert_axis<const D: usize, const D2: usize, K: Basic>(x: Tensor<D, K>, axis: usize) -> Tensor<D2, K> {
    let mut shape = x.dims().to_vec();
    if shape.contains(&0) {
        shape.insert(axis, 1);
        empty(&x, of_rank(shape))
    } else {
        x.unsqueeze_dim(axis)
    }
}

/// Prepends axes of size 1. Burn's `unsqueeze` copies permuted tensors on the CPU, this does not.
///
/// # Panics
/// If `D2` is less than `D`.
pub fn lift<const D: usize, const D2: usize, K: Basic>(x: Tensor<D, K>) -> Tensor<D2, K> {
    let dims = x.dims();
    let mut shape = [1; D2];
    shape[D2 - D..].copy_from_slice(&dims);
    if shape.contains(&0) {
        empty(&x, shape)
    } else {
        #[expect(clippy::disallowed_methods, reason = "no size is 0")]
        x.expand(shape)
    }
}

/// Converts sizes that are known only at run time.
///
/// # Panics
/// If there are not `S` sizes, or one is negative.
pub fn sizes<const S: usize>(sizes: &[i64]) -> [usize; S] {
    ensure!(sizes.len() == S, "expected {S} sizes, found {}", sizes.len());
    core::array::from_fn(|axis| size(sizes[axis]))
}

/// Returns an empty tensor with the dtype and the device of `like`.
///
/// # Panics
/// If a tensor with its other sizes would exceed the memory limit.
pub fn empty<const D: usize, const D2: usize, K: Basic>(
    like: &Tensor<D, K>,
    shape: [usize; D2],
) -> Tensor<D2, K> {
    elements(&shape, like.dtype().size());
    Tensor::empty(shape, (&like.device(), like.dtype()))
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::{
        attempt::attempt,
        testing::{int, same},
    };

    #[test]
    fn a_size_of_zero_is_zero() {
        let x = int::<2>(TensorData::new(Vec::<i64>::new(), [4, 0]));
        let expected = TensorData::new(Vec::<i64>::new(), [2, 0, 3]);
        same(reshape(x, [2, 0, 3]), expected);
    }

    #[test]
    fn sizes_may_copy_or_take_what_is_left() {
        let x = || int::<2>([[1i8, 2, 3], [4, 5, 6]]);
        same(reshape_to::<_, 3, _>(x(), &[0, -1, 1], false), [[[1i8], [2], [3]], [[4], [5], [6]]]);
        let none = int::<2>(TensorData::new(Vec::<i64>::new(), [0, 3]));
        let expected = TensorData::new(Vec::<i64>::new(), [3, 0]);
        same(reshape_to::<_, 2, _>(none, &[3, 0], true), expected);
    }

    #[test]
    fn sizes_that_wrap_are_not_the_same_elements() {
        let x = || int::<1>([1i8, 2, 3, 4]);
        let reason = |sizes: &[i64]| {
            let found = attempt(|| reshape_to::<_, 2, _>(x(), sizes, true));
            found.unwrap_err().reason
        };
        for sizes in [[(1 << 62) + 1, 4], [1 << 62, 4], [1 << 62, 0]] {
            assert!(reason(&sizes).contains("can be addressed") || reason(&sizes).contains("cannot reshape"));
        }
        assert_eq!(reason(&[-2, 4]), "expected a non-negative size, found -2");
        assert_eq!(reason(&[-1, -1]), "expected a non-negative size, found -1");
        let none = || int::<1>(TensorData::new(Vec::<i64>::new(), [0]));
        let far = attempt(|| reshape_to::<_, 2, _>(none(), &[0, 1 << 50], true));
        assert!(far.unwrap_err().reason.contains("the memory limit is"));
        let short = attempt(|| reshape_to::<_, 2, _>(x(), &[4, 0], false));
        assert_eq!(short.unwrap_err().reason, "axis 1 to copy is out of bounds for shape [4]");
    }

    #[test]
    fn axes_may_be_told_by_the_run() {
        let x = || int::<3>([[[1i8], [2]]]);
        same(squeeze_axes::<_, 1, _>(x(), &[0, -1]), [1i8, 2]);
        same(unsqueeze_axes::<_, 4, _>(x(), &[-1]), [[[[1i8]], [[2]]]]);
        let scalar = || int::<1>([3i8]);
        same(squeeze_axes::<_, 1, _>(scalar(), &[0]), [3i8]);
        same(unsqueeze_axes::<_, 1, _>(scalar(), &[0]), [3i8]);
        same(unsqueeze_axes::<_, 2, _>(scalar(), &[1]), [[3i8]]);
        assert_eq!(unsqueezed(&[4, 0], &[2, 0]), [1, 4, 1, 0]);
        assert_eq!(unsqueezed(&[], &[1, 0]), [1, 1]);
        assert_eq!(squeezed(&[1, 0, 1], &[-3, 2]), [0]);
    }

    #[test]
    fn axes_are_added_in_front_of_permuted_and_empty_tensors() {
        let x = int::<2>([[1i8, 2], [3, 4]]).transpose();
        let y: Tensor<3, _> = lift(x);
        same(y, [[[1i8, 3], [2, 4]]]);
        let none = int::<2>(TensorData::new(Vec::<i64>::new(), [0, 3]));
        let y: Tensor<3, _> = lift(none);
        same(y, TensorData::new(Vec::<i64>::new(), [1, 0, 3]));
    }

    #[test]
    fn an_axis_is_inserted_before_a_size_of_zero() {
        let none = || int::<2>(TensorData::new(Vec::<i64>::new(), [0, 4]));
        let shapes = [0, 1, 2].map(|axis| insert_axis::<_, 3, _>(none(), axis).dims());
        assert_eq!(shapes, [[1, 0, 4], [0, 1, 4], [0, 4, 1]]);
        let x = int::<1>([1i8, 2]);
        same(insert_axis::<_, 2, _>(x.clone(), 0), [[1i8, 2]]);
        same(insert_axis::<_, 2, _>(x, 1), [[1i8], [2]]);
    }

    #[test]
    fn elements_keep_their_order() {
        let x = int::<2>([[1i8, 2, 3], [4, 5, 6]]);
        same(reshape(x, [3, 2]), [[1i8, 2], [3, 4], [5, 6]]);
    }
}
