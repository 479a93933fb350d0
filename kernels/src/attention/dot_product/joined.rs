//! Attention fused from the single operators of a graph.

use alloc::vec::Vec;
use burn::tensor::{Bool, FloatDType, Tensor};

use super::{Scores, Undefined, attention_products, attention_values};
use crate::{
    backend::call,
    normalize::softmax::softmax,
    shape::expand::{agreed, common, to_shape, together},
    spec::attention as spec,
    widen::widened,
};

/// Operator between the product of queries with keys and the softmax.
#[derive(Clone, Debug)]
pub enum ScoreMask {
    /// Addend of the scores.
    Added(Tensor<4>),
    /// Scores are replaced by the number where the condition is false.
    Seen(Tensor<4, Bool>, f64),
}

/// Factor and semantics of the fused operators.
#[derive(Clone, Copy, Debug)]
pub struct JoinedAttention {
    /// Factor on the products of queries and keys.
    pub scale: f64,
    /// NaN probabilities count as 0.
    pub undefined_as_zero: bool,
}

/// Returns `softmax(query * keyᵀ * scale, masked) * value` of `[batch, heads, length, size]`.
///
/// Each head of keys and values serves the same number of query heads. Masks apply in order, which also determines the result of
/// a query without keys; they may broadcast axes of size 1. Half precision is computed in single precision.
///
/// # Panics
/// If the operands have no matrix product, heads of keys do not divide those of queries, or a mask has
/// another number of keys.
#[inline(never)]
pub fn joined_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    masks: Vec<ScoreMask>,
    options: JoinedAttention,
) -> Tensor<4> {
    spec::joined_heads(query.dims(), key.dims(), value.dims());
    let [_, heads, queries, features] = query.dims();
    let [_, own, keys, size] = value.dims();
    let dtype: FloatDType = query.dtype().into();
    let batches = [&query, &key, &value].map(|x| x.dims()[0]);
    let batch = batches.into_iter().find(|batch| *batch != 1).unwrap_or(1);
    let heads = if heads == 1 { own } else { heads };
    let scores = [batch, heads, queries, keys];
    let scores = masks.iter().fold(scores, |scores, mask| {
        spec::joined_mask(mask.dims(), scores);
        common(scores, mask.dims())
    });
    let [batch, heads, queries, keys] = scores;
    if scores.contains(&0) || size == 0 {
        let shape = [batch, heads, queries, size];
        return Tensor::zeros(shape, (&query.device(), query.dtype()));
    }
    let query = to_shape(query, [batch, heads, queries, features]);
    let key = to_shape(key, [batch, own, keys, features]);
    let value = to_shape(value, [batch, own, keys, size]);
    let wide = match dtype {
        FloatDType::F16 | FloatDType::BF16 => FloatDType::F32,
        _ => dtype,
    };
    let undefined = if options.undefined_as_zero {
        Undefined::Zero
    } else if masks.is_empty() {
        Undefined::Never
    } else {
        Undefined::NotANumber
    };
    let scores = Scores { undefined, ..Scores::scaled(options.scale) };
    match Combined::merge(masks, wide) {
        Ok(masks) => {
            let scores = Scores { hidden: masks.fill, bias_last: masks.bias_last, ..scores };
            let (mask, bias) = (masks.seen.map(Tensor::bool_not), masks.bias);
            Tensor::from_dispatch(call!(attention(query, key, value, mask, bias; scores)))
        }
        Err(masks) => {
            let [query, key, value] = [query, key, value].map(widened);
            in_steps(query, key, value, masks, scores).cast(dtype)
        }
    }
}

impl ScoreMask {
    fn dims(&self) -> [usize; 4] {
        match self {
            Self::Added(bias) => bias.dims(),
            Self::Seen(seen, _) => seen.dims(),
        }
    }
}

/// Masks merged into at most one of each kind.
struct Combined {
    seen: Option<Tensor<4, Bool>>,
    /// Score of the keys for which `seen` is false.
    fill: f64,
    bias: Option<Tensor<4>>,
    bias_last: bool,
}

impl Combined {
    /// Returns the masks themselves if their order matters.
    fn merge(masks: Vec<ScoreMask>, dtype: FloatDType) -> Result<Self, Vec<ScoreMask>> {
        let fills = masks.iter().filter_map(|mask| match mask {
            ScoreMask::Added(_) => None,
            ScoreMask::Seen(_, fill) => Some(*fill),
        });
        let fill = fills.clone().next().unwrap_or(f64::NEG_INFINITY);
        let is_added = |mask: &ScoreMask| matches!(mask, ScoreMask::Added(_));
        let changes = masks.windows(2);
        let changes = changes.filter(|pair| is_added(&pair[0]) != is_added(&pair[1]));
        // Addends do not change a score of negative infinity.
        let any_order = fill == f64::NEG_INFINITY;
        if fills.clone().any(|other| other != fill) || !any_order && changes.count() > 1 {
            return Err(masks);
        }
        let bias_last = !any_order && masks.last().is_some_and(is_added);
        let mut combined = Self { seen: None, fill, bias: None, bias_last };
        for mask in masks {
            match mask {
                ScoreMask::Added(bias) => {
                    let bias = bias.cast(dtype);
                    combined.bias = Some(match combined.bias.take() {
                        Some(before) => {
                            let (before, bias) = agreed(before, bias);
                            before.add(bias)
                        }
                        None => bias,
                    });
                }
                ScoreMask::Seen(seen, _) => {
                    combined.seen = Some(match combined.seen.take() {
                        Some(before) => {
                            let (before, seen) = together(before, seen);
                            before.bool_and(seen)
                        }
                        None => seen,
                    });
                }
            }
        }
        Ok(combined)
    }
}

