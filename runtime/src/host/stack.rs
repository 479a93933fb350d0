//! Arrays of several iterations, stacked to one.

use crate::Array;
use alloc::vec::Vec;
use onnx_embed_kernels::sizes::elements;
use onnx_embed_kernels::spec::{equal_shapes, operand};

/// Approximate number of bytes of an array in addition to its elements.
const OVERHEAD: usize = 96;

/// Adds an item to those that will be stacked, such as the results of the iterations of a loop.
///
/// # Panics
///
/// If all items, including their overhead, would exceed the memory limit.
#[track_caller]
pub fn push<T>(items: &mut Vec<Array<T>>, item: Array<T>) {
    let bytes = item.len().saturating_mul(size_of::<T>());
    elements(&[items.len() + 1], bytes.saturating_add(OVERHEAD));
    items.push(item);
}

/// Stacks the items along a new axis. `none` is the shape of the result if there are no items.
///
/// # Panics
///
/// If two items differ in shape.
pub fn stack<T: Clone>(items: &[Array<T>], axis: usize, none: &[usize]) -> Array<T> {
    let Some(first) = items.first() else {
        return Array::new(none, Vec::new());
    };
    for pair in items.windows(2) {
        equal_shapes(operand("item", pair[0].shape()), operand("next item", pair[1].shape()));
    }
    let mut shape = first.shape().to_vec();
    shape.insert(axis, items.len());
    Array::from_fn(shape, |index| {
        let mut rest = index.to_vec();
        let item = rest.remove(axis);
        items[item][rest.as_slice()].clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_embed_kernels::attempt::attempt;

    #[test]
    fn items_become_an_axis() {
        let items = [Array::vector([1, 2]), Array::vector([3, 4])];
        assert_eq!(stack(&items, 0, &[]), Array::new([2, 2], vec![1, 2, 3, 4]));
        assert_eq!(stack(&items, 1, &[]), Array::new([2, 2], vec![1, 3, 2, 4]));
    }

    #[test]
    fn items_of_other_shapes_are_not_stacked() {
        for items in [[vec![1, 2], vec![3]], [vec![3], vec![1, 2]]] {
            let fault = attempt(|| stack(&items.map(Array::vector), 0, &[])).unwrap_err();
            assert!(fault.reason.ends_with("to have the same shape"), "{}", fault.reason);
        }
    }

    #[test]
    fn no_items_have_the_shape_asked_for() {
        assert_eq!(stack::<i64>(&[], 0, &[0, 3]).shape(), [0, 3]);
    }
}
