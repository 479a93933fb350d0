//! Operators on host arrays.
//!
//! They compute shapes that are known only at run time, without a device.

mod arithmetic;
mod arrange;
mod compare;
mod create;
#[cfg(feature = "image")]
mod image;
mod labels;
mod moves;
mod number;
mod reduce;
#[cfg(feature = "regex")]
mod regular;
mod sequence;
mod slice;
mod stack;
mod string_moves;
mod text;
mod unique;

use alloc::vec::Vec;
pub use arithmetic::{
    abs, add, ceil, div, exp, floor, log, max, min, modulo, mul, neg, pow, remainder, round, sign, sqrt, sub,
};
pub use arrange::{concat, expand, gather, reshape, squeeze, tile, transpose, unsqueeze, write_cache};
pub use compare::{
    and, equal, greater, greater_or_equal, less, less_or_equal, nonzero, not, or, select, xor,
};
pub use create::{axes, axis, cast, fill, range};
#[cfg(feature = "image")]
pub use image::{PixelFormat, decode_image};
pub use labels::{Entry, Label, cast_map, dict_vectorizer, look_up, one_hot_encoder, owned, texts, zip_map};
pub use moves::{MapAsync, to_device, to_device_bool, to_device_int, to_host, to_host_async};
pub use number::{Number, Scalar, Wide};
pub use reduce::{cumsum, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum, reduced_axes};
#[cfg(feature = "regex")]
pub use regular::{Longest, Pattern, full_match, tokens_between, tokens_matching};
pub use sequence::{at, chunks, length, parts, present, unbind, with, with_at, without};
pub use slice::{slice, slice_leading, split, split_evenly};
pub use stack::{push, stack};
pub use string_moves::{named, named_async, numbered};
pub use text::{
    Case, Grams, TokenRows, characters, murmur_hash_3, not_empty, parse, parse_number, print, string_concat,
    string_normalizer, string_split, tf_idf,
};
pub use unique::unique;

pub use crate::{decode_image, regex_full_match, tokenizer};

use onnx_embed_kernels::fault::fail;

use crate::Array;

/// Returns `combine` of each pair of elements, after broadcasting the arrays to one shape.
#[track_caller]
fn zip<A, B, C>(a: &Array<A>, b: &Array<B>, combine: impl Fn(&A, &B) -> C) -> Array<C> {
    if a.shape() == b.shape() {
        let pairs = a.data().iter().zip(b.data());
        return Array::new(a.shape(), pairs.map(|(a, b)| combine(a, b)).collect());
    }
    let shape = broadcast(a.shape(), b.shape());
    Array::from_fn(shape, |index| combine(broadcast_element(a, index), broadcast_element(b, index)))
}

/// Returns the shape that two shapes broadcast to.
#[track_caller]
fn broadcast(a: &[usize], b: &[usize]) -> Vec<usize> {
    let rank = a.len().max(b.len());
    let size = |shape: &[usize], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(axis) => shape[axis],
        None => 1,
    };
    let sizes = (0..rank).map(|axis| match (size(a, axis), size(b, axis)) {
        (1, size) | (size, 1) => size,
        (one, other) if one == other => one,
        _ => fail(format_args!("shapes {a:?} and {b:?} do not broadcast")),
    });
    sizes.collect()
}

/// Returns the element of `array` at `index` of the shape to which it is broadcast.
fn broadcast_element<'a, T>(array: &'a Array<T>, index: &[usize]) -> &'a T {
    let tail = &index[index.len() - array.rank()..];
    let inside = tail.iter().zip(array.shape());
    let offset = inside.fold(0, |offset, (i, size)| offset * size + i.min(&(size - 1)));
    &array.data()[offset]
}

/// Returns `at` as an index below `size`. Negative ones count from the end.
#[track_caller]
fn normalized(at: i64, size: usize) -> usize {
    let counted = if at < 0 { at + size as i64 } else { at };
    match usize::try_from(counted) {
        Ok(index) if index < size => index,
        _ => fail(format_args!("index {at} is out of bounds for size {size}")),
    }
}

/// Returns `N` sizes as a shape.
#[track_caller]
pub fn sizes<const N: usize>(sizes: &[i64]) -> [usize; N] {
    let found = shape(sizes);
    let count = found.len();
    let sizes = found.try_into();
    sizes.unwrap_or_else(|_| fail(format_args!("the number of sizes is {count}, expected {N}")))
}

/// Returns `N` integers as an array.
#[track_caller]
pub fn ints<const N: usize>(ints: &[i64]) -> [i64; N] {
    match ints.try_into() {
        Ok(ints) => ints,
        Err(_) => fail(format_args!("the number of integers is {}, expected {N}", ints.len())),
    }
}

/// Returns sizes as a shape.
#[track_caller]
pub fn shape(sizes: &[i64]) -> Vec<usize> {
    let size = |size: &i64| match usize::try_from(*size) {
        Ok(size) => size,
        Err(_) => fail(format_args!("expected a non-negative size, found {size}")),
    };
    sizes.iter().map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_last_axis() {
        assert_eq!(broadcast(&[2, 1, 3], &[4, 1]), [2, 4, 3]);
        assert_eq!(broadcast(&[], &[0]), [0]);
    }

    #[test]
    fn zip_stretches_axes_of_one() {
        let column = Array::new([2, 1], vec![10, 20]);
        let row = Array::vector([1, 2, 3]);
        let sum = zip(&column, &row, |a, b| a + b);
        assert_eq!(sum, Array::new([2, 3], vec![11, 12, 13, 21, 22, 23]));
    }
}
