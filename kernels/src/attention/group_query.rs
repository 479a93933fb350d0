//! GroupQueryAttention, with a cache of keys and values.

use alloc::{boxed::Box, vec};
use burn::tensor::{Bool, DType, FloatDType, Int, IntDType, Tensor};

mod checks;
mod positions;
use positions::CachePositions;

use crate::attention::{
    AttentionMask, AttentionOptions, AttentionScores, attention, attention_with_scores, merge_heads,
};
use crate::shape::WithShape;
use crate::shape::stack::concat;
use crate::{
    attempt::{lengths, nonnegative},
    attention::rotary::rotate,
    dtype::lowered,
    ensure,
    index::gather::gather_nonnegative,
    normalize::rms_norm,
    shape::{expand::to_shape, pad::pad_constant},
    spec::indices::Axis,
    spec::{self, operand},
    widen::widened,
};

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
    let y = attention(all.query, all.keys, all.values, Some(all.mask), None, &all.options);
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
    let (y, scores) = attention_with_scores(query, keys, values, Some(all.mask), None, &all.options, shown);
    let scores = scores.narrow(3, 0, total);
    let unseen = to_shape(all.unseen.narrow(3, 0, total), scores.dims());
    let scores = scores.mask_fill(unseen, 0.0).cast(dtype);
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
    mask: AttentionMask,
    unseen: Tensor<4, Bool>,
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
                let rotate = |x: Tensor<4>| rotated(x, &positions, &cosine, &sine, options.interleaved);
                (rotate(query), rotate(key))
            }
            None => (query, key),
        };
        let (past_key, past_value) = past.unzip();
        let start = cache.start();
        let key = cache.filled(past_key, key, start);
        let value = cache.filled(past_value, value, start);
        let visible = cache.visible_keys(&last, options);
        let visible = to_shape(visible, [batch, 1, queries, cache.keys]);
        let unseen = visible.clone().bool_not();
        let mut bias = inputs.bias.map(|bias| {
            let missing = cache.keys - bias.dims()[3];
            pad_constant(widened(bias), [(0, 0), (0, 0), (0, 0), (0, missing as i64)], 0.0)
        });
        let mut visible = visible;
        let [query, mut keys, mut values] = [query, key.clone(), value.clone()].map(widened);
        let smooth = || Tensor::zeros([heads], (&query.device(), query.dtype()));
        if let Some(sinks) = inputs.sinks.or_else(|| options.smooth.then(smooth)) {
            let one_more = [(0, 0), (0, 0), (0, 1), (0, 0)];
            keys = pad_constant(keys, one_more, 0.0);
            values = pad_constant(values, one_more, 0.0);
            let sinks = widened(sinks).with_shape([1, heads, 1, 1]);
            let sinks = to_shape(sinks, [batch, heads, queries, 1]);
            let others = bias.unwrap_or_else(|| sinks.zeros_like());
            let others = to_shape(others, [batch, heads, queries, cache.keys]);
            bias = Some(concat(vec![others, sinks], 3));
            visible = pad_constant(visible, [(0, 0), (0, 0), (0, 0), (0, 1)], true);
        }
        let mask = match bias {
            Some(bias) => AttentionMask::AllowedWithBias(visible, Box::new(bias)),
            None => AttentionMask::Allowed(visible),
        };
        let inner = AttentionOptions { scale: options.scale, softcap: options.softcap, ..Default::default() };
        let stored: FloatDType = cache_dtype.into();
        let cache = (key.cast(stored), value.cast(stored));
        Prepared { query, keys, values, mask, unseen, total, cache, options: inner }
    }
}

/// Rotates `[batch, heads, length, size]` by the angles at the positions, `[batch, length]` or `[1, length]`.
#[inline(never)]
pub fn rotated(
    x: Tensor<4>,
    positions: &Tensor<2, Int>,
    cosine: &Tensor<2>,
    sine: &Tensor<2>,
    interleaved: bool,
) -> Tensor<4> {
    let dims @ [batch, _, length, _] = x.dims();
    let found = positions.dims();
    ensure!(
        found[1] == length && [1, batch].contains(&found[0]),
        "expected one position per query of the input {dims:?}, found shape {found:?}"
    );
    spec::equal_shapes(
        operand("tensor of sines", &sine.dims()),
        operand("tensor of cosines", &cosine.dims()),
    );
    let dtype: FloatDType = x.dtype().into();
    let at = |table: &Tensor<2>| -> Tensor<3> {
        let axis = Axis { number: 0, size: table.dims()[0] };
        let positions = nonnegative(positions.clone(), axis);
        gather_nonnegative(widened(table.clone()), 0, positions)
    };
    rotate(widened(x), at(cosine), at(sine), interleaved).cast(dtype)
}

