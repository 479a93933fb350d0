//! Reductions and cumulative sums.

use super::arithmetic::{larger, smaller};
use super::{Number, Wide, axis};
use alloc::vec::Vec;

use crate::Array;

/// Returns the sum over `axes`, which remain with size 1 if `keep`.
pub fn reduce_sum<T: Number>(array: &Array<T>, axes: &[usize], keep: bool) -> Array<T> {
    reduce(array, axes, keep, |values| values.into_iter().fold(T::ZERO, T::add))
}

/// Returns the product over `axes`, which remain with size 1 if `keep`.
pub fn reduce_prod<T: Number>(array: &Array<T>, axes: &[usize], keep: bool) -> Array<T> {
    reduce(array, axes, keep, |values| values.into_iter().fold(T::ONE, T::mul))
}

/// Returns the mean over `axes`, which remain with size 1 if `keep`.
///
/// The mean of integers is exact and truncated toward zero. The mean of no elements is 0.
pub fn reduce_mean<T: Number>(array: &Array<T>, axes: &[usize], keep: bool) -> Array<T> {
    reduce(array, axes, keep, |values| {
        let count = values.len() as i128;
        let ints = values.iter().map(|value| match value.widen() {
            Wide::Int(value) => Some(value),
            Wide::Float(_) => None,
        });
        match ints.sum::<Option<i128>>() {
            _ if count == 0 => T::ZERO,
            Some(sum) => T::narrow(Wide::Int(sum / count)),
            None => {
                let count = T::narrow(Wide::Int(count));
                values.into_iter().fold(T::ZERO, T::add).div(count)
            }
        }
    })
}

/// Returns the smallest value over `axes`, which remain with size 1 if `keep`.
pub fn reduce_min<T: Number>(array: &Array<T>, axes: &[usize], keep: bool) -> Array<T> {
    reduce(array, axes, keep, |values| extreme(values, smaller, f64::INFINITY))
}

/// Returns the largest value over `axes`, which remain with size 1 if `keep`.
pub fn reduce_max<T: Number>(array: &Array<T>, axes: &[usize], keep: bool) -> Array<T> {
    reduce(array, axes, keep, |values| extreme(values, larger, f64::NEG_INFINITY))
}

/// Returns the reduced axes in ascending order. An empty list means all axes if `all`.
pub fn reduced_axes(axes: &[i64], rank: usize, all: bool) -> Vec<usize> {
    if axes.is_empty() && all {
        return (0..rank).collect();
    }
    let mut axes: Vec<usize> = axes.iter().map(|&at| axis(at, rank)).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// Returns the cumulative sum along `axis`: without the element itself if `exclusive`, from the end if `reverse`.
pub fn cumsum<T: Number>(array: &Array<T>, axis: usize, exclusive: bool, reverse: bool) -> Array<T> {
    let (values, shape) = (array.data(), array.shape());
    let (size, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let mut sums = values.to_vec();
    for first in 0..values.len().checked_div(size).unwrap_or(0) {
        let start = first / inner * size * inner + first % inner;
        let mut sum = T::ZERO;
        for step in 0..size {
            let offset = start + inner * if reverse { size - 1 - step } else { step };
            let before = sum;
            sum = sum.add(values[offset]);
            sums[offset] = if exclusive { before } else { sum };
        }
    }
    Array::new(shape, sums)
}

fn reduce<T: Number>(array: &Array<T>, axes: &[usize], keep: bool, fold: impl Fn(Vec<T>) -> T) -> Array<T> {
    let sizes = |inside: bool| {
        let sizes = array.shape().iter().enumerate();
        let size = move |(axis, size): (usize, &usize)| {
            if axes.contains(&axis) == inside { *size } else { 1 }
        };
        sizes.map(size).collect::<Vec<_>>()
    };
    let reduced = Array::from_fn(sizes(false), |outer| {
        let values = Array::from_fn(sizes(true), |inner| {
            let index: Vec<_> = outer.iter().zip(inner).map(|(a, b)| a + b).collect();
            array[index.as_slice()]
        });
        fold(values.into_data())
    });
    if keep {
        reduced
    } else {
        let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
        super::squeeze(&reduced, &axes)
    }
}

/// Returns the value that `pick` prefers, or the value of the type that is nearest to `none` if there are no values.
fn extreme<T: Number>(values: Vec<T>, pick: fn(T, T) -> T, none: f64) -> T {
    values.into_iter().reduce(pick).unwrap_or_else(|| T::nearest(Wide::Float(none)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Array<i64> {
        Array::new([2, 3], vec![1, 2, 3, 4, 5, 6])
    }

    #[test]
    fn reduced_axes_go_or_stay_with_size_one() {
        assert_eq!(reduce_sum(&grid(), &[1], false), Array::vector([6, 15]));
        assert_eq!(reduce_sum(&grid(), &[0], true), Array::new([1, 3], vec![5, 7, 9]));
        assert_eq!(reduce_prod(&grid(), &[0, 1], false), Array::scalar(720));
    }

    #[test]
    fn extremes_are_taken_per_row() {
        assert_eq!(reduce_max(&grid(), &[1], false).data(), [3, 6]);
        assert_eq!(reduce_min(&grid(), &[0], false).data(), [1, 2, 3]);
        assert_eq!(reduce_mean(&grid(), &[1], false).data(), [2, 5]);
        let far = Array::vector([i64::MAX, i64::MAX, 3]);
        assert_eq!(reduce_mean(&far, &[0], false).data(), [6_148_914_691_236_517_205]);
        let nothing = reduce_mean(&Array::<f32>::vector([]), &[0], false);
        assert_eq!(nothing.item(), 0.0);
    }

    #[test]
    fn nothing_has_the_bounds_of_its_type_as_extremes() {
        let ints = Array::<i32>::new([0, 2], vec![]);
        assert_eq!(reduce_max(&ints, &[0], false).data(), [i32::MIN; 2]);
        assert_eq!(reduce_min(&ints, &[0], false).data(), [i32::MAX; 2]);
        let floats = Array::<f32>::vector([]);
        assert_eq!(reduce_max(&floats, &[0], false).item(), f32::NEG_INFINITY);
        assert_eq!(reduce_min(&floats, &[0], false).item(), f32::INFINITY);
    }

    #[test]
    fn the_product_of_nothing_is_one() {
        let empty = Array::<i64>::vector([]);
        assert_eq!(reduce_prod(&empty, &[0], false), Array::scalar(1));
    }

    #[test]
    fn axes_rise_and_none_may_be_all() {
        assert_eq!(reduced_axes(&[-1, 0, 2], 3, true), [0, 2]);
        assert_eq!(reduced_axes(&[], 2, true), [0, 1]);
        assert!(reduced_axes(&[], 2, false).is_empty());
    }

    #[test]
    fn running_sums_go_both_ways() {
        let array = Array::vector([1i64, 2, 3]);
        assert_eq!(cumsum(&array, 0, false, false).data(), [1, 3, 6]);
        assert_eq!(cumsum(&array, 0, true, false).data(), [0, 1, 3]);
        assert_eq!(cumsum(&array, 0, false, true).data(), [6, 5, 3]);
        assert_eq!(cumsum(&array, 0, true, true).data(), [5, 3, 0]);
    }
}
