//! Heads packed into one axis, and their inverse.

use burn::tensor::Tensor;

use crate::{
    ensure,
    shape::reshape,
    spec::{divisible, operand},
};

/// Splits `[batch, length, heads * size]` into `[batch, heads, length, size]`.
///
/// # Panics
/// If the last axis is not divisible by the number of heads.
#[inline(never)]
pub fn split_heads(x: Tensor<3>, heads: usize) -> Tensor<4> {
    divisible(operand("input", &x.dims()), 2, heads, "heads");
    let [batch, length, hidden] = x.dims();
    reshape(x, [batch, length, heads, hidden / heads]).swap_dims(1, 2)
}

/// Returns `x`, which is `[batch, heads, length, size]`, if it has this number of heads.
///
/// # Panics
/// If axis 1 has another size.
#[inline(never)]
pub fn of_heads(x: Tensor<4>, heads: usize) -> Tensor<4> {
    let dims = x.dims();
    ensure!(dims[1] == heads, "expected {heads} heads on axis 1 of {}", operand("input", &dims));
    x
}

/// Inverse of [`split_heads`].
#[inline(never)]
pub fn merge_heads(x: Tensor<4>) -> Tensor<3> {
    let [batch, heads, length, size] = x.dims();
    reshape(x.swap_dims(1, 2), [batch, length, heads * size])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, noise, same};

    #[test]
    fn heads_split_and_merge() {
        let x = float::<3>([[[1f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]);
        let heads = split_heads(x.clone(), 2);
        let expected = [[[[1f32, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]];
        same(heads.clone(), expected);
        same(merge_heads(heads), x.into_data());
    }

    #[test]
    fn a_different_number_of_heads_is_an_error() {
        let x = noise([2, 4, 3, 8], 1);
        same(of_heads(x.clone(), 4), x.clone().into_data());
        let problem = attempt(|| of_heads(x, 2)).unwrap_err().reason;
        assert!(problem.contains("expected 2 heads on axis 1 of"), "{problem}");
        assert!(problem.contains("[2, 4, 3, 8]"), "{problem}");
    }
}
