//! Attention by primitives: Burn's where it means the same, else step by step.

use burn::backend::{
    Backend, TensorMetadata, get_or_init_device_settings,
    tensor::{BoolTensor, FloatTensor},
};
use burn::tensor::{Shape, ops::AttentionModuleOptions};

use crate::{
    attention::{Scores, Undefined},
    backend::Optional,
};

pub fn attention<B: Backend>(
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: Optional<B>,
    bias: Optional<B>,
    scores: Scores,
) -> FloatTensor<B> {
    by::<B>(Way::Backend, query, key, value, mask, bias, scores)
}

/// [`attention`] without the backend's own, which on Flex gives 0 for scores that are no numbers.
pub fn attention_in_steps<B: Backend>(
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: Optional<B>,
    bias: Optional<B>,
    scores: Scores,
) -> FloatTensor<B> {
    by::<B>(Way::Steps, query, key, value, mask, bias, scores)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Backend,
    Steps,
}

fn by<B: Backend>(
    way: Way,
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: Optional<B>,
    bias: Optional<B>,
    scores: Scores,
) -> FloatTensor<B> {
    let mut shape = query.shape();
    let (heads, features) = (shape[1], shape[3]);
    shape[3] = value.shape()[2];
    let [key, value] = [key, value].map(|x| repeated::<B>(x, heads));
    // Not every backend broadcasts them.
    let mask = mask.bool().map(|mask| {
        if mask.shape() == shape {
            mask
        } else {
            B::bool_expand(mask, shape.clone())
        }
    });
    let bias = bias.float().map(|bias| {
        if bias.shape() == shape {
            bias
        } else {
            B::float_expand(bias, shape.clone())
        }
    });
    // Backends differ in what they give a query that sees no key.
    let differs = matches!(scores.undefined, Undefined::NotANumber | Undefined::Zero);
    if way == Way::Steps || !scores.removes_hidden() || differs {
        return in_steps::<B>(query, key, value, mask, bias, scores);
    }
    let blind = hidden_rows::<B>(scores, &mask, &bias);
    let root = (features as f64).sqrt();
    let softcap = (scores.softcap > 0.0).then_some(scores.softcap);
    let mut options = AttentionModuleOptions {
        scale: Some(scores.scale),
        softcap,
        is_causal: false,
    };
    let mut query = query;
    // The kernels that keep scores out of memory take no scale but their own.
    if bias.is_none() && softcap.is_none() {
        options.scale = None;
        if scores.scale * root != 1.0 {
            query = B::float_mul_scalar(query, (scores.scale * root).into());
        }
    }
    let y = B::attention(query, key, value, mask, bias, options);
    match blind {
        Some(rows) => {
            let rows = B::bool_expand(rows, y.shape());
            B::float_mask_fill(y, rows, 0.0.into())
        }
        None => y,
    }
}

fn in_steps<B: Backend>(
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: Option<BoolTensor<B>>,
    bias: Option<FloatTensor<B>>,
    scores: Scores,
) -> FloatTensor<B> {
    let products = B::float_matmul(query, B::float_swap_dims(key, 2, 3));
    let mut x = B::float_mul_scalar(products, scores.scale.into());
    if scores.softcap > 0.0 {
        let relative = B::float_div_scalar(x, scores.softcap.into());
        x = B::float_mul_scalar(B::float_tanh(relative), scores.softcap.into());
    }
    let blind = hidden_rows::<B>(scores, &mask, &bias);
    let add = |x, bias: Option<FloatTensor<B>>| match bias {
        Some(bias) => B::float_add(x, bias),
        None => x,
    };
    let (before, after) = if scores.bias_last {
        (None, bias)
    } else {
        (bias, None)
    };
    x = add(x, before);
    if let Some(mask) = mask {
        x = B::float_mask_fill(x, mask, scores.hidden.into());
    }
    let mut probabilities = B::softmax(add(x, after), 3);
    if scores.undefined == Undefined::Zero {
        let dtype = get_or_init_device_settings::<B>(&probabilities.device()).bool_dtype;
        let undefined = B::float_is_nan(probabilities.clone(), dtype);
        probabilities = B::float_mask_fill(probabilities, undefined, 0.0.into());
    }
    if let Some(rows) = blind {
        let rows = B::bool_expand(rows, probabilities.shape());
        probabilities = B::float_mask_fill(probabilities, rows, 0.0.into());
    }
    B::float_matmul(probabilities, value)
}

/// The queries that see no key, `[batch, heads, queries, 1]`, where they give 0.
fn hidden_rows<B: Backend>(
    scores: Scores,
    mask: &Option<BoolTensor<B>>,
    bias: &Option<FloatTensor<B>>,
) -> Option<BoolTensor<B>> {
    if scores.undefined != Undefined::ZeroIfHidden {
        return None;
    }
    let hidden = bias.clone().map(|bias| {
        let dtype = get_or_init_device_settings::<B>(&bias.device()).bool_dtype;
        B::float_equal_elem(bias, f64::NEG_INFINITY.into(), dtype)
    });
    let hidden = match (mask.clone(), hidden) {
        (Some(mask), Some(hidden)) => B::bool_or(mask, hidden),
        (mask, hidden) => mask.or(hidden)?,
    };
    Some(B::bool_all_dim(hidden, 3))
}

/// Each head of `[batch, heads, length, size]` repeated for all queries that it serves.
fn repeated<B: Backend>(x: FloatTensor<B>, heads: usize) -> FloatTensor<B> {
    let shape = x.shape();
    let [batch, own, length, size] = [shape[0], shape[1], shape[2], shape[3]];
    if own == heads {
        return x;
    }
    let x = B::float_reshape(x, Shape::from([batch, own, 1, length, size]));
    let x = B::float_expand(x, Shape::from([batch, own, heads / own, length, size]));
    B::float_reshape(x, Shape::from([batch, heads, length, size]))
}
