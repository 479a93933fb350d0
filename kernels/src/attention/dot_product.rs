//! Attention with masks, windows, caches and shared heads.

use alloc::boxed::Box;

use burn::tensor::{Bool, DType, FloatDType, Int, Tensor};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::{
    backend::call,
    dtype::{lowered, stored},
    elementwise::elementary::tanh,
    normalize::softmax::{softmax, softmax_of_halves},
    product::matmul,
    shape::{WithShape, expand::to_shape},
    spec::attention as spec,
    widen::widened,
};

mod checks;
mod heads;
mod joined;
mod masks;

pub use crate::spec::scores::{Scores, Undefined};
use checks::checked;
pub use checks::whole_mask;
pub use heads::{merge_heads, of_heads, split_heads};
pub use joined::{JoinedAttention, ScoreMask, joined_attention};
use masks::AttentionMasks;

/// Scores of attention, and the keys that a query attends to.
#[derive(Clone, Debug, Default)]
pub struct AttentionOptions {
    /// A query attends to no key after its own position.
    pub causal: bool,
    /// Number of keys before the first query, such as the length of a cache.
    pub past: usize,
    /// Maximum distance of a key before the position of the query.
    pub left_window: Option<usize>,
    /// Maximum distance of a key after the position of the query.
    pub right_window: Option<usize>,
    /// The factor on the products, by default the inverse square root of the head size.
    pub scale: Option<f64>,
    /// The bound that `tanh` sets on scores, 0 for none.
    pub softcap: f64,
    /// The dtype of the softmax, if it is not that of the operands.
    pub softmax_dtype: Option<DType>,
}

/// `attn_mask`, with leading axes of size 1 up to rank 4. Keys after its last one are masked.
#[derive(Clone, Debug)]
pub enum AttentionMask {
    /// True if the query attends to the key.
    Allowed(Tensor<4, Bool>),
    /// Addend of the scores.
    Bias(Tensor<4>),
    /// Both of the above.
    AllowedWithBias(Tensor<4, Bool>, Box<Tensor<4>>),
}

/// Stage of the scores in `qk_matmul_output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionScores {
    /// Mode 0: the scaled products.
    Products,
    /// Mode 1: the products after the soft cap.
    Capped,
    /// Mode 2: the capped products with masks added.
    Masked,
    /// Mode 3: the probabilities.
    Probabilities,
}

/// Attention of `[batch, heads, length, size]`. Each head of keys and values serves the same number of query
/// heads. The result of a query without keys is 0.
///
/// `valid` is the number of keys of each batch that are not padding; the queries are at the last of these positions.
///
/// # Panics
/// If operands differ in batch, keys and values in heads or length, queries and keys in features, if heads of keys do not divide
/// those of queries, a mask does not broadcast to the scores, or `valid` exceeds the number of keys.
#[inline(never)]
pub fn attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    mask: Option<AttentionMask>,
    valid: Option<Tensor<1, Int>>,
    options: &AttentionOptions,
) -> Tensor<4> {
    let valid = checked(&query, &key, &value, mask.as_ref(), valid);
    let [batch, heads, queries, _] = query.dims();
    let [_, _, keys, size] = value.dims();
    let other = |dtype: DType| stored(&query.device(), dtype) != query.dtype();
    if options.softmax_dtype.is_some_and(other) || other(value.dtype()) {
        let shown = AttentionScores::Products;
        return attention_with_scores(query, key, value, mask, valid, options, shown).0;
    }
    if batch * heads * queries * keys * size == 0 {
        return zeros_like(&query, [batch, heads, queries, size]);
    }
    // Without features all products are 0, whatever the scale.
    let root = (query.dims()[3].max(1) as f64).sqrt();
    let masks = AttentionMasks::new(&query, keys, mask, valid, options);
    let undefined = if masks.may_be_blind { Undefined::ZeroIfHidden } else { Undefined::Never };
    let (mask, bias) = (masks.allowed.map(Tensor::bool_not), masks.bias);
    let scores =
        Scores { softcap: options.softcap, undefined, ..Scores::scaled(options.scale.unwrap_or(1.0 / root)) };
    Tensor::from_dispatch(call!(attention(query, key, value, mask, bias; scores)))
}

