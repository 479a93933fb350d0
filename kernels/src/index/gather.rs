//! Gather, GatherElements and GatherND.

use alloc::vec::Vec;
use burn::tensor::{Int, Slice, Tensor, kind::Basic};

use crate::shape::WithShape;
use crate::{
    attempt::{flatten_indices, within},
    ensure,
    kind::AnyKind,
    shape::{empty, expand::to_shape},
    sizes::elements,
    spec::indices::Axis,
    stored,
};

/// Gather: slices of `x` at `indices` along `axis`. Negative indices count from the end. `O` is `D + I - 1`.
pub fn gather<const D: usize, const I: usize, const O: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    indices: Tensor<I, Int>,
) -> Tensor<O, K> {
    let indices = along(&x, axis, indices);
    gather_nonnegative(x, axis, indices)
}

/// [`gather`] with indices that are known to be in bounds and not negative.
pub fn gather_nonnegative<const D: usize, const I: usize, const O: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    indices: Tensor<I, Int>,
) -> Tensor<O, K> {
    assert_eq!(O, D + I - 1, "rank of Gather's output");
    let (dims, picked) = (x.dims(), indices.dims());
    ensure!(
        dims[axis] > 0 || picked.contains(&0),
        "indices of shape {picked:?} are out of bounds for the empty axis {axis} of shape {dims:?}"
    );
    let shape = core::array::from_fn(|at| match at {
        at if at < axis => dims[at],
        at if at < axis + I => picked[at - axis],
        at => dims[at + 1 - I],
    });
    pick(x, axis, indices, shape)
}

/// [`gather`] with indices of rank 0: the axis is removed, and `O` is `D - 1`, at least 1.
pub fn gather_scalar<const D: usize, const O: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    index: Tensor<1, Int>,
) -> Tensor<O, K> {
    assert_eq!(O.max(1), (D - 1).max(1), "rank of Gather's output");
    let (dims, picked) = (x.dims(), index.dims());
    ensure!(picked == [1], "expected one index for axis {axis} of shape {dims:?}, found shape {picked:?}");
    let index = along(&x, axis, index);
    let shape = core::array::from_fn(|at| match at {
        at if D == 1 && at == 0 => 1,
        at if at < axis => dims[at],
        at => dims[at + 1],
    });
    pick(x, axis, index, shape)
}

/// GatherElements: the element of `x` at the position of each index, except that the index replaces the
/// position along `axis`. Negative indices count from the end.
pub fn gather_elements<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    indices: Tensor<D, Int>,
) -> Tensor<D, K> {
    let shape = indices.dims();
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    let dims = x.dims();
    let fits = |at: usize| at == axis || shape[at] <= dims[at];
    ensure!((0..D).all(fits), "indices of shape {shape:?} are out of bounds for shape {dims:?}");
    let indices = along(&x, axis, indices);
    // Flex tags booleans that are gathered or selected as bytes.
    let x = K::into_number(corner(x, axis, shape));
    K::from_number(x.gather(axis, indices))
}

/// GatherND: slices of `x` at index tuples along the last axis of `indices`, which shares its first `batch_dims` axes with `x`.
///
/// `O` is `D + I - 1 - batch_dims - k` for tuples of `k`, at least 1. Negative indices count from the end.
pub fn gather_nd<const D: usize, const I: usize, const O: usize, K: AnyKind>(
    x: Tensor<D, K>,
    indices: Tensor<I, Int>,
    batch_dims: usize,
) -> Tensor<O, K> {
    let (dims, tuples) = (x.dims(), indices.dims());
    ensure!(
        batch_dims < I && batch_dims + tuples[I - 1] <= D && dims[..batch_dims] == tuples[..batch_dims],
        "expected index tuples for shape {dims:?} with {batch_dims} batch axes, found shape {tuples:?}"
    );
    let inner = &dims[batch_dims + tuples[I - 1]..];
    let mut shape = [1; O];
    let sizes = tuples[..I - 1].iter().chain(inner);
    ensure!(
        sizes.clone().count().max(1) == O,
        "expected a result of rank {O} from index tuples of shape {tuples:?} for shape {dims:?}"
    );
    shape.iter_mut().zip(sizes).for_each(|(to, &from)| *to = from);
    elements(&shape, x.dtype().size());
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    let rest: usize = inner.iter().product();
    let count = dims.iter().product::<usize>() / rest;
    let flat = flat_indices(indices, &dims, batch_dims);
    let x = K::into_number(x).with_shape([count, rest]);
    K::from_number(x.select(0, flat).with_shape(shape))
}