/// Returns `length` consecutive numbers starting at `from`, as `[1, length]`.
#[inline(never)]
pub fn counted(from: Tensor<1, Int>, length: usize) -> Tensor<2, Int> {
    let dims = from.dims();
    ensure!(dims == [1], "expected a first position of one element, found shape {dims:?}");
    let line = Tensor::<1, Int>::arange(0..length as i64, (&from.device(), from.dtype()));
    line.add(to_shape(from, [length])).with_shape([1, length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, has, int, near, noise, same};

    const PLAIN: GroupQuery = GroupQuery {
        causal: true,
        window: None,
        scale: None,
        softcap: 0.0,
        interleaved: false,
        smooth: false,
        norm_epsilon: 0.0,
    };

    /// Zero queries weight all keys equally, so the result is the mean of their values.
    fn inputs(values: &[f32], past: Option<&[f32]>, last: i64, total: i64) -> GroupQueryInputs {
        let column = |values: &[f32]| {
            Tensor::<1>::from_floats(values, &Default::default()).with_shape([1, 1, values.len(), 1])
        };
        let (value, past) = (column(values), past.map(column));
        let zeros = |x: &Tensor<4>| x.zeros_like();
        GroupQueryInputs {
            heads: [zeros(&value).repeat_dim(1, 2), zeros(&value), value],
            past: past.map(|past| (zeros(&past), past)),
            last: int([last]),
            total,
            norms: None,
            angles: None,
            positions: None,
            bias: None,
            sinks: None,
        }
    }

    fn means(inputs: GroupQueryInputs, options: GroupQuery) -> Vec<f32> {
        let shown = AttentionScores::Probabilities;
        let (slow, ..) = group_query_attention_with_scores(inputs.clone(), &options, shown);
        let (y, ..) = group_query_attention(inputs, &options);
        near(slow, y.to_data(), 1e-6);
        let rounded = |x: f32| (x * 100.0).round() / 100.0;
        y.into_data().iter().step_by(2).map(rounded).collect()
    }

    #[test]
    fn queries_attend_to_earlier_keys_within_their_window() {
        let all = || inputs(&[1.0, 10.0, 100.0], None, 2, 3);
        assert_eq!(means(all(), PLAIN), [1.0, 5.5, 37.0]);
        let window = |size| GroupQuery { window: Some(size), ..PLAIN };
        assert_eq!(means(all(), window(2)), [1.0, 5.5, 55.0]);
        assert_eq!(means(all(), window(0)), [0.0, 0.0, 0.0]);
        assert_eq!(means(all(), GroupQuery { causal: false, ..PLAIN }), [37.0; 3]);
        let sinks = GroupQueryInputs { sinks: Some(float([0f32, 0.0])), ..all() };
        assert_eq!(means(sinks, PLAIN), [0.5, 3.67, 27.75]);
        let smooth = GroupQuery { smooth: true, ..PLAIN };
        assert_eq!(means(all(), smooth), [0.5, 3.67, 27.75]);
    }

    #[test]
    fn keys_and_values_that_a_query_does_not_attend_to_may_be_anything() {
        let window = || GroupQuery { window: Some(2), ..PLAIN };
        let decode = || inputs(&[9.0], Some(&[f32::NAN, 2.0, 3.0]), 3, 4);
        assert_eq!(means(decode(), window()), [6.0]);
        let (mut keys, (of_key, of_value)) = (decode(), decode().past.unwrap());
        keys.past = Some((of_value, of_key));
        assert_eq!(means(keys, window()), [4.5]);
        let y = means(inputs(&[1.0, 10.0, f32::INFINITY], None, 2, 3), PLAIN);
        assert_eq!(y, [1.0, 5.5, f32::INFINITY]);
        let y = means(inputs(&[f32::NAN, 10.0, 20.0], None, 2, 3), window());
        assert!(y[0].is_nan() && y[1].is_nan());
        assert_eq!(y[2], 15.0);
    }

    #[test]
    fn a_cache_of_another_type_keeps_it() {
        if !has(DType::F16) {
            return;
        }
        let (expected, _, values) = group_query_attention(inputs(&[0.3], Some(&[0.5, 2.0]), 2, 3), &PLAIN);
        let mut other = inputs(&[0.3], Some(&[0.5, 2.0]), 2, 3);
        other.past = other.past.map(|(key, value)| (key.cast(DType::F16), value.cast(DType::F16)));
        let (y, keys, found) = group_query_attention(other, &PLAIN);
        same(y, expected.into_data());
        assert_eq!(keys.dtype(), DType::F16);
        same(found, values.cast(DType::F16).into_data());
        let mut halves = inputs(&[0.5], Some(&[0.3, 2.0]), 2, 3);
        halves.heads = halves.heads.map(|x| x.cast(DType::F16));
        let past = halves.past.clone().unwrap().1;
        let (y, _, found) = group_query_attention(halves, &PLAIN);
        assert_eq!([y.dtype(), found.dtype()], [DType::F16, DType::F32]);
        same(found.narrow(2, 0, 2), past.into_data());
    }

    #[test]
    fn positions_and_totals_are_within_the_cache() {
        let run = |last, total| {
            let inputs = inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), last, total);
            let y = attempt(|| group_query_attention(inputs, &PLAIN).0.into_data());
            y.map(drop).map_err(|fault| fault.reason)
        };
        assert_eq!(run(3, 4), Ok(()));
        for last in [-1, 4, i64::MIN, i64::MAX] {
            assert_eq!(run(last, 4), Err(format!("expected a length from 0 to 3, found {last}")));
        }
        for total in [-1, 0, 5, i64::MIN, i64::MAX] {
            let reason = "expected a total of at most 3 cached keys, or of 3 + 1 keys, found";
            assert_eq!(run(3, total), Err(format!("{reason} {total}")));
        }
    }

    #[test]
    fn new_values_fill_the_cache() {
        let cache = |inputs| {
            let (_, _, cache) = group_query_attention(inputs, &PLAIN);
            cache.into_data().iter().collect::<Vec<f32>>()
        };
        assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 3, 4)), [1.0, 2.0, 3.0, 9.0]);
        assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 1, 2)), [1.0, 9.0, 0.0]);
        assert_eq!(cache(inputs(&[8.0, 9.0], Some(&[1.0, 2.0, 3.0]), 1, 2)), [8.0, 9.0, 0.0]);
        assert_eq!(cache(inputs(&[8.0, 9.0], Some(&[1.0]), 2, 3)), [1.0, 8.0, 9.0]);
        assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 2, 3)), [1.0, 2.0, 9.0]);
        assert_eq!(cache(inputs(&[9.0], Some(&[1.0, 2.0, 3.0]), 0, 2)), [9.0, 0.0, 0.0]);
    }

    #[test]
    fn each_sequence_of_a_batch_has_its_own_position() {
        let (key, past) = (noise::<4>([2, 1, 1, 4], 1), noise::<4>([2, 1, 3, 4], 2));
        let inputs = GroupQueryInputs {
            heads: [noise([2, 2, 1, 4], 3), key.clone(), key.clone()],
            past: Some((past.clone(), past.clone())),
            last: int([3i32, 1]),
            total: 4,
            norms: None,
            angles: None,
            positions: None,
            bias: None,
            sinks: None,
        };
        let (_, cache, _) = group_query_attention(inputs, &PLAIN);
        let row = |x: &Tensor<4>, b: usize, t: usize| x.clone().slice([b..b + 1, 0..1, t..t + 1]);
        same(row(&cache, 0, 3), row(&key, 0, 0).into_data());
        same(row(&cache, 1, 0), row(&past, 1, 0).into_data());
        same(row(&cache, 1, 1), row(&key, 1, 0).into_data());
        same(row(&cache, 1, 2), [[[[0f32; 4]]]]);
    }

    #[test]
    fn positions_are_counted_from_the_first() {
        same(counted(int([4i64]), 3), [[4i64, 5, 6]]);
    }
}
