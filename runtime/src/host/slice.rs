//! ONNX's `Slice` and `Split` operators.

use alloc::{vec, vec::Vec};
use onnx_embed_kernels::ensure;

use crate::Array;

/// Computes [`slice`] on the leading axes, one for each start, with a step of 1.
pub fn slice_leading<T: Clone>(array: &Array<T>, starts: &[i64], ends: &[i64]) -> Array<T> {
    let (count, rank) = (starts.len(), array.shape().len());
    ensure!(count <= rank, "the number of starts is {count}, expected at most {rank}");
    let axes: Vec<usize> = (0..count).collect();
    slice(array, starts, ends, &axes, &vec![1; count])
}

/// Returns every `steps[i]`th element from `starts[i]` up to `ends[i]` along `axes[i]`.
///
/// Negative starts and ends count from the end, and both are clamped to the axis. A negative step goes backward.
pub fn slice<T: Clone>(
    array: &Array<T>,
    starts: &[i64],
    ends: &[i64],
    axes: &[usize],
    steps: &[i64],
) -> Array<T> {
    ensure!(
        [ends.len(), axes.len(), steps.len()] == [starts.len(); 3],
        "expected equal numbers of starts, ends, axes and steps, found {}, {}, {} and {}",
        starts.len(),
        ends.len(),
        axes.len(),
        steps.len()
    );
    let mut indices: Vec<Vec<usize>> = array.shape().iter().map(|&size| (0..size).collect()).collect();
    for (i, &axis) in axes.iter().enumerate() {
        indices[axis] = along(array.shape()[axis], starts[i], ends[i], steps[i]);
    }
    let shape: Vec<_> = indices.iter().map(Vec::len).collect();
    Array::from_fn(shape, |index| {
        let source = index.iter().zip(&indices).map(|(&at, indices)| indices[at]);
        array[source.collect::<Vec<_>>().as_slice()].clone()
    })
}

/// Splits an array into parts with these sizes along `axis`.
pub fn split<T: Clone, const N: usize>(array: &Array<T>, axis: usize, sizes: [usize; N]) -> [Array<T>; N] {
    let mut start = 0;
    sizes.map(|size| {
        let part = part(array, axis, start, size);
        start += size;
        part
    })
}

/// Returns the part of `size` elements along `axis` that begins at `start`.
pub(super) fn part<T: Clone>(array: &Array<T>, axis: usize, start: usize, size: usize) -> Array<T> {
    let mut shape = array.shape().to_vec();
    shape[axis] = size;
    Array::from_fn(shape, |index| {
        let mut index = index.to_vec();
        index[axis] += start;
        array[index.as_slice()].clone()
    })
}

/// Splits an array into parts of equal size along `axis`; the last one may be smaller.
pub fn split_evenly<const N: usize, T: Clone>(array: &Array<T>, axis: usize) -> [Array<T>; N] {
    let total = array.shape()[axis];
    let size = total.div_ceil(N);
    let sizes = core::array::from_fn(|at| size.min(total.saturating_sub(at * size)));
    split(array, axis, sizes)
}

/// Returns the indices of a slice along one axis.
#[track_caller]
fn along(size: usize, start: i64, end: i64, step: i64) -> Vec<usize> {
    ensure!(step != 0, "expected a nonzero step for a slice, found 0");
    let size = size as i64;
    let counted = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (first, last) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let mut at = counted(start).clamp(first.max(0).min(last.max(0)), last.max(0));
    let end = counted(end).clamp(first, last);
    let mut indices = Vec::new();
    while at < size && if step > 0 { at < end } else { at > end } {
        indices.push(at as usize);
        at = at.saturating_add(step);
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(start: i64, end: i64, step: i64) -> Vec<i64> {
        let array = Array::vector([0i64, 1, 2, 3, 4]);
        slice(&array, &[start], &[end], &[0], &[step]).into_data()
    }

    #[test]
    fn starts_and_ends_are_limited_to_the_axis() {
        assert_eq!(digits(1, i64::MAX, 1), [1, 2, 3, 4]);
        assert_eq!(digits(-100, -3, 1), [0, 1]);
        assert!(digits(7, 9, 1).is_empty());
        assert!(digits(3, 1, 1).is_empty());
    }

    #[test]
    fn a_negative_step_goes_backward() {
        assert_eq!(digits(-1, i64::MIN, -2), [4, 2, 0]);
        assert_eq!(digits(100, 1, -1), [4, 3, 2]);
        assert_eq!(digits(0, i64::MIN, -1), [0]);
        assert_eq!(digits(-100, i64::MIN, -1), [0]);
    }

    #[test]
    fn the_first_axes_are_sliced() {
        let grid = Array::new([2, 2], vec![1, 2, 3, 4]);
        assert_eq!(slice_leading(&grid, &[1], &[2]), Array::new([1, 2], vec![3, 4]));
        assert_eq!(slice_leading(&grid, &[0, 1], &[2, 2]), Array::new([2, 1], vec![2, 4]));
        assert_eq!(slice_leading(&grid, &[], &[]), grid);
    }

    #[test]
    fn axes_that_are_not_named_stay_whole() {
        let grid = Array::new([2, 2], vec![1, 2, 3, 4]);
        let column = slice(&grid, &[1], &[2], &[1], &[1]);
        assert_eq!(column, Array::new([2, 1], vec![2, 4]));
    }

    #[test]
    fn parts_follow_one_another() {
        let grid = Array::new([2, 3], vec![1, 2, 3, 4, 5, 6]);
        let [left, right] = split(&grid, 1, [1, 2]);
        assert_eq!(left, Array::new([2, 1], vec![1, 4]));
        assert_eq!(right, Array::new([2, 2], vec![2, 3, 5, 6]));
        let [_, last] = split_evenly::<2, _>(&grid, 1);
        assert_eq!(last, Array::new([2, 1], vec![3, 6]));
    }

    #[test]
    fn an_empty_axis_gives_nothing() {
        let empty = Array::<i64>::vector([]);
        assert_eq!(slice(&empty, &[0], &[5], &[0], &[1]).shape(), [0]);
        assert_eq!(slice(&empty, &[-1], &[-9], &[0], &[-1]).shape(), [0]);
    }
}
