//! Operators that move elements.

use super::{broadcast, broadcast_element, normalized, shape};
use alloc::{vec, vec::Vec};
use onnx_embed_kernels::fault::fail;
use onnx_embed_kernels::shape::{squeezed, unsqueezed};
use onnx_embed_kernels::sizes::sum;
use onnx_embed_kernels::spec::join;

use crate::Array;

/// Concatenates arrays along `axis`.
///
/// # Panics
///
/// If two arrays differ in the size of another axis.
pub fn concat<T: Clone>(arrays: &[&Array<T>], axis: usize) -> Array<T> {
    join::check(arrays.iter().map(|array| array.shape()), axis);
    let mut shape = arrays.first().map_or(vec![0], |array| array.shape().to_vec());
    shape[axis] = sum(arrays.iter().map(|array| array.shape()[axis]));
    Array::from_fn(shape, |index| {
        let mut index = index.to_vec();
        for array in arrays {
            match index[axis].checked_sub(array.shape()[axis]) {
                Some(beyond) => index[axis] = beyond,
                None => return array[index.as_slice()].clone(),
            }
        }
        unreachable!("the sizes add up to the sum")
    })
}

/// Returns the slices of `array` at `indices` along `axis`. Negative indices count from the end.
pub fn gather<T: Clone>(array: &Array<T>, indices: &Array<i64>, axis: usize) -> Array<T> {
    let (before, after) = (&array.shape()[..axis], &array.shape()[axis + 1..]);
    let size = array.shape()[axis];
    let last = axis + indices.rank();
    // All indices are checked, also if the result has no elements.
    let checked = indices.data().iter().map(|index| normalized(*index, size));
    let indices = Array::new(indices.shape(), checked.collect());
    Array::from_fn([before, indices.shape(), after].concat(), |index| {
        let at = indices[&index[axis..last]];
        array[[&index[..axis], &[at], &index[last..]].concat().as_slice()].clone()
    })
}

/// Returns the elements in a new shape. A size of 0 keeps the size of that axis, unless `allow_zero`, and -1 is
/// inferred from the number of elements.
pub fn reshape<T: Clone>(array: &Array<T>, sizes: &[i64], allow_zero: bool) -> Array<T> {
    let kept = |(axis, &size): (usize, &i64)| match size {
        0 if !allow_zero => array.shape()[axis] as i64,
        size => size,
    };
    let mut sizes: Vec<i64> = sizes.iter().enumerate().map(kept).collect();
    if let Some(open) = sizes.iter().position(|&size| size == -1) {
        let mut others = sizes.iter().filter(|&&size| size != -1);
        let others = others.try_fold(1i64, |others, &size| others.checked_mul(size));
        let others = others.unwrap_or_else(|| {
            fail(format_args!("sizes {sizes:?} have more elements than can be addressed"))
        });
        sizes[open] = (array.len() as i64).checked_div(others).unwrap_or(0);
    }
    Array::new(shape(&sizes), array.data().to_vec())
}

/// Removes `axes`, whose sizes must be 1.
pub fn squeeze<T: Clone>(array: &Array<T>, axes: &[i64]) -> Array<T> {
    Array::new(squeezed(array.shape(), axes), array.data().to_vec())
}

/// Inserts an axis of size 1 at each of `axes` of the result.
pub fn unsqueeze<T: Clone>(array: &Array<T>, axes: &[i64]) -> Array<T> {
    Array::new(unsqueezed(array.shape(), axes), array.data().to_vec())
}

/// Returns the array whose axis `i` is axis `axes[i]` of this one.
pub fn transpose<T: Clone>(array: &Array<T>, axes: &[usize]) -> Array<T> {
    let shape: Vec<_> = axes.iter().map(|&axis| array.shape()[axis]).collect();
    let mut source = vec![0; axes.len()];
    Array::from_fn(shape, |index| {
        for (&axis, &at) in axes.iter().zip(index) {
            source[axis] = at;
        }
        array[source.as_slice()].clone()
    })
}

/// Broadcasts the array together with a shape.
pub fn expand<T: Clone>(array: &Array<T>, sizes: &[i64]) -> Array<T> {
    let shape = broadcast(array.shape(), &shape(sizes));
    Array::from_fn(shape, |index| broadcast_element(array, index).clone())
}

/// Repeats the array along each axis.
pub fn tile<T: Clone>(array: &Array<T>, repeats: &[i64]) -> Array<T> {
    let repeats = shape(repeats);
    let sizes = array.shape().iter().zip(&repeats);
    Array::from_fn(sizes.map(|(size, &times)| size.saturating_mul(times)).collect::<Vec<_>>(), |index| {
        let inside = index.iter().zip(array.shape()).map(|(at, size)| at % size);
        array[inside.collect::<Vec<_>>().as_slice()].clone()
    })
}