/// Returns [`attention`] and the scores at a stage.
///
/// # Panics
/// As [`attention`] does.
#[inline(never)]
pub fn attention_with_scores(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    mask: Option<AttentionMask>,
    valid: Option<Tensor<1, Int>>,
    options: &AttentionOptions,
    shown: AttentionScores,
) -> (Tensor<4>, Tensor<4>) {
    let valid = checked(&query, &key, &value, mask.as_ref(), valid);
    let [batch, heads, queries, _] = query.dims();
    let [_, _, keys, size] = value.dims();
    if batch * heads * queries * keys == 0 {
        let result = zeros_like(&query, [batch, heads, queries, size]);
        return (result, zeros_like(&query, [batch, heads, queries, keys]));
    }
    let dtype: FloatDType = query.dtype().into();
    if is_half(query.dtype()) {
        let [query, key, value] = [query, key, value].map(widened);
        let mask = mask.map(|mask| match mask {
            AttentionMask::Bias(bias) => AttentionMask::Bias(widened(bias)),
            AttentionMask::AllowedWithBias(allowed, bias) => {
                AttentionMask::AllowedWithBias(allowed, Box::new(widened(*bias)))
            }
            allowed => allowed,
        });
        let (y, scores) = attention_with_scores(query, key, value, mask, valid, options, shown);
        return (y.cast(dtype), scores.cast(dtype));
    }
    let masks = AttentionMasks::new(&query, key.dims()[2], mask, valid, options);
    let blind = masks.blind();
    let products = scaled_products(query, key, options.scale);
    let capped = if options.softcap > 0.0 {
        let relative = products.clone().div_scalar(options.softcap);
        tanh(relative).mul_scalar(options.softcap)
    } else {
        products.clone()
    };
    let masked = masks.applied_to(capped.clone());
    let precision = options.softmax_dtype.unwrap_or(masked.dtype());
    let precision: FloatDType = stored(&masked.device(), precision).into();
    let relative = masked.clone().cast(precision);
    let probabilities =
        if is_half(relative.dtype()) { softmax_of_halves(relative, 3) } else { softmax(relative, 3) };
    let probabilities = match blind {
        Some(rows) => {
            let shape = probabilities.dims();
            probabilities.mask_fill(to_shape(rows, shape), 0.0)
        }
        None => probabilities,
    };
    let probabilities = probabilities.cast(dtype);
    let value = repeat_heads(value, heads);
    let result = masks.without_hidden(product(probabilities.clone(), value.clone()), &probabilities, value);
    let scores = match shown {
        AttentionScores::Products => products,
        AttentionScores::Capped => capped,
        AttentionScores::Masked => masked,
        AttentionScores::Probabilities => probabilities,
    };
    (result, scores)
}

/// Returns the products of queries and keys in `precision`. Heads of keys may be shared as in [`attention`].
#[inline(never)]
pub fn attention_products(
    query: Tensor<4>,
    key: Tensor<4>,
    scale: Option<f64>,
    precision: DType,
) -> Tensor<4> {
    spec::products(query.dims(), key.dims());
    let [batch, heads, queries, _] = query.dims();
    let keys = key.dims()[2];
    let precision: FloatDType = lowered(&query.device(), precision).into();
    let products = match batch * heads * queries * keys {
        0 => zeros_like(&query, [batch, heads, queries, keys]),
        _ => scaled_products(query, key, scale),
    };
    products.cast(precision)
}

/// Returns queries, keys and values unchanged, if they are operands of one attention.
#[inline(never)]
pub fn matching_heads(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
) -> (Tensor<4>, Tensor<4>, Tensor<4>) {
    spec::heads(query.dims(), key.dims(), value.dims());
    (query, key, value)
}

/// Returns the sums of values weighted by probabilities, in the precision of the probabilities.
#[inline(never)]
pub fn attention_values(probabilities: Tensor<4>, value: Tensor<4>) -> Tensor<4> {
    spec::sums(probabilities.dims(), value.dims());
    let [batch, heads, queries, _] = probabilities.dims();
    let [_, _, keys, size] = value.dims();
    if batch * heads * queries * keys * size == 0 {
        return zeros_like(&value, [batch, heads, queries, size]);
    }
    let dtype: FloatDType = value.dtype().into();
    product(probabilities, repeat_heads(value, heads)).cast(dtype)
}

