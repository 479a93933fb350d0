//! Creation of arrays, and conversion of types.

use super::{Number, Scalar, Wide, normalized, shape};
use alloc::vec::Vec;
#[cfg(not(feature = "std"))]
use num_traits::Float as _;
use onnx_embed_kernels::ensure;
use onnx_embed_kernels::sizes::elements;

use crate::Array;

/// Returns the values from `start` up to `limit` in steps of `delta`.
///
/// Each value is computed from `start`, so that rounding errors do not accumulate.
///
/// # Panics
///
/// If the step is 0, if the number of elements is not finite, or if they exceed the memory limit.
#[track_caller]
pub fn range<T: Number>(start: &Array<T>, limit: &Array<T>, delta: &Array<T>) -> Array<T> {
    let (start, limit, delta) = (start.item(), limit.item(), delta.item());
    ensure!(delta != T::ZERO, "expected a nonzero step for a range, found 0");
    match (start.widen(), limit.widen(), delta.widen()) {
        (Wide::Int(start), Wide::Int(limit), Wide::Int(delta)) => {
            let count = ((limit - start + delta - delta.signum()) / delta).max(0);
            elements(&[usize::try_from(count).unwrap_or(usize::MAX)], size_of::<T>());
            let value = |i| T::narrow(Wide::Int(start + i * delta));
            Array::vector((0..count).map(value).collect::<Vec<_>>())
        }
        (Wide::Float(start), Wide::Float(limit), Wide::Float(delta)) => {
            let count = ((limit - start) / delta).ceil();
            ensure!(
                count.is_finite(),
                "expected a finite range, found {start} to {limit} in steps of {delta}"
            );
            let count = count.max(0.0) as u64;
            elements(&[usize::try_from(count).unwrap_or(usize::MAX)], size_of::<T>());
            let value = |i| T::narrow(Wide::Float(start + i as f64 * delta));
            Array::vector((0..count).map(value).collect::<Vec<_>>())
        }
        _ => unreachable!("one type is either of integers or of floats"),
    }
}

/// Computes ONNX's `ConstantOfShape`: an array filled with `value`.
pub fn fill<T: Clone>(sizes: &[i64], value: T) -> Array<T> {
    Array::from_fn(shape(sizes), |_| value.clone())
}

/// Converts the values to another type, as ONNX's `Cast` does.
pub fn cast<T: Scalar, U: Scalar>(array: &Array<T>) -> Array<U> {
    array.map(|value| U::narrow(value.widen()))
}

/// Returns an axis that the model computes, counted from the front.
#[track_caller]
pub fn axis(axis: i64, rank: usize) -> usize {
    normalized(axis, rank)
}

/// Returns axes that the model computes, counted from the front.
pub fn axes(axes: &Array<i64>, rank: usize) -> Vec<usize> {
    axes.data().iter().map(|&axis| normalized(axis, rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<T: Number>(start: T, limit: T, delta: T) -> Vec<T> {
        range(&start.into(), &limit.into(), &delta.into()).into_data()
    }

    #[test]
    fn ranges_go_up_and_down() {
        assert_eq!(numbers(3i64, 9, 3), [3, 6]);
        assert_eq!(numbers(10i64, 4, -2), [10, 8, 6]);
        assert!(numbers(1i64, 0, 1).is_empty());
        assert_eq!(numbers(0.0f32, 1.0, 0.5), [0.0, 0.5]);
    }

    #[test]
    fn a_step_past_the_last_number_of_the_type_ends_the_range() {
        assert_eq!(numbers(0i8, 127, 100), [0, 100]);
    }

    #[test]
    fn fill_may_make_a_scalar() {
        assert_eq!(fill(&[], 7i64), Array::scalar(7));
        assert_eq!(fill(&[2, 0], 7i64).shape(), [2, 0]);
    }

    #[test]
    fn cast_changes_the_type_alone() {
        let cast: Array<bool> = cast(&Array::vector([0.0f32, -0.5]));
        assert_eq!(cast.data(), [false, true]);
    }

    #[test]
    fn negative_axes_count_from_the_end() {
        assert_eq!(axes(&Array::vector([-1i64, 0]), 3), [2, 0]);
    }
}
