//! GroupQueryAttention, with a cache of keys and values.

use alloc::{boxed::Box, vec};
use burn::tensor::{Bool, DType, FloatDType, Int, IntDType, Tensor};

mod angles;
mod checks;
mod positions;

use angles::Angles;
pub use angles::{counted, rotated};
use positions::CachePositions;

use crate::attention::{
    AttentionMask, AttentionOptions, AttentionScores, attention, attention_with_scores, merge_heads,
};
use crate::shape::{WithShape, expand::to_shape, pad::pad_constant, stack::concat};
use crate::{attempt::lengths, dtype::lowered, normalize::rms_norm, widen::widened};

/// Attributes of GroupQueryAttention.
#[derive(Clone, Copy, Debug)]
pub struct GroupQuery {
    /// A query attends to no key after its own position.
    pub causal: bool,
    /// Number of keys up to its position that a query attends to.
    pub window: Option<usize>,
    /// The factor on the products, by default the inverse square root of the head size.
    pub scale: Option<f64>,
    /// The bound that `tanh` sets on scores, 0 for none.
    pub softcap: f64,
    /// Rotation pairs adjacent features instead of the two halves.
    pub interleaved: bool,
    /// Adds a score of 0 without a value to the softmax, if there are no sinks.
    pub smooth: bool,
    /// Addend of the mean square in the norms of queries and keys.
    pub norm_epsilon: f32,
}

/// Operands of GroupQueryAttention.
#[derive(Clone, Debug)]
pub struct GroupQueryInputs {
    /// Queries and new keys and values, `[batch, heads, length, size]`.
    pub heads: [Tensor<4>; 3],
    /// Cached keys and values, whose type may be another one than that of the heads.
    pub past: Option<(Tensor<4>, Tensor<4>)>,
    /// Position of the last key of each batch.
    pub last: Tensor<1, Int>,
    /// Number of keys of the longest sequence of the batch, including the cache.
    pub total: i64,
    /// Scales of the RMS norms of queries and keys.
    pub norms: Option<(Tensor<1>, Tensor<1>)>,
    /// Cosines and sines of the angles at each position.
    pub angles: Option<(Tensor<2>, Tensor<2>)>,
    pub positions: Option<Tensor<2, Int>>,
    pub bias: Option<Tensor<4>>,
    /// For each head, an additional score without a value.
    pub sinks: Option<Tensor<1>>,
}

/// Attention of queries to a cache with the new keys and values added, and that cache. Half precision is
/// computed in single precision. Elements of keys and values that a query does not attend to have no influence on its result.
///
/// If there are as many queries as keys in total, they start at position 0, whatever the cache contains.
///
/// # Panics
/// If operands are not those of one attention and its cache, if `total` is neither within the cache nor the number of all keys, or
/// if `last` contains a position that is below neither `total` nor the length of the cache.
#[inline(never)]
pub fn group_query_attention(
    inputs: GroupQueryInputs,
    options: &GroupQuery,
) -> (Tensor<3>, Tensor<4>, Tensor<4>) {
    let dtype: FloatDType = inputs.heads[0].dtype().into();
    let all = Prepared::new(inputs, options);
    let y = attention(all.query, all.keys, all.values, all.mask, None, &all.options);
    (merge_heads(y).cast(dtype), all.cache.0, all.cache.1)
}

/// Returns [`group_query_attention`], and its scores or probabilities for `total` keys.
#[inline(never)]
pub fn group_query_attention_with_scores(
    inputs: GroupQueryInputs,
    options: &GroupQuery,
    shown: AttentionScores,
) -> (Tensor<3>, Tensor<4>, Tensor<4>, Tensor<4>) {
    let dtype: FloatDType = inputs.heads[0].dtype().into();
    let all = Prepared::new(inputs, options);
    let total = all.total;
    let (query, keys, values) = (all.query, all.keys, all.values);
    let (y, scores) = attention_with_scores(query, keys, values, all.mask, None, &all.options, shown);
    let scores = scores.narrow(3, 0, total);
    let scores = match all.unseen {
        Some(unseen) => {
            let unseen = to_shape(unseen.narrow(3, 0, total), scores.dims());
            scores.mask_fill(unseen, 0.0)
        }
        None => scores,
    };
    let scores = scores.cast(dtype);
    (merge_heads(y).cast(dtype), all.cache.0, all.cache.1, scores)
}

impl GroupQueryInputs {
    /// Returns heads, cache and norms in single precision, for a cache of another type than the queries.
    fn widened(self) -> Self {
        let both = |(first, second): (Tensor<4>, Tensor<4>)| (widened(first), widened(second));
        Self {
            heads: self.heads.map(widened),
            past: self.past.map(both),
            norms: self.norms.map(|(query, key)| (widened(query), widened(key))),
            ..self
        }
    }
}

/// Operands of the attention itself, and the cache.
struct Prepared {
    query: Tensor<4>,
    keys: Tensor<4>,
    values: Tensor<4>,
    mask: Option<AttentionMask>,
    /// True for keys that a query does not attend to; absent if there are none.
    unseen: Option<Tensor<4, Bool>>,
    /// Number of keys of the longest sequence of the batch.
    total: usize,
    cache: (Tensor<4>, Tensor<4>),
    options: AttentionOptions,
}

