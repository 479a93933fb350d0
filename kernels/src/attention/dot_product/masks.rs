//! Masks of the keys that each query of Attention attends to.

use burn::tensor::{Bool, DType, Int, Tensor, kind::Basic};

use super::{AttentionMask, AttentionOptions, product};
use crate::shape::WithShape;
use crate::{
    dtype::lowered,
    shape::{
        expand::{common, to_shape},
        pad::pad_constant,
    },
    sizes::elements,
};

/// Keys that each query attends to, and the addend of their scores.
pub struct AttentionMasks {
    /// True if the query attends to the key.
    pub allowed: Option<Tensor<4, Bool>>,
    /// Addend of the scores.
    pub bias: Option<Tensor<4>>,
    /// `true` if a query may have no keys.
    pub may_be_blind: bool,
}

impl AttentionMasks {
    /// Merges mask, cache, padding and windows.
    pub fn new(
        query: &Tensor<4>,
        keys: usize,
        mask: Option<AttentionMask>,
        valid: Option<Tensor<1, Int>>,
        options: &AttentionOptions,
    ) -> Self {
        let queries = query.dims()[2];
        let may_be_blind = mask.is_some() || valid.is_some() || options.left_window.is_some();
        let (allowed, bias) = match mask {
            Some(AttentionMask::Allowed(mask)) => (Some(mask), None),
            Some(AttentionMask::Bias(mask)) => (None, Some(mask)),
            Some(AttentionMask::AllowedWithBias(mask, bias)) => (Some(mask), Some(*bias)),
            None => (None, None),
        };
        let mut allowed = allowed.map(|mask| pad_constant(mask.clone(), missing(&mask, keys), false));
        let bias = bias.map(|mask| {
            let pads = missing(&mask, keys);
            pad_constant(mask, pads, f32::NEG_INFINITY)
        });
        let device = query.device();
        let dtype = match &valid {
            Some(valid) => valid.dtype(),
            None => lowered(&device, DType::I64),
        };
        let line = |length: usize| Tensor::<1, Int>::arange(0..length as i64, (&device, dtype));
        let columns = line(keys).with_shape([1, 1, 1, keys]);
        let rows = line(queries).with_shape([1, 1, queries, 1]);
        let mut narrow = |other: Tensor<4, Bool>| {
            allowed = Some(match allowed.take() {
                Some(allowed) => allowed.bool_and(other),
                None => other,
            });
        };
        let valid = valid.map(|valid| {
            let batch = valid.dims()[0];
            valid.with_shape([batch, 1, 1, 1])
        });
        let sees_all = valid.is_none() && options.past + 1 >= keys;
        let bounded = options.left_window.is_some() || options.right_window.is_some();
        if bounded || options.causal && !sees_all {
            let batch = valid.as_ref().map_or(1, |valid| valid.dims()[0]);
            elements(&[batch, queries, keys], dtype.size());
            let position = match &valid {
                Some(valid) => rows.add(valid.clone()).sub_scalar(queries as i64),
                None => rows.add_scalar(options.past as i64),
            };
            // Distance of each key before the query.
            let distance = position.sub(columns.clone());
            if options.causal {
                narrow(distance.clone().greater_equal_scalar(0));
            }
            if let Some(left) = options.left_window {
                narrow(distance.clone().lower_equal_scalar(left as i64));
            }
            if let Some(right) = options.right_window {
                narrow(distance.greater_equal_scalar(-(right as i64)));
            }
        }
        if let Some(valid) = valid {
            narrow(columns.lower(valid));
        }
        AttentionMasks { allowed, bias, may_be_blind }
    }

    /// Returns the scores with the bias added and masked keys at negative infinity.
    pub fn applied_to(&self, scores: Tensor<4>) -> Tensor<4> {
        let shape = scores.dims();
        let scores = match &self.bias {
            Some(bias) => scores.add(bias.clone()),
            None => scores,
        };
        match &self.allowed {
            Some(allowed) => {
                let unseen = to_shape(allowed.clone().bool_not(), shape);
                scores.mask_fill(unseen, f32::NEG_INFINITY)
            }
            None => scores,
        }
    }

    /// Replaces sums that are NaN or infinite because of the value of a masked key, which is multiplied by 0.
    pub fn without_hidden(&self, sums: Tensor<4>, probabilities: &Tensor<4>, value: Tensor<4>) -> Tensor<4> {
        let Some(allowed) = &self.allowed else {
            return sums;
        };
        let special = value.clone().is_nan().bool_or(value.clone().is_inf());
        let allowed = to_shape(allowed.clone(), probabilities.dims());
        let visible = probabilities.zeros_like().mask_fill(allowed, 1.0);
        let found = product(visible, value.zeros_like().mask_fill(special.clone(), 1.0));
        let finite = product(probabilities.clone(), value.mask_fill(special, 0.0));
        sums.mask_where(found.equal_scalar(0.0), finite)
    }

    /// Returns the queries without keys, `None` if there cannot be any.
    pub fn blind(&self) -> Option<Tensor<4, Bool>> {
        if !self.may_be_blind {
            return None;
        }
        let finite = self.bias.clone().map(|x| x.not_equal_scalar(f32::NEG_INFINITY));
        let seen = match (self.allowed.clone(), finite) {
            (Some(a), Some(b)) => {
                let shape = common(a.dims(), b.dims());
                to_shape(a, shape).bool_and(to_shape(b, shape))
            }
            (a, b) => a.or(b)?,
        };
        Some(seen.any_dim(3).bool_not())
    }
}

/// Returns the pads that extend the last axis of a mask to all keys.
fn missing<K: Basic>(mask: &Tensor<4, K>, keys: usize) -> [(i64, i64); 4] {
    let length = mask.dims()[3];
    [(0, 0), (0, 0), (0, 0), (0, (keys - length) as i64)]
}
