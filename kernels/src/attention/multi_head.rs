//! Attention operators of com.microsoft, with their masks.

use alloc::vec;
use burn::tensor::{Bool, DType, FloatDType, Int, Tensor, kind::Basic};

use crate::attention::{
    AttentionMask, AttentionOptions, AttentionScores, attention, attention_with_scores, merge_heads,
    split_heads,
};
use crate::shape::{WithShape, append::append, empty};
use crate::{
    dtype::lowered,
    ensure,
    product::matmul::linear,
    shape::expand::{common, to_shape},
    spec::{self, operand},
    widen::widened,
};

mod mask;

pub use mask::KeyMask;
use mask::visible_keys;

/// Attributes of the attention operators of com.microsoft.
#[derive(Clone, Copy, Debug)]
pub struct MultiHead {
    /// A query attends to no key after its own position.
    pub causal: bool,
    /// The factor on the products, by default the inverse square root of the head size.
    pub scale: Option<f64>,
    /// Addend of the scores of masked keys.
    pub hidden: f32,
}

/// Keys and values before the new ones.
pub type Past = Option<(Tensor<4>, Tensor<4>)>;

/// Attention of `[batch, heads, length, size]`, with its heads merged. Half precision is computed in single precision.
///
/// # Panics
/// If operands are not those of [`attention`], past keys or values differ from the new ones in more than
/// their number, or mask or bias do not fit these queries and keys.
#[inline(never)]
pub fn attend(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    past: Past,
    mask: Option<KeyMask>,
    bias: Option<Tensor<4>>,
    options: &MultiHead,
) -> Tensor<3> {
    attend_with_cache(query, key, value, past, mask, bias, options).0
}

/// Returns [`attend`], and all keys and values.
#[inline(never)]
pub fn attend_with_cache(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    past: Past,
    mask: Option<KeyMask>,
    bias: Option<Tensor<4>>,
    options: &MultiHead,
) -> (Tensor<3>, Tensor<4>, Tensor<4>) {
    let dtype: FloatDType = query.dtype().into();
    let (length, key, value) = with_past(past, key, value);
    let query = widened(query);
    let (mask, inner) = merged_mask(&query, &key, length, mask, bias, options);
    let (keys, values) = (widened(key.clone()), widened(value.clone()));
    let y = attention(query, keys, values, mask, None, &inner);
    (merge_heads(y).cast(dtype), key, value)
}

/// Returns [`attend_with_cache`], and the scores with mask and bias added.
#[inline(never)]
pub fn attend_with_scores(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    past: Past,
    mask: Option<KeyMask>,
    bias: Option<Tensor<4>>,
    options: &MultiHead,
) -> (Tensor<3>, Tensor<4>, Tensor<4>, Tensor<4>) {
    let dtype: FloatDType = query.dtype().into();
    let (length, key, value) = with_past(past, key, value);
    let query = widened(query);
    let (mask, inner) = merged_mask(&query, &key, length, mask, bias, options);
    let (keys, values) = (widened(key.clone()), widened(value.clone()));
    let shown = AttentionScores::Masked;
    let (y, scores) = attention_with_scores(query, keys, values, mask, None, &inner, shown);
    (merge_heads(y).cast(dtype), key, value, scores.cast(dtype))
}

