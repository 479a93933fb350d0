//! LinearAttention: queries that read a recurrent state of keys and values.

use alloc::vec::Vec;
use burn::tensor::{FloatDType, Tensor};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::shape::WithShape;
use crate::{
    attention::split_heads,
    elementwise::elementary::exp,
    ensure,
    product::matmul::product,
    shape::{empty, expand::to_shape},
    spec::{divisible, equal_axes, operand, shaped},
    widen::widened,
};

/// Number of heads packed into the last axis, and the factor on the results.
#[derive(Clone, Copy, Debug)]
pub struct LinearAttention {
    pub query_heads: usize,
    pub key_heads: usize,
    /// The inverse square root of the key size by default.
    pub scale: Option<f64>,
}

impl LinearAttention {
    /// Repeats queries that several key heads share.
    fn repeated(self, query: Tensor<3>) -> (Self, Tensor<3>) {
        let dims = query.dims();
        if self.key_heads <= self.query_heads {
            return (self, query);
        }
        let of_query = operand("query", &dims);
        divisible(of_query, 2, self.query_heads, "heads");
        ensure!(
            self.key_heads.is_multiple_of(self.query_heads),
            "expected {} key heads to be a multiple of the {} heads of {of_query}",
            self.key_heads,
            self.query_heads
        );
        let ([batch, length, hidden], repeats) = (dims, self.key_heads / self.query_heads);
        let size = hidden / self.query_heads;
        let query = query.with_shape([batch, length, self.query_heads, 1, size]);
        let query = to_shape(query, [batch, length, self.query_heads, repeats, size]);
        (
            Self { query_heads: self.key_heads, ..self },
            query.with_shape([batch, length, self.key_heads * size]),
        )
    }

    /// Fails unless queries, keys and values have the same tokens and features, divisible by their heads.
    fn ensure_fits(&self, [query, key, value]: [[usize; 3]; 3]) {
        let query = operand("query", &query);
        let (key, value) = (operand("key", &key), operand("value", &value));
        divisible(query, 2, self.query_heads, "heads");
        divisible(key, 2, self.key_heads, "heads");
        divisible(value, 2, self.key_heads, "heads");
        for axis in [0, 1] {
            equal_axes(key, axis, query, axis);
            equal_axes(value, axis, query, axis);
        }
        ensure!(
            self.query_heads.is_multiple_of(self.key_heads)
                && query.size(2) / self.query_heads == key.size(2) / self.key_heads,
            "expected the {} heads of {query} to be a multiple of the {} heads of {key}, with the same size",
            self.query_heads,
            self.key_heads
        );
    }
}