/// Computes attention whose masks apply one after another.
fn in_steps(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    masks: Vec<ScoreMask>,
    scores: Scores,
) -> Tensor<4> {
    let dtype = query.dtype();
    let products = attention_products(query, key, Some(1.0), dtype).mul_scalar(scores.scale);
    let masked = masks.into_iter().fold(products, |x, mask| match mask {
        ScoreMask::Added(bias) => {
            let bias: Tensor<4> = bias.cast(dtype);
            let (x, bias) = agreed(x, bias);
            x.add(bias)
        }
        ScoreMask::Seen(seen, fill) => {
            let shape = x.dims();
            x.mask_fill(to_shape(seen, shape).bool_not(), fill)
        }
    });
    let mut probabilities = softmax(masked, 3);
    if scores.undefined == Undefined::Zero {
        let undefined = probabilities.clone().is_nan();
        probabilities = probabilities.mask_fill(undefined, 0.0);
    }
    attention_values(probabilities, value)
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::attention::{AttentionMask, AttentionOptions, attention};
    use crate::testing::{bool, float, near, noise, same};

    const INF: f32 = f32::INFINITY;

    fn plain() -> JoinedAttention {
        JoinedAttention { scale: 1.0, undefined_as_zero: false }
    }

    /// Zero queries weight all keys equally, so the result is the mean of their values: here of 1, 10 and 100.
    fn means(queries: usize, masks: Vec<ScoreMask>, options: JoinedAttention) -> Vec<f32> {
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let value = float([[[[1f32], [10.0], [100.0]]]]);
        let y = joined_attention(zeros(queries), zeros(3), value, masks, options);
        y.into_data().iter().map(|x: f32| (x * 100.0).round() / 100.0).collect()
    }

    #[test]
    fn masks_apply_in_their_order() {
        let seen = || bool([[[[true, false, true], [false, false, false]]]]);
        let hidden = |fill| vec![ScoreMask::Seen(seen(), fill)];
        assert_eq!(means(2, hidden(-1e9), plain()), [50.5, 37.0]);
        let [one, none] = means(2, hidden(f64::NEG_INFINITY), plain())[..] else {
            panic!("two queries have two results");
        };
        assert!(one == 50.5 && none.is_nan());
        let safe = JoinedAttention { undefined_as_zero: true, ..plain() };
        assert_eq!(means(2, hidden(f64::NEG_INFINITY), safe), [50.5, 0.0]);
        let bias = || ScoreMask::Added(float([[[[-INF, 0.0, 0.0]]]]));
        let fill = || ScoreMask::Seen(seen(), -1e9);
        assert_eq!(means(2, vec![fill(), bias()], plain()), [100.0, 55.0]);
        assert_eq!(means(2, vec![bias(), fill()], plain()), [100.0, 37.0]);
    }

    #[test]
    fn masks_broadcast_axes_of_size_one() {
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let value = || float([[[[1f32], [10.0]]]]);
        let far = -1e9f32;
        let bias = ScoreMask::Added(float([[[[0f32, far]], [[far, 0.0]]], [[[0.0; 2]], [[0.0; 2]]]]));
        let y = joined_attention(zeros(1), zeros(2), value(), vec![bias], plain());
        same(y, [[[[1f32]], [[10.0]]], [[[5.5]], [[5.5]]]]);
        let seen = ScoreMask::Seen(bool([[[[true, false], [false, true]]]]), -1e9);
        let y = joined_attention(zeros(1), zeros(2), value(), vec![seen], plain());
        same(y, [[[[1f32], [10.0]]]]);
    }

    #[test]
    fn shared_heads_agree_with_the_operator() {
        let (q, k, v) = (noise([2, 6, 4, 8], 1), noise([2, 3, 5, 8], 2), noise([2, 3, 5, 7], 3));
        let bias = noise([2, 1, 4, 5], 4);
        let options = AttentionOptions { scale: Some(0.7), ..Default::default() };
        let mask = Some(AttentionMask::Bias(bias.clone()));
        let expected = attention(q.clone(), k.clone(), v.clone(), mask, None, &options);
        let scaled = JoinedAttention { scale: 0.7, ..plain() };
        let found = joined_attention(q, k, v, vec![ScoreMask::Added(bias)], scaled);
        near(found, expected.into_data(), 1e-5);
    }

    #[test]
    fn half_precision_is_rounded_once_and_no_keys_yield_zero() {
        let half = |shape, seed| noise::<4>(shape, seed).cast(DType::F16);
        let (q, k, v) = (half([1, 2, 3, 4], 1), half([1, 2, 5, 4], 2), half([1, 2, 5, 4], 3));
        let wide =
            joined_attention(widened(q.clone()), widened(k.clone()), widened(v.clone()), Vec::new(), plain());
        let expected = wide.cast(DType::F16).into_data();
        same(joined_attention(q, k, v, Vec::new(), plain()), expected);
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let none = joined_attention(zeros(2), zeros(0), zeros(0), Vec::new(), plain());
        same(none, [[[[0f32; 2]; 2]]]);
    }
}
