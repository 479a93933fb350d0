//! Slice and Split.

use alloc::{vec, vec::Vec};
use burn::tensor::{Slice, Tensor, kind::Basic};

use crate::{ensure, shape::empty};

/// [`slice()`] of the first axes, one per start, in steps of 1.
pub fn slice_leading<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    starts: &[i64],
    ends: &[i64],
) -> Tensor<D, K> {
    let axes: Vec<i64> = (0..).take(starts.len()).collect();
    slice(x, starts, ends, &axes, &vec![1; starts.len()])
}

/// Slice: from `starts` to before `ends` in `steps` along `axes`. Negative bounds and axes count from the
/// end; bounds are clamped.
///
/// # Panics
/// If a step is 0.
pub fn slice<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    starts: &[i64],
    ends: &[i64],
    axes: &[i64],
    steps: &[i64],
) -> Tensor<D, K> {
    ensure!(
        [ends.len(), axes.len(), steps.len()] == [starts.len(); 3],
        "expected equal numbers of starts, ends, axes and steps, found {}, {}, {} and {}",
        starts.len(),
        ends.len(),
        axes.len(),
        steps.len()
    );
    let dims = x.dims();
    let mut shape = dims;
    let mut slices = [Slice::full(); D];
    for (at, &axis) in axes.iter().enumerate() {
        let counted = if axis < 0 { axis + D as i64 } else { axis };
        ensure!((0..D as i64).contains(&counted), "axis {axis} is out of bounds for rank {D}");
        let axis = counted as usize;
        let (range, size) = along(starts[at], ends[at], steps[at], dims[axis]);
        (slices[axis], shape[axis]) = (range, size);
    }
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    if slices.iter().all(|slice| *slice == Slice::full()) { x } else { x.slice(slices) }
}

/// Split into parts of these sizes.
pub fn split<const N: usize, const D: usize, K: Basic>(
    x: Tensor<D, K>,
    axis: usize,
    sizes: [usize; N],
) -> [Tensor<D, K>; N] {
    let (total, size) = (sizes.iter().sum::<usize>(), x.dims()[axis]);
    ensure!(total == size, "expected split sizes with a sum of {size}, found {sizes:?}");
    let mut start = 0;
    sizes.map(|size| {
        start += size;
        part(x.clone(), axis, start - size, size)
    })
}

/// Split into parts of equal size; the last may be smaller.
pub fn split_evenly<const N: usize, const D: usize, K: Basic>(
    x: Tensor<D, K>,
    axis: usize,
) -> [Tensor<D, K>; N] {
    let total = x.dims()[axis];
    let size = total.div_ceil(N);
    let sizes = core::array::from_fn(|at| size.min(total.saturating_sub(at * size)));
    split(x, axis, sizes)
}

/// Split into one part per size.
pub fn split_to_vec<const D: usize, K: Basic>(
    x: Tensor<D, K>,
    axis: usize,
    sizes: &[usize],
) -> Vec<Tensor<D, K>> {
    let mut start = 0;
    let mut next = |&size: &usize| {
        start += size;
        part(x.clone(), axis, start - size, size)
    };
    sizes.iter().map(&mut next).collect()
}

fn part<const D: usize, K: Basic>(x: Tensor<D, K>, axis: usize, start: usize, size: usize) -> Tensor<D, K> {
    let mut shape = x.dims();
    shape[axis] = size;
    if shape.contains(&0) { empty(&x, shape) } else { x.narrow(axis, start, size) }
}

