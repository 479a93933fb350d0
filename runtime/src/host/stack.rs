//! The arrays of several iterations as one.

use crate::Array;
use alloc::vec::Vec;
use onnx_embed_kernels::sizes::elements;
use onnx_embed_kernels::spec::{equal_shapes, operand};

/// Bytes that an array takes beside its elements, about.
const OVERHEAD: usize = 96;

/// Adds an item to those that become one array, as those of a loop's iterations.
///
/// # Panics
/// If all of them would exceed the memory limit, what each takes beside its elements included.
#[track_caller]
pub fn push<T>(items: &mut Vec<Array<T>>, item: Array<T>) {
    let bytes = item.len().saturating_mul(size_of::<T>());
    elements(&[items.len() + 1], bytes.saturating_add(OVERHEAD));
    items.push(item);
}

/// The items along a new axis; `none` is the shape where there are no items.
///
/// # Panics
///
/// If two differ in shape.
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
