//! Concatenation along an existing or a new axis.

use alloc::vec::Vec;
use burn::backend::Dispatch;
use burn::tensor::{Tensor, kind::Basic};

#[cfg(feature = "flex")]
use crate::observe::by_host;
use crate::{
    backend::{Parts, call},
    shape::insert_axis,
    sizes::{elements, product, sum},
    spec::{equal_shapes, join, operand},
};

/// Approximate number of bytes of a tensor in addition to its elements: its handle and the header of its allocation.
const OVERHEAD: usize = 256;

/// Concat: concatenation along an axis.
///
/// # Panics
/// If two differ in a size along another axis, or the result exceeds the memory limit.
pub fn concat<const D: usize, K: Basic>(parts: Vec<Tensor<D, K>>, axis: usize) -> Tensor<D, K> {
    let dims: Vec<[usize; D]> = parts.iter().map(Tensor::dims).collect();
    join::check(dims.iter().map(|dims| &dims[..]), axis);
    if let Some(first) = parts.first() {
        let mut shape = first.dims();
        shape[axis] = sum(parts.iter().map(|part| part.dims()[axis]));
        elements(&shape, first.dtype().size());
    }
    #[cfg(feature = "flex")]
    if let Some(joined) = on_flex_joined(&parts, axis) {
        by_host("concat");
        return joined;
    }
    let is_full = |part: &Tensor<D, K>| part.shape().num_elements() > 0;
    if (2..=Parts::<Dispatch>::MAX_TENSORS).contains(&parts.len()) && parts.iter().all(is_full) {
        let operands = parts.clone();
        if let Some(joined) = call!(concat(operands; axis)).tensor() {
            return Tensor::from_dispatch(joined);
        }
    }
    Tensor::cat(parts, axis)
}

#[cfg(feature = "flex")]
fn on_flex_joined<const D: usize, K: Basic>(parts: &[Tensor<D, K>], axis: usize) -> Option<Tensor<D, K>> {
    use crate::backend::{of_flex, on_flex};

    let parts = parts.iter().map(on_flex).collect::<Option<_>>()?;
    let joined = crate::flex::copy::concat(parts, axis)?;
    Some(of_flex(joined))
}

/// Adds an item to those that become one tensor, such as the outputs of a loop's iterations.
///
/// # Panics
/// If all of them would exceed the memory limit, including the overhead of each.
pub fn push<const D: usize, K: Basic>(items: &mut Vec<Tensor<D, K>>, item: Tensor<D, K>) {
    let bytes = elements(&item.dims(), item.dtype().size()) * item.dtype().size();
    elements(&[items.len() + 1], bytes.saturating_add(OVERHEAD));
    items.push(item);
}

/// Returns the items, if they fit into one tensor.
///
/// # Panics
/// If all of them exceed the memory limit.
pub fn bounded<const D: usize, K: Basic>(items: Vec<Tensor<D, K>>) -> Vec<Tensor<D, K>> {
    let counts = items.iter().map(|item| product(&item.dims()));
    let bytes = items.first().map_or(1, |item| item.dtype().size());
    elements(&[sum(counts)], bytes);
    items
}

/// Concatenates the items along a new axis. Burn's `stack` treats a size of 0 as "unchanged".
///
/// # Panics
/// If there are no items, or two differ in shape.
pub fn stack<const D: usize, const E: usize, K: Basic>(
    items: Vec<Tensor<D, K>>,
    axis: usize,
) -> Tensor<E, K> {
    let items = items.into_iter().map(|item| insert_axis(item, axis));
    concat(items.collect(), axis)
}

/// Concatenates the items along a new axis; calls `none` if there are no items.
pub fn stack_or<const D: usize, const E: usize, K: Basic>(
    items: Vec<Tensor<D, K>>,
    axis: usize,
    none: impl FnOnce() -> Tensor<E, K>,
) -> Tensor<E, K> {
    for pair in items.windows(2) {
        equal_shapes(operand("item", &pair[0].dims()), operand("next item", &pair[1].dims()));
    }
    if items.is_empty() { none() } else { stack(items, axis) }
}

/// Concatenates items of one element to a vector; calls `none` if there are no items.
pub fn cat_or<K: Basic>(items: Vec<Tensor<1, K>>, none: impl FnOnce() -> Tensor<1, K>) -> Tensor<1, K> {
    if items.is_empty() { none() } else { Tensor::cat(items, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attempt::attempt,
        memory_limit::with_memory_limit,
        shape::expand::to_shape,
        testing::{float, same},
    };

    #[test]
    fn items_become_an_axis() {
        let items = vec![float::<1>([1f32, 2.0]), float([3f32, 4.0])];
        same(stack_or(items, 1, || float::<2>([[0f32]])), [[1f32, 3.0], [2.0, 4.0]]);
        same(cat_or(vec![float([1f32]), float([2f32])], || float([0f32])), [1f32, 2.0]);
    }

    #[test]
    fn items_are_counted() {
        let collected = |limit| {
            let mut items = Vec::new();
            with_memory_limit(limit, || {
                attempt(|| (0..100).for_each(|_| push(&mut items, float::<1>([1f32]))))
            })
            .map(|()| items.len())
        };
        assert_eq!(collected(100 * (OVERHEAD + 4)), Ok(100));
        let reason = collected(50 * (OVERHEAD + 4)).unwrap_err().reason;
        assert!(reason.starts_with("shape [51] requires 12.9 KiB"), "{reason}");
    }

    #[test]
    fn joined_tensors_are_bounded() {
        let x = || to_shape(float::<2>([[1f32, 2.0]]), [100, 2]);
        let joined = |limit| with_memory_limit(limit, || attempt(|| concat(vec![x(), x()], 0).dims()));
        assert_eq!(joined(1600), Ok([200, 2]));
        assert_eq!(
            joined(1599).unwrap_err().reason,
            "shape [200, 2] requires 1.6 KiB, the memory limit is 1.6 KiB"
        );
    }

    #[test]
    fn no_items_yield_the_default() {
        let none = || float::<2>([[7f32]]);
        same(stack_or(Vec::<Tensor<1>>::new(), 0, none), [[7f32]]);
    }
}