/// Converts ONNX bounds on an axis to a slice of Burn, and returns its size. With a negative step, Burn
/// starts at the end of the range.
fn along(start: i64, end: i64, step: i64, size: usize) -> (Slice, usize) {
    ensure!(step != 0, "expected a nonzero step for a slice, found 0");
    let size = size as i64;
    let from_start = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (low, high) = if step > 0 {
        (from_start(start).clamp(0, size), from_start(end).clamp(0, size))
    } else {
        (from_start(end).clamp(-1, size - 1) + 1, from_start(start).max(0).min(size - 1) + 1)
    };
    let length = (high - low).max(0);
    if (low, length, step) == (0, size, 1) {
        return (Slice::full(), size as usize);
    }
    let step = step.clamp(-length.max(1), length.max(1));
    let count = (length as usize).div_ceil(step.unsigned_abs() as usize);
    (Slice::new(low as isize, Some(high as isize), step as isize), count)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::attempt::attempt;
    use crate::shape::WithShape;
    use crate::testing::{bool, int, same};

    fn line(start: i64, end: i64, step: i64) -> Vec<i64> {
        let x = int::<1>([0i64, 1, 2, 3, 4, 5]);
        let y = slice(x, &[start], &[end], &[0], &[step]);
        y.into_data().iter().collect()
    }

    #[test]
    fn bounds_count_from_either_end_and_are_cut_off() {
        assert_eq!(line(1, -1, 1), [1, 2, 3, 4]);
        assert_eq!(line(-2, i64::MAX, 1), [4, 5]);
        assert_eq!(line(i64::MIN, 2, 1), [0, 1]);
        assert_eq!(line(4, 2, 1), [0i64; 0]);
        assert_eq!(line(9, 12, 1), [0i64; 0]);
        assert_eq!(line(0, 6, 1), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn steps_go_both_ways() {
        assert_eq!(line(1, 6, 2), [1, 3, 5]);
        assert_eq!(line(-1, i64::MIN, -1), [5, 4, 3, 2, 1, 0]);
        assert_eq!(line(20, 0, -2), [5, 3, 1]);
        assert_eq!(line(4, 0, -3), [4, 1]);
        assert_eq!(line(0, i64::MIN, -1), [0]);
        assert_eq!(line(0, i64::MAX, i64::MAX), [0]);
        assert_eq!(line(5, i64::MIN, i64::MIN), [5]);
        assert_eq!(line(1, 4, -1), [0i64; 0]);
        assert_eq!(line(-9, -20, -1), [0]);
    }

    #[test]
    fn the_first_axes_are_sliced() {
        let x = int::<2>([[1i32, 2, 3], [4, 5, 6]]);
        same(slice_leading(x.clone(), &[1], &[2]), [[4i32, 5, 6]]);
        same(slice_leading(x.clone(), &[0, -2], &[2, 9]), [[2i32, 3], [5, 6]]);
        same(slice_leading(x.clone(), &[], &[]), x.into_data());
    }

    #[test]
    fn lists_are_equally_long() {
        let x = int::<2>([[1i32, 2, 3], [4, 5, 6]]);
        let error = attempt(|| slice_leading(x.clone(), &[0, 0, 0], &[1, 1, 1]).dims());
        assert_eq!(error.unwrap_err().reason, "axis 2 is out of bounds for rank 2");
        let error = attempt(|| slice(x, &[0], &[1], &[0, 1], &[1]).dims());
        assert_eq!(
            error.unwrap_err().reason,
            "expected equal numbers of starts, ends, axes and steps, found 1, 1, 2 and 1"
        );
    }

    #[test]
    fn axes_come_in_any_order_and_any_kind() {
        let x = bool::<2>([[true, false, false], [false, true, true]]);
        let y = slice(x, &[0, 1], &[2, 0], &[-1, 0], &[1, -1]);
        same(y, [[false, true]]);
        let x = int::<2>(TensorData::new(Vec::<i32>::new(), [0, 3]));
        let y = slice(x, &[-1], &[-9], &[1], &[-2]);
        same(y, TensorData::new(Vec::<i32>::new(), [0, 2]));
    }

    #[test]
    fn a_reversed_view_computes_like_any_other() {
        let x = int::<2>([[1i32, 2, 3], [4, 5, 6]]);
        let y = slice(x.clone(), &[-1], &[-9], &[1], &[-1]);
        same(y.clone().add(x), [[4i32, 4, 4], [10, 10, 10]]);
        same(y.with_shape([3, 2]), [[3i32, 2], [1, 6], [5, 4]]);
    }

    #[test]
    fn parts_may_be_empty() {
        let x = int::<2>([[1i32, 2, 3], [4, 5, 6]]);
        let [a, b, c] = split(x.clone(), 1, [1, 0, 2]);
        same(a, [[1i32], [4]]);
        same(b, TensorData::new(Vec::<i32>::new(), [2, 0]));
        same(c, [[2i32, 3], [5, 6]]);
        let parts = split_to_vec(x.clone(), 0, &[1, 1]);
        assert_eq!(parts.len(), 2);
        let [a, b] = split_evenly(x, 1);
        same(a, [[1i32, 2], [4, 5]]);
        same(b, [[3i32], [6]]);
    }
}