/// Computes ONNX's `TensorScatter`: writes `update` into `cache` along `axis`.
///
/// `starts` has the first index for each element of the batch, 0 if missing. If `circular`, indices wrap at the end of
/// the axis.
#[track_caller]
pub fn write_cache<T: Clone>(
    cache: &Array<T>,
    axis: usize,
    update: &Array<T>,
    starts: &[i64],
    circular: bool,
) -> Array<T> {
    let size = cache.shape()[axis];
    let mut data = cache.data().to_vec();
    let mut values = update.data().iter();
    Array::<()>::from_fn(update.shape(), |index| {
        let start = starts.get(index[0]).copied().unwrap_or_default();
        let at = start + index[axis] as i64;
        let at = if circular { at.rem_euclid(size as i64) } else { at };
        let at = normalized(at, size);
        let axes = index.iter().enumerate().zip(cache.shape());
        let to =
            axes.fold(0, |to, ((along, &index), size)| to * size + if along == axis { at } else { index });
        if let Some(value) = values.next() {
            data[to] = value.clone();
        }
    });
    Array::new(cache.shape(), data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_embed_kernels::attempt::attempt;

    fn grid() -> Array<i64> {
        Array::new([2, 3], vec![1, 2, 3, 4, 5, 6])
    }

    #[test]
    fn concat_joins_along_an_axis() {
        let one = Array::new([2, 1], vec![7, 8]);
        let joined = concat(&[&grid(), &one], 1);
        assert_eq!(joined, Array::new([2, 4], vec![1, 2, 3, 7, 4, 5, 6, 8]));
    }

    #[test]
    fn arrays_that_disagree_are_not_joined() {
        let wide = Array::new([2, 9], vec![0; 18]);
        let none = Array::<i64>::new([2, 0], vec![]);
        for (a, b) in [(&grid(), &wide), (&wide, &grid()), (&none, &grid()), (&grid(), &none)] {
            let fault = attempt(|| concat(&[a, b], 0)).unwrap_err();
            let (a, b) = (a.shape(), b.shape());
            assert_eq!(
                fault.reason,
                format!("expected shapes {a:?} and {b:?} to be equal except along axis 0")
            );
        }
    }

    #[test]
    fn gather_replaces_the_axis_by_the_indices() {
        let columns = gather(&grid(), &Array::vector([-1i64, 0]), 1);
        assert_eq!(columns, Array::new([2, 2], vec![3, 1, 6, 4]));
        let row = gather(&grid(), &Array::scalar(1i64), 0);
        assert_eq!(row, Array::vector([4, 5, 6]));
        let none = Array::<i64>::new([0, 0], vec![]);
        assert_eq!(gather(&none, &Array::vector([0i64; 0]), 0).shape(), [0, 0]);
        let outside = attempt(|| gather(&none, &Array::vector([0i64]), 0));
        assert!(outside.is_err());
    }

    #[test]
    fn reshape_fills_in_zero_and_minus_one() {
        assert_eq!(reshape(&grid(), &[0, -1, 1], false).shape(), [2, 3, 1]);
        let empty = Array::<i64>::new([0, 3], vec![]);
        assert_eq!(reshape(&empty, &[3, 0], true).shape(), [3, 0]);
        assert_eq!(reshape(&Array::scalar(1), &[-1], false).shape(), [1]);
    }

    #[test]
    fn squeeze_undoes_unsqueeze() {
        let wide = unsqueeze(&grid(), &[0, 3]);
        assert_eq!(wide.shape(), [1, 2, 3, 1]);
        assert_eq!(squeeze(&wide, &[0, 3]), grid());
    }

    #[test]
    fn transpose_permutes_the_axes() {
        let transposed = transpose(&grid(), &[1, 0]);
        assert_eq!(transposed, Array::new([3, 2], vec![1, 4, 2, 5, 3, 6]));
    }

    #[test]
    fn expand_may_keep_a_larger_size() {
        let column = Array::new([2, 1], vec![1, 2]);
        assert_eq!(expand(&column, &[2]), Array::new([2, 2], vec![1, 1, 2, 2]));
        assert_eq!(expand(&column, &[1, 1]), column);
    }

    #[test]
    fn tile_repeats_each_axis() {
        let tiled = tile(&Array::new([1, 2], vec![1, 2]), &[2, 2]);
        assert_eq!(tiled, Array::new([2, 4], vec![1, 2, 1, 2, 1, 2, 1, 2]));
    }

    #[test]
    fn each_element_of_the_batch_has_its_own_start() {
        let cache = Array::new([2, 3], vec![0, 1, 2, 3, 4, 5]);
        let update = Array::new([2, 2], vec![10, 11, 12, 13]);
        let y = write_cache(&cache, 1, &update, &[1, 0], false);
        assert_eq!(y.data(), [0, 10, 11, 12, 13, 5]);
        let y = write_cache(&cache, 1, &update, &[2, 4], true);
        assert_eq!(y.data(), [11, 1, 10, 3, 12, 13]);
        let y = write_cache(&cache, 1, &update, &[], false);
        assert_eq!(y.data(), [10, 11, 2, 12, 13, 5]);
    }
}
