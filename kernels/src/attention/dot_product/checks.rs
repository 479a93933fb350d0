//! Checks of the operands of attention.

use burn::tensor::{Int, Tensor, kind::Basic};

use super::AttentionMask;
use crate::{attempt::lengths, ensure, shape::expand::to_shape, spec::attention as spec};

/// Checks that the operands fit, and returns `valid`, checked.
pub fn checked(
    query: &Tensor<4>,
    key: &Tensor<4>,
    value: &Tensor<4>,
    mask: Option<&AttentionMask>,
    valid: Option<Tensor<1, Int>>,
) -> Option<Tensor<1, Int>> {
    spec::heads(query.dims(), key.dims(), value.dims());
    let [batch, heads, queries, _] = query.dims();
    let keys = key.dims()[2];
    let dims = mask.map(AttentionMask::dims);
    for mask in dims.into_iter().flatten().flatten() {
        spec::short_mask(mask, [batch, heads, queries, keys]);
    }
    valid.map(|valid| {
        spec::per_batch("tensor of valid keys", valid.dims(), query.dims());
        lengths(valid, keys)
    })
}

impl AttentionMask {
    fn dims(&self) -> [Option<[usize; 4]>; 2] {
        match self {
            Self::Allowed(mask) => [Some(mask.dims()), None],
            Self::Bias(bias) => [Some(bias.dims()), None],
            Self::AllowedWithBias(mask, bias) => [mask.dims(), bias.dims()].map(Some),
        }
    }
}

/// Returns a mask of `keys` keys: unchanged, or the mask of a single key repeated.
///
/// # Panics
/// If it has another number of keys.
#[inline(never)]
pub fn whole_mask<K: Basic>(mask: Tensor<4, K>, keys: usize) -> Tensor<4, K> {
    let mut shape = mask.dims();
    ensure!([1, keys].contains(&shape[3]), "expected a mask of 1 or {keys} keys, found shape {shape:?}");
    shape[3] = keys;
    to_shape(mask, shape)
}
