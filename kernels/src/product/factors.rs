//! Checks of the operands of matrix products.

use core::iter;

use crate::{ensure, memory_limit::memory_limit, sizes::Bytes, spec};

/// Fails if tensors of these shapes have no product, or if it exceeds the memory limit with 4 bytes per element.
pub fn ensure_factors(left: &[usize], right: &[usize]) {
    spec::product::ensure_factors(left, right);
    let batches = |dims: &[usize]| dims.len().saturating_sub(2);
    let (a, b) = (&left[..batches(left)], &right[..batches(right)]);
    let rows = left.iter().rev().nth(1).copied().unwrap_or(1);
    let columns = if right.len() > 1 { right[right.len() - 1] } else { 1 };
    let (longer, shorter) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let others = shorter.iter().rev().chain(iter::repeat(&1));
    let batch = longer.iter().rev().zip(others).map(|(a, b)| *a.max(b));
    let sizes = batch.chain([rows, columns, size_of::<f32>()]);
    let bytes = sizes.fold(1u128, |bytes, size| bytes.saturating_mul(size as u128));
    let limit = memory_limit();
    ensure!(
        bytes <= limit as u128,
        "the product of shapes {left:?} and {right:?} exceeds the memory limit of {}",
        Bytes(limit)
    );
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use crate::{attempt::attempt, product::matmul::matmul, testing::float};

    #[test]
    fn products_are_bounded() {
        let column = || float::<3>(TensorData::new(vec![0f32; 1 << 18], [1, 1 << 18, 1]));
        let row = || float::<2>(TensorData::new(vec![0f32; 1 << 18], [1, 1 << 18]));
        let found = attempt(|| matmul::<3, 2, 3>(column(), row())).unwrap_err();
        let expected = "the product of shapes [1, 262144, 1] and [1, 262144] exceeds the memory limit of ";
        assert!(found.reason.starts_with(expected), "{found}");
        let found = attempt(|| matmul::<1, 2, 1>(float([1f32]), row()).dims());
        assert_eq!(found, Ok([1 << 18]));
    }
}