/// LinearAttention of `[batch, length, heads * size]`, and its state after the last token. Several query heads may share a key
/// head, or several key heads a query head.
///
/// The initial state, `[batch, key heads, key size, value size]`, is zero by default. With `decay`, `[batch,
/// length, key heads]` or one value per feature of a key, the state is multiplied by its exponential before
/// each token. With a rate `beta`, `[batch, length, key heads or 1]`, a token replaces that fraction of the
/// value that the state has for its key (delta rule). Computed in single precision at least.
///
/// # Panics
/// If operands are not of the same tokens, or not divisible by the heads.
#[inline(never)]
pub fn linear_attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    state: Option<Tensor<4>>,
    decay: Option<Tensor<3>>,
    beta: Option<Tensor<3>>,
    options: LinearAttention,
) -> (Tensor<3>, Tensor<4>) {
    let (options, query) = options.repeated(query);
    let LinearAttention { query_heads, key_heads, scale } = options;
    options.ensure_fits([&query, &key, &value].map(Tensor::dims));
    let ([batch, length, hidden], device) = (query.dims(), query.device());
    let (key_size, value_size) = (hidden / query_heads, value.dims()[2] / key_heads);
    let narrow: FloatDType = query.dtype().into();
    let kept: FloatDType = state.as_ref().map_or(narrow, |state| state.dtype().into());
    let shape = [batch, key_heads, key_size, value_size];
    let dims = query.dims();
    let of_query = operand("query", &dims);
    if let Some(state) = &state {
        shaped(operand("state", &state.dims()), &shape, of_query);
    }
    for (name, x, sizes) in
        [("decay", &decay, [key_heads, key_heads * key_size]), ("rate", &beta, [key_heads, 1])]
    {
        if let Some(dims) = x.as_ref().map(Tensor::dims) {
            let x = operand(name, &dims);
            ensure!(
                dims[..2] == [batch, length] && sizes.contains(&dims[2]),
                "expected axes 0 and 1 of {x} to equal those of {of_query}, and axis 2 to be one of {sizes:?}"
            );
        }
    }
    let [query, key, value] = [query, key, value].map(widened);
    let wide: FloatDType = query.dtype().into();
    let mut state = match state {
        Some(state) => state.cast(wide),
        None => Tensor::zeros(shape, (&device, query.dtype())),
    };
    let result = [batch, length, query_heads * value_size];
    if result.contains(&0) || key_size == 0 {
        let result = if result.contains(&0) {
            empty(&query, result)
        } else {
            Tensor::zeros(result, (&device, query.dtype()))
        };
        return (result.cast(narrow), state.cast(kept));
    }
    let query = split_heads(query, query_heads)
        .mul_scalar(scale.unwrap_or(1.0 / (key_size as f64).sqrt()))
        // Queries that share a state are adjacent.
        .with_shape([batch, key_heads, query_heads / key_heads, length, key_size]);
    let (key, value) = (split_heads(key, key_heads), split_heads(value, key_heads));
    let decay = decay.map(|decay| exp(split_heads(widened(decay), key_heads)));
    let beta = beta.map(|beta| {
        let heads = beta.dims()[2];
        split_heads(widened(beta), heads)
    });
    let row = |x: &Tensor<4>, at: usize| x.clone().narrow(2, at, 1);
    let mut results = Vec::with_capacity(length);
    for at in 0..length {
        let (key, mut value) = (row(&key, at), row(&value, at));
        if let Some(decay) = &decay {
            state = state.mul(row(decay, at).swap_dims(2, 3));
        }
        if let Some(beta) = &beta {
            let recalled = product(key.clone(), state.clone());
            value = value.sub(recalled).mul(row(beta, at));
        }
        state = state.add(key.swap_dims(2, 3).mul(value));
        let query = query.clone().narrow(3, at, 1).squeeze_dim::<4>(3);
        results.push(product(query, state.clone()).with_shape([batch, 1, query_heads * value_size]));
    }
    (Tensor::cat(results, 1).cast(narrow), state.cast(kept))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::testing::{near, noise};

    const KEY: usize = 3;
    const VALUE: usize = 5;

    struct Case {
        batch: usize,
        length: usize,
        heads: [usize; 2],
        past: bool,
        /// Decays per head.
        decay: usize,
        beta: usize,
    }

    /// Compares with the recurrence, element by element.
    fn check(case: Case) {
        let Case { batch, length, heads: [queries, keys], .. } = case;
        let part = |last: usize, seed| noise([batch, length, last], seed);
        let (q, k, v) = (part(queries * KEY, 1), part(keys * KEY, 2), part(keys * VALUE, 3));
        let past = case.past.then(|| noise([batch, keys, KEY, VALUE], 4));
        let decay = (case.decay > 0).then(|| part(keys * case.decay, 5));
        let beta = (case.beta > 0).then(|| part(case.beta, 6));
        let list = |x: &Tensor<3>| x.to_data().try_into_vec::<f32>().expect("floats");
        let (ql, kl, vl) = (list(&q), list(&k), list(&v));
        let (dl, bl) = (decay.as_ref().map(list), beta.as_ref().map(list));
        let mut expected = vec![0f32; batch * length * queries.max(keys) * VALUE];
        let mut states = match &past {
            Some(past) => past.to_data().try_into_vec::<f32>().expect("floats"),
            None => vec![0.0; batch * keys * KEY * VALUE],
        };
        for b in 0..batch {
            for t in 0..length {
                let token = b * length + t;
                for h in 0..keys {
                    let state = &mut states[(b * keys + h) * KEY * VALUE..][..KEY * VALUE];
                    for (i, element) in state.iter_mut().enumerate() {
                        let feature = if case.decay == 1 { 0 } else { i / VALUE };
                        let at = (token * keys + h) * case.decay + feature;
                        *element *= dl.as_ref().map_or(1.0, |decay| decay[at].exp());
                    }
                    let key = &kl[(token * keys + h) * KEY..][..KEY];
                    let mut value = vl[(token * keys + h) * VALUE..][..VALUE].to_vec();
                    if let Some(beta) = &bl {
                        let beta = beta[token * case.beta + if case.beta == 1 { 0 } else { h }];
                        for (m, value) in value.iter_mut().enumerate() {
                            let recalled: f32 = (0..KEY).map(|i| key[i] * state[i * VALUE + m]).sum();
                            *value = beta * (*value - recalled);
                        }
                    }
                    for i in 0..KEY * VALUE {
                        state[i] += key[i / VALUE] * value[i % VALUE];
                    }
                    // A result for each query head, or for each key head if there are more.
                    let results = queries.max(keys);
                    for g in 0..results / keys {
                        let at = h * (results / keys) + g;
                        let (head, query) = (token * results + at, token * queries + at * queries / results);
                        for m in 0..VALUE {
                            let read = (0..KEY).map(|i| ql[query * KEY + i] * state[i * VALUE + m]);
                            expected[head * VALUE + m] = 0.5 * read.sum::<f32>();
                        }
                    }
                }
            }
        }
        let options = LinearAttention { query_heads: queries, key_heads: keys, scale: Some(0.5) };
        let (y, state) = linear_attention(q, k, v, past, decay, beta, options);
        near(y, TensorData::new(expected, [batch, length, queries.max(keys) * VALUE]), 1e-5);
        near(state, TensorData::new(states, [batch, keys, KEY, VALUE]), 1e-5);
    }

    #[test]
    fn every_rule_follows_its_recurrence() {
        let case = |heads, past, decay, beta| check(Case { batch: 2, length: 4, heads, past, decay, beta });
        case([2, 2], false, 0, 0);
        case([2, 2], true, 1, 0);
        case([4, 2], true, KEY, 0);
        case([2, 2], true, 0, 2);
        case([4, 2], false, KEY, 2);
        case([3, 1], true, 1, 1);
        case([1, 3], true, 1, 1);
        case([2, 4], false, KEY, 4);
        case([2, 2], false, KEY, 1);
    }

    #[test]
    fn no_tokens_keep_the_state() {
        let none = |last| Tensor::<3>::zeros([2, 0, last], &Default::default());
        let state = noise([2, 1, 3, 5], 1).cast(DType::F16);
        let options = LinearAttention { query_heads: 2, key_heads: 1, scale: None };
        let (y, kept) = linear_attention(none(6), none(3), none(5), Some(state.clone()), None, None, options);
        assert_eq!(y.dims(), [2, 0, 10]);
        near(kept, state.into_data(), 0.0);
    }
}
