//! Sequences: access to items, insertion, splitting of arrays.

use super::normalized;
use super::slice::part;
use alloc::vec::Vec;
use onnx_embed_kernels::{ensure, fault::fail, sizes::elements};

use crate::Array;

/// Returns the item at a position. Negative positions count from the end.
#[track_caller]
pub fn at<T: Clone>(sequence: &[T], position: i64) -> T {
    sequence[normalized(position, sequence.len())].clone()
}

/// Returns the value of an optional, or fails if it is empty.
pub fn present<T>(optional: Option<T>) -> T {
    match optional {
        Some(value) => value,
        None => fail("expected the optional to contain a value, found none"),
    }
}

/// Minimum number of bytes of an item: the handle of a tensor and the block of its memory.
const ITEM: usize = 256;

/// Appends an item.
#[track_caller]
pub fn with<T>(mut sequence: Vec<T>, item: T) -> Vec<T> {
    elements(&[sequence.len() + 1], ITEM);
    sequence.push(item);
    sequence
}

/// Inserts an item before the one at a position.
#[track_caller]
pub fn with_at<T>(mut sequence: Vec<T>, position: i64, item: T) -> Vec<T> {
    let length = sequence.len();
    elements(&[length + 1], ITEM);
    let at = match position {
        ..0 => normalized(position, length),
        _ => normalized(position, length + 1),
    };
    sequence.insert(at, item);
    sequence
}

/// Removes the item at a position.
#[track_caller]
pub fn without<T>(mut sequence: Vec<T>, position: i64) -> Vec<T> {
    sequence.remove(normalized(position, sequence.len()));
    sequence
}

/// Splits an array into parts with these sizes along `axis`.
#[track_caller]
pub fn parts<T: Clone>(array: &Array<T>, axis: usize, sizes: &[i64]) -> Vec<Array<T>> {
    let total: i64 = sizes.iter().sum();
    let size = array.shape()[axis];
    ensure!(total == size as i64, "expected non-negative split sizes with a sum of {size}, found {sizes:?}");
    let mut start = 0;
    let next = |&size: &usize| {
        let part = part(array, axis, start, size);
        start += size;
        part
    };
    super::shape(sizes).iter().map(next).collect()
}

/// Splits an array into parts with this size along `axis`; the last one may be smaller.
#[track_caller]
pub fn chunks<T: Clone>(array: &Array<T>, axis: usize, size: i64) -> Vec<Array<T>> {
    ensure!(size > 0, "expected a positive split size, found {size}");
    let total = array.shape()[axis] as i64;
    let starts = (0..total).step_by(usize::try_from(size).unwrap_or(usize::MAX));
    let sizes: Vec<i64> = starts.map(|start| size.min(total - start)).collect();
    parts(array, axis, &sizes)
}

/// Returns the slices along `axis`, without this axis.
pub fn unbind<T: Clone>(array: &Array<T>, axis: usize) -> Vec<Array<T>> {
    let slices = chunks(array, axis, 1);
    slices.iter().map(|slice| super::squeeze(slice, &[axis as i64])).collect()
}

/// Returns the length of a sequence of a batch.
///
/// # Panics
///
/// If there is no such length, or if it is negative or above `longest`.
pub fn length(lengths: &[i64], sequence: usize, longest: usize) -> usize {
    let length = usize::try_from(lengths[sequence]).ok();
    length.filter(|&length| length <= longest).unwrap_or_else(|| {
        let length = lengths[sequence];
        fail(format_args!("expected a length from 0 to {longest} for sequence {sequence}, found {length}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_either_end() {
        assert_eq!((at(&[1, 2, 3], 0), at(&[1, 2, 3], -1)), (1, 3));
        assert_eq!(with_at(vec![1, 2], 2, 9), [1, 2, 9]);
        assert_eq!(with_at(vec![1, 2], -1, 9), [1, 9, 2]);
        assert_eq!(with_at(vec![], 0, 9), [9]);
        assert_eq!(with(vec![1], 9), [1, 9]);
        assert_eq!(without(vec![1, 2, 3], -2), [1, 3]);
    }

    #[test]
    fn parts_follow_one_another() {
        let grid = Array::new([2, 3], vec![1, 2, 3, 4, 5, 6]);
        let columns = chunks(&grid, 1, 2);
        assert_eq!(columns[0], Array::new([2, 2], vec![1, 2, 4, 5]));
        assert_eq!(columns[1], Array::new([2, 1], vec![3, 6]));
        assert_eq!(unbind(&grid, 0)[1], Array::vector([4, 5, 6]));
        assert_eq!(parts(&grid, 1, &[0, 3])[0].shape(), [2, 0]);
        assert_eq!(unbind(&Array::vector(["a"]), 0), [Array::scalar("a")]);
    }

    #[test]
    fn nothing_has_no_parts() {
        assert!(chunks(&Array::<i64>::vector([]), 0, 2).is_empty());
    }

    #[test]
    fn a_length_is_that_of_its_sequence() {
        assert_eq!(length(&[2, 0], 0, 2), 2);
        assert_eq!(length(&[2, 0], 1, 2), 0);
    }
}
