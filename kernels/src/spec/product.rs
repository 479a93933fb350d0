//! Operands of matrix products.

use alloc::vec::Vec;

use super::types::TensorType;
use crate::ensure;

/// Fails if tensors of these shapes have no product.
#[inline(never)]
pub fn ensure_factors(left: &[usize], right: &[usize]) {
    let below = right[right.len().saturating_sub(2)];
    ensure!(left.last() == Some(&below), "cannot multiply shapes {left:?} and {right:?}");
    let batches = |dims: &[usize]| dims.len().saturating_sub(2);
    let (a, b) = (&left[..batches(left)], &right[..batches(right)]);
    let mut pairs = a.iter().rev().zip(b.iter().rev());
    ensure!(
        pairs.all(|(a, b)| a == b || *a == 1 || *b == 1),
        "cannot multiply shapes {left:?} and {right:?}"
    );
}

/// Returns the shape of a product, at least of rank 1.
///
/// # Panics
/// If there is no such product.
#[inline(never)]
pub fn shape(left: &[usize], right: &[usize]) -> Vec<usize> {
    ensure_factors(left, right);
    let (a, b) = (left.len().saturating_sub(2), right.len().saturating_sub(2));
    let rank = a.max(b);
    let size = |batches: &[usize], at: usize| {
        let at = (at + batches.len()).checked_sub(rank);
        at.map_or(1, |at| batches[at])
    };
    let mut shape: Vec<usize> = (0..rank)
        .map(|at| match (size(&left[..a], at), size(&right[..b], at)) {
            (1, size) | (size, _) => size,
        })
        .collect();
    if left.len() > 1 {
        shape.push(left[left.len() - 2]);
    }
    if right.len() > 1 {
        shape.push(right[right.len() - 1]);
    }
    if shape.is_empty() {
        shape.push(1);
    }
    shape
}

/// Returns the type of the product of two operands of the same rank, at least 2.
pub fn result(left: &TensorType, right: &TensorType) -> TensorType {
    TensorType::new(shape(&left.shape, &right.shape), left.dtype)
}

/// Returns the type of `x * weight` over the last axis of `x`, with a weight `[inputs, outputs]`.
pub fn linear_result(x: &TensorType, weight: &TensorType) -> TensorType {
    let mut shape = x.shape.clone();
    let last = shape.num_dims() - 1;
    shape[last] = weight.shape[1];
    TensorType::new(shape, x.dtype)
}