/// Checks indices along an axis of `x`, and replaces negative ones.
pub fn along<const D: usize, const I: usize, K: Basic>(
    x: &Tensor<D, K>,
    axis: usize,
    indices: Tensor<I, Int>,
) -> Tensor<I, Int> {
    let size = x.dims()[axis];
    within(indices, Axis { number: axis, size })
}

/// Narrows `x` to `shape` along all axes except `axis`.
pub fn corner<const D: usize, K: Basic>(x: Tensor<D, K>, axis: usize, shape: [usize; D]) -> Tensor<D, K> {
    let dims = x.dims();
    let whole = |at: usize| at == axis || shape[at] == dims[at];
    if (0..D).all(whole) {
        return x;
    }
    let slices: [Slice; D] =
        core::array::from_fn(|at| if whole(at) { Slice::full() } else { (0..shape[at]).into() });
    x.slice(slices)
}

/// Returns the flat indices of index tuples among the slices of `dims` in row-major order.
pub fn flat_indices<const I: usize>(
    indices: Tensor<I, Int>,
    dims: &[usize],
    batch_dims: usize,
) -> Tensor<1, Int> {
    let tuples = indices.dims();
    let [batches, length] = [tuples[..batch_dims].iter().product::<usize>(), tuples[I - 1]];
    let each = tuples[batch_dims..I - 1].iter().product::<usize>();
    let (device, dtype) = (indices.device(), indices.dtype());
    let indices: Tensor<3, Int> = indices.with_shape([batches, each, length]);
    let axis = |column: usize| Axis { number: batch_dims + column, size: dims[batch_dims + column] };
    let axes: Vec<Axis> = (0..length).map(axis).collect();
    if let Some(flat) = flatten_indices(&indices, &axes) {
        return flat;
    }
    let firsts = Tensor::arange(0..batches as i64, (&device, dtype)).with_shape([batches, 1, 1]);
    let mut flat: Tensor<3, Int> = to_shape(firsts, [batches, each, 1]);
    for (column, axis) in axes.into_iter().enumerate() {
        let index = within(indices.clone().narrow(2, column, 1), axis);
        flat = match (batches, column) {
            (1, 0) => index,
            _ => flat.mul_scalar(axis.size as i64).add(index),
        };
    }
    flat.with_shape([batches * each])
}