impl Prepared {
    fn new(inputs: GroupQueryInputs, options: &GroupQuery) -> Self {
        let total = inputs.checked();
        let cache_dtype = inputs.past.as_ref().map_or(&inputs.heads[1], |(key, _)| key).dtype();
        let inputs = if cache_dtype == inputs.heads[0].dtype() { inputs } else { inputs.widened() };
        let [query, key, value] = inputs.heads;
        let (past, last) = (inputs.past, inputs.last);
        let [batch, heads, queries, _] = query.dims();
        let cached = past.as_ref().map_or(0, |(key, _)| key.dims()[2]);
        let wide: IntDType = lowered(&query.device(), DType::I64).into();
        let last = lengths(last, total.max(cached) - 1);
        let last = last.with_shape([batch, 1]).cast(wide);
        let from_start = queries == total;
        let starts = if from_start { last.zeros_like() } else { last.clone().add_scalar(1 - queries as i64) };
        let cache = CachePositions { starts, batch, queries, keys: total.max(cached) };
        let (query, key) = match inputs.norms {
            Some((of_query, of_key)) => {
                let normed = |x, scale| rms_norm(x, scale, 3, options.norm_epsilon);
                (normed(query, of_query), normed(key, of_key))
            }
            None => (query, key),
        };
        let (query, key) = match inputs.angles {
            Some((cosine, sine)) => {
                let positions = match inputs.positions {
                    Some(positions) if !from_start => positions,
                    Some(positions) => counted(positions.slice([0..1, 0..1]).with_shape([1]), queries),
                    None => cache.rows(),
                };
                let angles = Angles::at(&positions, query.dims(), &cosine, &sine);
                let rotate = |x: Tensor<4>| angles.rotated(x, options.interleaved);
                (rotate(query), rotate(key))
            }
            None => (query, key),
        };
        let (past_key, past_value) = past.unzip();
        let start = cache.start();
        let key = cache.filled(past_key, key, start);
        let value = cache.filled(past_value, value, start);
        let smooth = || Tensor::zeros([heads], (&query.device(), query.dtype()));
        let sinks = inputs.sinks.or_else(|| options.smooth.then(smooth));
        let sees_all = start.is_some_and(|start| cache.sees_all(start, options));
        let is_masked = !sees_all || inputs.bias.is_some() || sinks.is_some();
        let visible = is_masked.then(|| {
            let visible = cache.visible_keys(&last, options);
            to_shape(visible, [batch, 1, queries, cache.keys])
        });
        let unseen = visible.clone().map(Tensor::bool_not);
        let bias = inputs.bias.map(|bias| {
            let missing = cache.keys - bias.dims()[3];
            pad_constant(widened(bias), [(0, 0), (0, 0), (0, 0), (0, missing as i64)], 0.0)
        });
        let [query, keys, values] = [query, key.clone(), value.clone()].map(widened);
        let mut attended = Attended { keys, values, visible, bias };
        if let Some(sinks) = sinks {
            let sinks = widened(sinks).with_shape([1, heads, 1, 1]);
            attended = attended.with_sinks(to_shape(sinks, [batch, heads, queries, 1]));
        }
        let Attended { keys, values, visible, bias } = attended;
        let mask = match (visible, bias) {
            (Some(visible), Some(bias)) => Some(AttentionMask::AllowedWithBias(visible, Box::new(bias))),
            (Some(visible), None) => Some(AttentionMask::Allowed(visible)),
            (None, bias) => bias.map(AttentionMask::Bias),
        };
        let inner = AttentionOptions { scale: options.scale, softcap: options.softcap, ..Default::default() };
        let stored: FloatDType = cache_dtype.into();
        let cache = (key.cast(stored), value.cast(stored));
        Prepared { query, keys, values, mask, unseen, total, cache, options: inner }
    }
}

/// Keys and values that queries attend to.
struct Attended {
    keys: Tensor<4>,
    values: Tensor<4>,
    /// True if a query attends to a key; absent if each attends to all.
    visible: Option<Tensor<4, Bool>>,
    bias: Option<Tensor<4>>,
}

impl Attended {
    /// Adds a key with these scores, `[batch, heads, queries, 1]`, and the value 0.
    fn with_sinks(self, sinks: Tensor<4>) -> Self {
        let Self { keys, values, visible, bias } = self;
        let [batch, heads, queries, _] = sinks.dims();
        let scores = [batch, heads, queries, keys.dims()[2]];
        let others = to_shape(bias.unwrap_or_else(|| sinks.zeros_like()), scores);
        let one_more = [(0, 0), (0, 0), (0, 1), (0, 0)];
        Self {
            keys: pad_constant(keys, one_more, 0.0),
            values: pad_constant(values, one_more, 0.0),
            visible: visible.map(|visible| pad_constant(visible, [(0, 0), (0, 0), (0, 0), (0, 1)], true)),
            bias: Some(concat(vec![others, sinks], 3)),
        }
    }
}

#[cfg(test)]
mod tests;
