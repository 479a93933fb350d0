//! Elementwise comparison, logic and selection.

use super::{Scalar, Wide, broadcast, broadcast_element, zip};
use crate::Array;
use alloc::{vec, vec::Vec};

/// Returns `a == b`.
pub fn equal<T: PartialEq>(a: &Array<T>, b: &Array<T>) -> Array<bool> {
    zip(a, b, |a, b| a == b)
}

/// Returns `a > b`.
pub fn greater<T: PartialOrd>(a: &Array<T>, b: &Array<T>) -> Array<bool> {
    zip(a, b, |a, b| a > b)
}

/// Returns `a >= b`.
pub fn greater_or_equal<T: PartialOrd>(a: &Array<T>, b: &Array<T>) -> Array<bool> {
    zip(a, b, |a, b| a >= b)
}

/// Returns `a < b`.
pub fn less<T: PartialOrd>(a: &Array<T>, b: &Array<T>) -> Array<bool> {
    zip(a, b, |a, b| a < b)
}

/// Returns `a <= b`.
pub fn less_or_equal<T: PartialOrd>(a: &Array<T>, b: &Array<T>) -> Array<bool> {
    zip(a, b, |a, b| a <= b)
}

/// Returns `true` if both elements are `true`.
pub fn and(a: &Array<bool>, b: &Array<bool>) -> Array<bool> {
    zip(a, b, |a, b| *a && *b)
}

/// Returns `true` if either element is `true`.
pub fn or(a: &Array<bool>, b: &Array<bool>) -> Array<bool> {
    zip(a, b, |a, b| *a || *b)
}

/// Returns `true` if exactly one element is `true`.
pub fn xor(a: &Array<bool>, b: &Array<bool>) -> Array<bool> {
    zip(a, b, |a, b| a != b)
}

/// Returns `true` if the element is `false`.
pub fn not(a: &Array<bool>) -> Array<bool> {
    a.map(|a| !a)
}

/// Computes ONNX's `Where`: `yes` if `condition` is true, otherwise `no`.
pub fn select<T: Clone>(condition: &Array<bool>, yes: &Array<T>, no: &Array<T>) -> Array<T> {
    let shape = broadcast(condition.shape(), &broadcast(yes.shape(), no.shape()));
    Array::from_fn(shape, |index| {
        if *broadcast_element(condition, index) {
            broadcast_element(yes, index).clone()
        } else {
            broadcast_element(no, index).clone()
        }
    })
}

/// Computes ONNX's `NonZero`: a column with the index of each element that is not zero.
pub fn nonzero<T: Scalar>(array: &Array<T>) -> Array<i64> {
    let zero = T::narrow(Wide::Int(0));
    let mut indices = vec![Vec::new(); array.rank()];
    let mut count = 0;
    Array::from_fn(array.shape(), |index| {
        if array[index] != zero {
            count += 1;
            indices.iter_mut().zip(index).for_each(|(row, &at)| row.push(at as i64));
        }
    });
    Array::new([indices.len(), count], indices.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_compare_too() {
        let words = Array::vector(["a".to_string(), "b".to_string()]);
        let same = equal(&words, &Array::scalar("b".to_string()));
        assert_eq!(same.data(), [false, true]);
    }

    #[test]
    fn comparisons_follow_the_order() {
        let (a, b) = (Array::vector([1, 2, 3]), Array::scalar(2));
        assert_eq!(less(&a, &b).data(), [true, false, false]);
        assert_eq!(less_or_equal(&a, &b).data(), [true, true, false]);
        assert_eq!(greater(&a, &b).data(), [false, false, true]);
        assert_eq!(greater_or_equal(&a, &b).data(), [false, true, true]);
    }

    #[test]
    fn logic_has_four_cases() {
        let a = Array::vector([false, false, true, true]);
        let b = Array::vector([false, true, false, true]);
        assert_eq!(and(&a, &b).data(), [false, false, false, true]);
        assert_eq!(or(&a, &b).data(), [false, true, true, true]);
        assert_eq!(xor(&a, &b).data(), [false, true, true, false]);
        assert_eq!(not(&a).data(), [true, true, false, false]);
    }

    #[test]
    fn select_broadcasts_all_three() {
        let condition = Array::new([2, 1], vec![true, false]);
        let chosen = select(&condition, &Array::vector([1, 2]), &Array::scalar(0));
        assert_eq!(chosen, Array::new([2, 2], vec![1, 2, 0, 0]));
    }

    #[test]
    fn indices_of_what_is_not_zero_stand_in_columns() {
        let grid = Array::new([2, 2], vec![0i64, 5, 6, 0]);
        assert_eq!(nonzero(&grid), Array::new([2, 2], vec![0, 1, 1, 0]));
        assert_eq!(nonzero(&Array::scalar(true)), Array::new([0, 1], vec![]));
    }
}