/// Returns queries times keys, both scaled before the product.
fn scaled_products(query: Tensor<4>, key: Tensor<4>, scale: Option<f64>) -> Tensor<4> {
    let [_, heads, _, size] = query.dims();
    let root = scale.unwrap_or(1.0 / (size as f64).sqrt()).sqrt();
    let key = repeat_heads(key, heads).mul_scalar(root);
    product(query.mul_scalar(root), key.swap_dims(2, 3))
}

/// Returns the product in the dtype of `a`. Half precision accumulates in single precision.
fn product(a: Tensor<4>, b: Tensor<4>) -> Tensor<4> {
    let dtype: FloatDType = a.dtype().into();
    let a = widened(a);
    let wide: FloatDType = a.dtype().into();
    matmul::product(a, b.cast(wide)).cast(dtype)
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Returns the result for queries without keys.
fn zeros_like(like: &Tensor<4>, shape: [usize; 4]) -> Tensor<4> {
    Tensor::zeros(shape, (&like.device(), like.dtype()))
}

/// Repeats each head for all query heads that it serves.
fn repeat_heads(x: Tensor<4>, heads: usize) -> Tensor<4> {
    let [batch, own, length, size] = x.dims();
    if own == heads {
        return x;
    }
    let repeats = heads / own;
    let x = x.with_shape([batch, own, 1, length, size]);
    to_shape(x, [batch, own, repeats, length, size]).with_shape([batch, heads, length, size])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bool, float, int, near, noise};

    /// Zero queries weight all allowed keys equally, so the result is the mean of their values: here of 1, 10 and 100.
    fn means(
        queries: usize,
        mask: Option<AttentionMask>,
        valid: Option<Tensor<1, Int>>,
        options: AttentionOptions,
    ) -> Vec<f32> {
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let value = || float([[[[1f32], [10.0], [100.0]]]]);
        let shown = AttentionScores::Probabilities;
        let y = attention(zeros(queries), zeros(3), value(), mask.clone(), valid.clone(), &options);
        let (slow, _) =
            attention_with_scores(zeros(queries), zeros(3), value(), mask, valid, &options, shown);
        near(slow, y.to_data(), 1e-6);
        y.into_data().iter().map(|x: f32| (x * 100.0).round() / 100.0).collect()
    }

    #[test]
    fn causal_queries_attend_to_the_cache_and_earlier_keys() {
        let causal = |past| AttentionOptions { causal: true, past, ..Default::default() };
        assert_eq!(means(3, None, None, causal(0)), [1.0, 5.5, 37.0]);
        assert_eq!(means(2, None, None, causal(1)), [5.5, 37.0]);
        assert_eq!(means(1, None, None, causal(2)), [37.0]);
    }

    #[test]
    fn masks_intersect_and_queries_without_keys_yield_zero() {
        let allowed = bool([[[[true, false, true], [false, false, false]]]]);
        let mask = || Some(AttentionMask::Allowed(allowed.clone()));
        assert_eq!(means(2, mask(), None, Default::default()), [50.5, 0.0]);
        let causal = AttentionOptions { causal: true, ..Default::default() };
        assert_eq!(means(2, mask(), None, causal), [1.0, 0.0]);
        let inf = f32::NEG_INFINITY;
        let bias = float([[[[0f32, inf, inf], [inf, inf, inf]]]]);
        let mask = Some(AttentionMask::Bias(bias));
        assert_eq!(means(2, mask, None, Default::default()), [1.0, 0.0]);
    }

    #[test]
    fn a_short_mask_masks_the_keys_after_its_end() {
        let mask = Some(AttentionMask::Bias(float([[[[0f32, 0.0]]]])));
        assert_eq!(means(1, mask, None, Default::default()), [5.5]);
        let mask = Some(AttentionMask::Allowed(bool([[[[true]]]])));
        assert_eq!(means(2, mask, None, Default::default()), [1.0, 1.0]);
    }

    #[test]
    fn padding_is_masked_and_queries_are_the_last_valid_positions() {
        let valid = |count: i64| Some(int([count]));
        assert_eq!(means(1, None, valid(2), Default::default()), [5.5]);
        let causal = || AttentionOptions { causal: true, ..Default::default() };
        assert_eq!(means(2, None, valid(2), causal()), [1.0, 5.5]);
        assert_eq!(means(2, None, valid(1), causal()), [0.0, 1.0]);
    }

    #[test]
    fn windows_limit_earlier_and_later_keys() {
        let window =
            |left, right| AttentionOptions { left_window: left, right_window: right, ..Default::default() };
        assert_eq!(means(3, None, None, window(Some(0), Some(0))), [1.0, 10.0, 100.0]);
        assert_eq!(means(3, None, None, window(Some(1), None)), [37.0, 37.0, 55.0]);
        assert_eq!(means(2, None, None, window(None, Some(1))), [5.5, 37.0]);
    }

    #[test]
    fn fast_and_shown_attention_agree_with_shared_heads_and_caps() {
        let options = AttentionOptions { scale: Some(0.7), softcap: 1.5, ..Default::default() };
        let (q, k, v) = (noise([2, 6, 4, 8], 1), noise([2, 3, 5, 8], 2), noise([2, 3, 5, 7], 3));
        let fast = attention(q.clone(), k.clone(), v.clone(), None, None, &options);
        let shown = AttentionScores::Capped;
        let (slow, scores) = attention_with_scores(q, k, v, None, None, &options, shown);
        near(fast, slow.into_data(), 1e-5);
        assert_eq!(scores.dims(), [2, 6, 4, 5]);
    }

    #[test]
    fn masked_keys_and_values_may_be_anything() {
        let (key, value) = (noise::<4>([1, 1, 3, 2], 1), noise::<4>([1, 1, 3, 2], 2));
        let last = |x: &Tensor<4>, special: f32| x.clone().slice_fill([0..1, 0..1, 2..3, 0..2], special);
        let (nan, infinity) = (last(&key, f32::NAN), last(&value, f32::INFINITY));
        let masks = || {
            let allowed = bool([[[[true, true, false], [true; 3]]]]);
            let bias = Tensor::<4>::zeros([1, 1, 2, 3], &key.device());
            [AttentionMask::Allowed(allowed.clone()), AttentionMask::AllowedWithBias(allowed, Box::new(bias))]
        };
        for (mask, of) in masks().into_iter().zip(masks()) {
            for (other_key, other_value) in
                [(&nan, &value), (&key, &infinity), (&key, &last(&value, f32::NAN))]
            {
                let run = |key: &Tensor<4>, value: &Tensor<4>, mask: &AttentionMask| {
                    let (key, value, mask) = (key.clone(), value.clone(), Some(mask.clone()));
                    let query = noise([1, 1, 2, 2], 3);
                    let options = AttentionOptions::default();
                    let shown = AttentionScores::Probabilities;
                    let y =
                        attention(query.clone(), key.clone(), value.clone(), mask.clone(), None, &options);
                    let (slow, _) = attention_with_scores(query, key, value, mask, None, &options, shown);
                    near(slow, y.to_data(), 1e-6);
                    y.into_data().iter().collect::<Vec<f32>>()
                };
                let (expected, y) = (run(&key, &value, &of), run(other_key, other_value, &mask));
                assert_eq!(y[..2], expected[..2]);
                assert!(y[2..].iter().all(|y| !y.is_finite()));
            }
        }
    }

    #[test]
    fn values_without_features_leave_the_scores() {
        let options = AttentionOptions::default();
        for shown in [AttentionScores::Products, AttentionScores::Probabilities] {
            let scores = |size| {
                let (query, key) = (noise([2, 4, 3, 8], 1), noise([2, 2, 5, 8], 2));
                let value = Tensor::zeros([2, 2, 5, size], &query.device());
                attention_with_scores(query, key, value, None, None, &options, shown)
            };
            let (result, found) = scores(0);
            assert_eq!(result.dims(), [2, 4, 3, 0]);
            near(found, scores(1).1.into_data(), 1e-6);
        }
    }
}