/// Returns the slices of `x` at `indices` along `axis`, as `shape`.
fn pick<const D: usize, const I: usize, const O: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axis: usize,
    indices: Tensor<I, Int>,
    shape: [usize; O],
) -> Tensor<O, K> {
    elements(&shape, x.dtype().size());
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    let dims = x.dims();
    let before: usize = dims[..axis].iter().product();
    let after: usize = dims[axis + 1..].iter().product();
    let count = indices.shape().num_elements();
    let indices: Tensor<1, Int> = indices.with_shape([count]);
    let x = K::into_number(x);
    // Burn copies whole rows of a matrix, but computes the offset of each element of higher ranks by divisions.
    let picked: Tensor<O, K::Number> = match (before, after) {
        (1, _) => {
            let rows = x.with_shape([dims[axis], after]);
            let picked = stored::rows(&rows, &indices);
            picked.unwrap_or_else(|| rows.select(0, indices)).with_shape(shape)
        }
        (_, 1) => x.with_shape([before, dims[axis]]).select(1, indices).with_shape(shape),
        _ => x.with_shape([before, dims[axis], after]).select(1, indices).with_shape(shape),
    };
    K::from_number(picked)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::testing::{bool, float, int, same};

    #[test]
    fn slices_are_picked_along_each_axis() {
        let x = || float::<2>([[1f32, 1.2, 1.9], [2.3, 3.4, 3.9], [4.5, 5.7, 5.9]]);
        let rows: Tensor<3> = gather(x(), 0, int::<2>([[0i64, -1], [1, 2]]));
        let expected = [[[1f32, 1.2, 1.9], [4.5, 5.7, 5.9]], [[2.3, 3.4, 3.9], [4.5, 5.7, 5.9]]];
        same(rows, expected);
        let columns: Tensor<3> = gather(x(), 1, int::<2>([[0i32, -1]]));
        same(columns, [[[1f32, 1.9]], [[2.3, 3.9]], [[4.5, 5.9]]]);
    }

    #[test]
    fn a_middle_axis_and_every_kind() {
        let x = int::<3>([[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]]);
        let y: Tensor<3, Int> = gather(x, 1, int::<1>([-1i64, 0, 1]));
        let expected = [[[3u8, 4], [1, 2], [3, 4]], [[7, 8], [5, 6], [7, 8]]];
        same(y, expected);
        let x = bool::<1>([true, false, true]);
        let y: Tensor<1, _> = gather(x, 0, int::<1>([1i64, -1]));
        same(y, [false, true]);
    }

    #[test]
    fn scalar_indices_drop_the_axis() {
        let x = int::<2>([[1i64, 2, 3], [4, 5, 6]]);
        let row: Tensor<1, Int> = gather_scalar(x.clone(), 0, int([-1i64]));
        same(row, [4i64, 5, 6]);
        let column: Tensor<1, Int> = gather_scalar(x, 1, int([1i64]));
        same(column, [2i64, 5]);
        let one: Tensor<1, Int> = gather_scalar(int::<1>([7i64, 8]), 0, int([1i64]));
        same(one, [8i64]);
    }

    #[test]
    fn no_indices_give_no_elements() {
        let none = || int::<1>(TensorData::new(Vec::<i64>::new(), [0]));
        let x = float::<2>([[1f32, 2.0]]);
        let y: Tensor<2> = gather(x.clone(), 1, none());
        same(y, TensorData::new(Vec::<f32>::new(), [1, 0]));
        let indices = int::<2>(TensorData::new(Vec::<i64>::new(), [0, 2]));
        let y: Tensor<1> = gather_nd(x, indices, 0);
        same(y, TensorData::new(Vec::<f32>::new(), [0]));
    }

    #[test]
    fn elements_are_picked_within_the_shape_of_the_indices() {
        let x = || int::<2>([[1i32, 2, 3], [4, 5, 6], [7, 8, 9]]);
        let y = gather_elements(x(), 0, int([[1i64, 2, 0], [-1, 0, 0]]));
        same(y, [[4i32, 8, 3], [7, 2, 3]]);
        let y = gather_elements(x(), 0, int([[-1i64], [0]]));
        same(y, [[7i32], [1]]);
        let y = gather_elements(x(), 1, int([[-1i64, 0]]));
        same(y, [[3i32, 1]]);
        let flags = bool::<2>([[true, false], [false, true]]);
        same(gather_elements(flags, 1, int([[1i64], [1]])), [[false], [true]]);
    }

    #[test]
    fn tuples_pick_elements_and_slices() {
        let x = || int::<2>([[0i32, 1], [2, 3]]);
        let y: Tensor<1, Int> = gather_nd(x(), int::<2>([[0i64, 0], [-1, 1]]), 0);
        same(y, [0i32, 3]);
        let y: Tensor<2, Int> = gather_nd(x(), int::<2>([[-1i64], [0]]), 0);
        same(y, [[2i32, 3], [0, 1]]);
        let x = || int::<3>([[[0i32, 1], [2, 3]], [[4, 5], [6, 7]]]);
        let y: Tensor<3, Int> = gather_nd(x(), int::<3>([[[0i64, 1]], [[1, 0]]]), 0);
        same(y, [[[2i32, 3]], [[4, 5]]]);
        let y: Tensor<1, Int> = gather_nd(x(), int::<1>([1i64, 1, -2]), 0);
        same(y, [6i32]);
    }

    #[test]
    fn tuples_stay_within_their_batch() {
        let x = || int::<3>([[[0i32, 1], [2, 3]], [[4, 5], [6, 7]]]);
        let y: Tensor<2, Int> = gather_nd(x(), int::<2>([[1i64], [0]]), 1);
        same(y, [[2i32, 3], [4, 5]]);
        let y: Tensor<2, Int> = gather_nd(x(), int::<3>([[[0i64], [1]], [[-1], [0]]]), 2);
        same(y, [[0i32, 3], [5, 6]]);
        let flags = bool::<2>([[true, false], [false, true]]);
        let y: Tensor<1, _> = gather_nd(flags, int::<2>([[1i64], [1]]), 1);
        same(y, [false, true]);
    }
}