/// Returns `x * weight + bias`, in single precision if they are of half precision.
#[inline(never)]
pub fn project(x: Tensor<3>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<3> {
    let (input, of_weight) = (x.dims(), weight.dims());
    let (input, of_weight) = (operand("input", &input), operand("weight", &of_weight));
    spec::equal_axes(of_weight, 0, input, 2);
    if let Some(bias) = &bias {
        spec::equal_axes(operand("bias", &bias.dims()), 0, of_weight, 1);
    }
    linear(widened(x), widened(weight), bias.map(widened))
}

/// [`attend`] of packed queries, keys and values, see [`split_projected`], and a cache `[2, batch, heads, length, size]`.
#[inline(never)]
pub fn attend_projected(
    x: Tensor<3>,
    sizes: [usize; 3],
    heads: usize,
    past: Option<Tensor<5>>,
    mask: Option<KeyMask>,
    bias: Option<Tensor<4>>,
    options: &MultiHead,
) -> Tensor<3> {
    let [query, key, value] = split_projected(x, sizes, [heads; 3]);
    attend(query, key, value, past.map(keys_and_values), mask, bias, options)
}

/// Returns [`attend_projected`], and the cache with the new keys and values.
#[inline(never)]
pub fn attend_projected_with_cache(
    x: Tensor<3>,
    sizes: [usize; 3],
    heads: usize,
    past: Option<Tensor<5>>,
    mask: Option<KeyMask>,
    bias: Option<Tensor<4>>,
    options: &MultiHead,
) -> (Tensor<3>, Tensor<5>) {
    let [query, key, value] = split_projected(x, sizes, [heads; 3]);
    let past = past.map(keys_and_values);
    let (y, key, value) = attend_with_cache(query, key, value, past, mask, bias, options);
    (y, Tensor::stack(vec![key, value], 0))
}

/// Splits `[batch, length, sizes]` into queries, keys and values, and each into its heads.
#[inline(never)]
pub fn split_projected(x: Tensor<3>, sizes: [usize; 3], heads: [usize; 3]) -> [Tensor<4>; 3] {
    let dims = x.dims();
    ensure!(
        sizes.iter().sum::<usize>() == dims[2],
        "expected {sizes:?} features of queries, keys and values on axis 2 of the input {dims:?}"
    );
    let starts = [0, sizes[0], sizes[0] + sizes[1]];
    core::array::from_fn(|at| {
        let part = match sizes[at] {
            0 => empty(&x, [dims[0], dims[1], 0]),
            size => x.clone().narrow(2, starts[at], size),
        };
        split_heads(part, heads[at])
    })
}

/// Returns part `at` of `[batch, length, heads, parts, size]` as `[batch, heads, length, size]`.
#[inline(never)]
pub fn unpack(x: Tensor<5>, at: usize) -> Tensor<4> {
    let dims = x.dims();
    ensure!(at < dims[3], "part {at} is out of bounds for axis 3 of the packed tensor {dims:?}");
    x.narrow(3, at, 1).squeeze_dim::<4>(3).swap_dims(1, 2)
}

/// Adds the biases from `start` on, one per feature of each head, to `x`.
#[inline(never)]
pub fn biased(x: Tensor<4>, bias: Tensor<1>, start: usize) -> Tensor<4> {
    let dims @ [_, heads, _, size] = x.dims();
    let length = bias.dims();
    ensure!(
        start + heads * size <= length[0],
        "expected the bias {length:?} to have at least {start} + {heads} * {size} elements for the input \
         {dims:?}"
    );
    if dims.contains(&0) {
        return x;
    }
    let dtype: FloatDType = x.dtype().into();
    let part = bias.narrow(0, start, heads * size);
    let sum = widened(x).add(widened(part).with_shape([1, heads, 1, size]));
    sum.cast(dtype)
}

/// Splits a cache into keys and values.
fn keys_and_values(past: Tensor<5>) -> (Tensor<4>, Tensor<4>) {
    let dims = past.dims();
    ensure!(dims[0] == 2, "expected axis 0 of the cache {dims:?} to be 2, for keys and values");
    let half = |at| past.clone().narrow(0, at, 1).squeeze_dim::<4>(0);
    (half(0), half(1))
}

/// Returns the number of past keys, and all keys and values.
fn with_past(past: Past, key: Tensor<4>, value: Tensor<4>) -> (usize, Tensor<4>, Tensor<4>) {
    spec::attention::cache(
        past.as_ref().map(|(key, value)| [key.dims(), value.dims()]),
        [key.dims(), value.dims()],
    );
    let Some((past_key, past_value)) = past.filter(|(key, _)| key.dims()[2] > 0) else {
        return (0, key, value);
    };
    let dtype: FloatDType = key.dtype().into();
    let join = |past: Tensor<4>, new| append(past.cast(dtype), new, 2);
    let length = past_key.dims()[2];
    (length, join(past_key, key), join(past_value, value))
}

/// Returns the addend of the scores: for masked keys, for keys after the query, and the bias.
fn merged_mask(
    query: &Tensor<4>,
    key: &Tensor<4>,
    past: usize,
    mask: Option<KeyMask>,
    bias: Option<Tensor<4>>,
    options: &MultiHead,
) -> (Option<AttentionMask>, AttentionOptions) {
    let [batch, heads, queries, _] = query.dims();
    let keys = key.dims()[2];
    if let Some(bias) = &bias {
        spec::attention::bias(bias.dims(), [batch, heads, queries, keys]);
    }
    let zeros = |shape: [usize; 4]| Tensor::<4>::zeros(shape, (&query.device(), query.dtype()));
    let mut added = mask
        .and_then(|mask| visible_keys(mask, [batch, queries, keys], past))
        .map(|visible| zeros(visible.dims()).mask_fill(visible.bool_not(), options.hidden));
    if options.causal && queries > 1 {
        let before = added.unwrap_or_else(|| zeros([1; 4]));
        let shape = common(before.dims(), [1, 1, queries, keys]);
        let after = to_shape(later_keys(query, keys, past), shape);
        added = Some(to_shape(before, shape).mask_fill(after, f32::MIN));
    }
    let bias = bias.map(widened);
    let added = match (added, bias) {
        (Some(a), Some(b)) => Some(a.add(b)),
        (a, b) => a.or(b),
    };
    let inner = AttentionOptions { scale: options.scale, ..Default::default() };
    // The kernels take a mask with a value for each query and key.
    let whole = |x: Tensor<4>| {
        let [batch, heads, _, _] = x.dims();
        AttentionMask::Bias(to_shape(x, [batch, heads, queries, keys]))
    };
    (added.map(whole), inner)
}

/// Returns a mask of the keys after each query; it is empty for the last query.
fn later_keys(query: &Tensor<4>, keys: usize, past: usize) -> Tensor<4, Bool> {
    let queries = query.dims()[2];
    let positions = indices(query, queries).add_scalar(past as i64);
    let last = indices(query, queries).equal_scalar(queries as i64 - 1);
    let positions = positions.mask_fill(last, keys as i64);
    let shape = [1, 1, queries, keys];
    let columns = to_shape(indices(query, keys).with_shape([1, 1, 1, keys]), shape);
    columns.greater(to_shape(positions.with_shape([1, 1, queries, 1]), shape))
}

/// Returns `0..length`.
fn indices<K: Basic>(like: &Tensor<4, K>, length: usize) -> Tensor<1, Int> {
    let device = like.device();
    let dtype = lowered(&device, DType::I64);
    Tensor::arange(0..length as i64, (&device, dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, near, noise, same};

    /// Zero queries weight all keys equally, so the result is the mean of their values: here of 1, 10 and 100.
    fn means(queries: usize, past: usize, mask: Option<KeyMask>, options: MultiHead) -> Vec<f32> {
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let value = float([[[[1f32], [10.0], [100.0]]]]);
        let part = |from, to| value.clone().slice([0..1, 0..1, from..to]);
        let cache = (past > 0).then(|| (zeros(past), part(0, past)));
        let (q, key, new) = (zeros(queries), zeros(3 - past), part(past, 3));
        let y = attend(q.clone(), key.clone(), new.clone(), cache.clone(), mask.clone(), None, &options);
        let (slow, ..) = attend_with_scores(q, key, new, cache, mask, None, &options);
        near(slow, y.to_data(), 1e-6);
        y.into_data().iter().map(|x: f32| (x * 100.0).round() / 100.0).collect()
    }

    fn options() -> MultiHead {
        MultiHead { causal: false, scale: None, hidden: -1e4 }
    }

    #[test]
    fn an_empty_batch_has_no_ends_and_no_features_are_parts() {
        let none = Tensor::<4>::zeros([0, 2, 3, 4], &Default::default());
        let ends = KeyMask::Ends(int(burn::tensor::TensorData::new(Vec::<i32>::new(), [0])));
        let y = attend(none.clone(), none.clone(), none, None, Some(ends), None, &options());
        assert_eq!(y.dims(), [0, 3, 8]);
        let x = Tensor::<3>::zeros([2, 3, 8], &Default::default());
        let parts = split_projected(x, [4, 4, 0], [2; 3]);
        assert_eq!(parts.map(|part| part.dims()), [[2, 2, 3, 2], [2, 2, 3, 2], [2, 2, 3, 0]]);
    }

    #[test]
    fn masks_of_every_rank_hide_keys() {
        let all = |mask| means(1, 0, Some(mask), options());
        assert_eq!(all(KeyMask::Ends(int([2i32]))), [5.5]);
        assert_eq!(all(KeyMask::Ends(int([3i32, 1]))), [55.0]);
        assert_eq!(all(KeyMask::Ends(int([2i32, 0, 1, 0, 1]))), [5.5]);
        assert_eq!(all(KeyMask::Keys(int([[1i32, 0, 2]]))), [50.5]);
        assert_eq!(all(KeyMask::Keys(int([[0i32]]))), [37.0]);
        let two = |mask| means(2, 0, Some(mask), options());
        assert_eq!(two(KeyMask::Queries(int([[[1i32, 0, 0], [0, 0, 0]]]))), [1.0, 37.0]);
        let square = [[[[0i32; 4], [1, 0, 0, 0], [0, 1, 0, 9], [0; 4]]]];
        let mask = Some(KeyMask::Positions(int(square)));
        assert_eq!(means(2, 1, mask, options()), [1.0, 10.0]);
    }

    #[test]
    fn the_last_query_sees_every_key() {
        let causal = || MultiHead { causal: true, ..options() };
        assert_eq!(means(3, 0, None, causal()), [1.0, 5.5, 37.0]);
        assert_eq!(means(2, 0, None, causal()), [1.0, 37.0]);
        assert_eq!(means(2, 1, None, causal()), [5.5, 37.0]);
        // A masked key outweighs a later one.
        let mask = KeyMask::Keys(int([[0i32, 1, 1]]));
        assert_eq!(means(3, 0, Some(mask), causal()), [1.0, 10.0, 55.0]);
    }

    #[test]
    fn projections_are_split_biased_and_packed() {
        let x = noise::<3>([2, 3, 2 * 4 + 4 + 2], 1);
        let [q, k, v] = split_projected(x.clone(), [8, 4, 2], [2, 1, 1]);
        assert_eq!([q.dims(), k.dims(), v.dims()], [[2, 2, 3, 4], [2, 1, 3, 4], [2, 1, 3, 2]]);
        let bias = noise::<1>([20], 2);
        let sum = merge_heads(q.clone()) + crate::shape::lift(bias.clone().narrow(0, 5, 8));
        near(merge_heads(biased(q.clone(), bias, 5)), sum.into_data(), 1e-6);
        let packed = Tensor::stack::<5>(vec![q.clone(), q.clone() * 2.0], 4);
        let packed = packed.permute([0, 2, 1, 4, 3]);
        same(unpack(packed.clone(), 0), q.to_data());
        same(unpack(packed, 1), (q * 2.0).into_data());
    }
}
