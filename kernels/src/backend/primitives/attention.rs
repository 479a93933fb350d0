//! Attention by primitives.
//!
//! Burn's attention is used if it is equivalent; otherwise each operation is a primitive.

use burn::backend::{
    Backend, TensorMetadata, get_or_init_device_settings,
    tensor::{BoolTensor, FloatTensor},
};
use burn::tensor::{Shape, ops::AttentionModuleOptions};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::{narrowed, widened};
use crate::{
    backend::{Given, switches},
    sizes::elements,
    spec::scores::{Scores, Undefined},
};

/// Half precision is computed in single precision, the dtype of the bias.
pub fn attention<B: Backend>(
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: Given<B>,
    bias: Given<B>,
    scores: Scores,
) -> FloatTensor<B> {
    let dtype = query.dtype();
    let [query, key, value] = [query, key, value].map(widened::<B>);
    // Backends differ in the result for a query without keys; Flex returns 0 for NaN scores.
    let differs = matches!(scores.undefined, Undefined::NotANumber | Undefined::Zero) || switches::is_plain();
    let operands = Operands::<B>::new(query, key, value, mask, bias, scores);
    let y = if differs || !scores.removes_hidden() { operands.in_steps() } else { operands.by_backend() };
    narrowed::<B>(y, dtype)
}

/// [`attention`] without the backend's own, which returns 0 for NaN scores on Flex.
#[cfg(feature = "flex")]
pub fn attention_in_steps<B: Backend>(
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: Given<B>,
    bias: Given<B>,
    scores: Scores,
) -> FloatTensor<B> {
    Operands::<B>::new(query, key, value, mask, bias, scores).in_steps()
}

/// Operands with the same number of heads, and masks of the shape of the scores.
struct Operands<B: Backend> {
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: Option<BoolTensor<B>>,
    bias: Option<FloatTensor<B>>,
    scores: Scores,
}

impl<B: Backend> Operands<B> {
    fn new(
        query: FloatTensor<B>,
        key: FloatTensor<B>,
        value: FloatTensor<B>,
        mask: Given<B>,
        bias: Given<B>,
        scores: Scores,
    ) -> Self {
        let mut shape = query.shape();
        let heads = shape[1];
        shape[3] = value.shape()[2];
        let [key, value] = [key, value].map(|x| repeated::<B>(x, heads));
        // Not every backend broadcasts masks.
        let mask = mask
            .bool()
            .map(|mask| if mask.shape() == shape { mask } else { B::bool_expand(mask, shape.clone()) });
        let bias = bias
            .float()
            .map(|bias| if bias.shape() == shape { bias } else { B::float_expand(bias, shape.clone()) });
        Self { query, key, value, mask, bias, scores }
    }

    fn by_backend(self) -> FloatTensor<B> {
        let hidden = self.hidden_rows();
        let Self { mut query, key, value, mask, bias, scores } = self;
        let root = (query.shape()[3] as f64).sqrt();
        let softcap = (scores.softcap > 0.0).then_some(scores.softcap);
        let mut options = AttentionModuleOptions { scale: Some(scores.scale), softcap, is_causal: false };
        // Kernels that do not store the scores only support the default scale.
        if bias.is_none() && softcap.is_none() {
            options.scale = None;
            if scores.scale * root != 1.0 {
                query = B::float_mul_scalar(query, (scores.scale * root).into());
            }
        }
        let y = B::attention(query, key, value, mask, bias, options);
        zero_rows::<B>(y, hidden)
    }

    fn in_steps(self) -> FloatTensor<B> {
        let mut scores = self.query.shape().to_vec();
        scores[3] = self.key.shape()[2];
        elements(&scores, self.query.dtype().size());
        let hidden = self.hidden_rows();
        let Self { query, key, value, mask, bias, scores } = self;
        let products = B::float_matmul(query, B::float_swap_dims(key, 2, 3));
        let mut x = B::float_mul_scalar(products, scores.scale.into());
        if scores.softcap > 0.0 {
            let relative = B::float_div_scalar(x, scores.softcap.into());
            x = B::float_mul_scalar(B::float_tanh(relative), scores.softcap.into());
        }
        let add = |x, bias: Option<FloatTensor<B>>| match bias {
            Some(bias) => B::float_add(x, bias),
            None => x,
        };
        let (before, after) = if scores.bias_last { (None, bias) } else { (bias, None) };
        x = add(x, before);
        if let Some(mask) = mask.clone() {
            x = B::float_mask_fill(x, mask, scores.hidden.into());
        }
        let mut probabilities = B::softmax(add(x, after), 3);
        if scores.undefined == Undefined::Zero {
            let dtype = get_or_init_device_settings::<B>(&probabilities.device()).bool_dtype;
            let undefined = B::float_is_nan(probabilities.clone(), dtype);
            probabilities = B::float_mask_fill(probabilities, undefined, 0.0.into());
        }
        let probabilities = zero_rows::<B>(probabilities, hidden);
        let sums = B::float_matmul(probabilities.clone(), value.clone());
        match mask.filter(|_| scores.removes_hidden()) {
            Some(mask) => without_hidden::<B>(sums, probabilities, value, mask),
            None => sums,
        }
    }

    /// Returns the queries without keys, `[batch, heads, queries, 1]`, if their result is 0.
    fn hidden_rows(&self) -> Option<BoolTensor<B>> {
        if self.scores.undefined != Undefined::ZeroIfHidden {
            return None;
        }
        let hidden = self.bias.clone().map(|bias| {
            let dtype = get_or_init_device_settings::<B>(&bias.device()).bool_dtype;
            B::float_equal_elem(bias, f64::NEG_INFINITY.into(), dtype)
        });
        let hidden = match (self.mask.clone(), hidden) {
            (Some(mask), Some(hidden)) => B::bool_or(mask, hidden),
            (mask, hidden) => mask.or(hidden)?,
        };
        Some(B::bool_all_dim(hidden, 3))
    }
}

/// Replaces sums that are NaN or infinite because of the value of a masked key, which is multiplied by 0.
fn without_hidden<B: Backend>(
    sums: FloatTensor<B>,
    probabilities: FloatTensor<B>,
    value: FloatTensor<B>,
    mask: BoolTensor<B>,
) -> FloatTensor<B> {
    let dtype = get_or_init_device_settings::<B>(&value.device()).bool_dtype;
    let special = B::bool_or(B::float_is_nan(value.clone(), dtype), B::float_is_inf(value.clone(), dtype));
    let numbers = |x: &FloatTensor<B>, zeros: BoolTensor<B>| {
        let ones = B::float_ones(x.shape(), &x.device(), x.dtype().into());
        B::float_mask_fill(ones, zeros, 0.0.into())
    };
    let visible = numbers(&probabilities, mask);
    let found = B::float_matmul(visible, numbers(&value, B::bool_not(special.clone())));
    let none = B::float_equal_elem(found, 0.0.into(), dtype);
    let finite = B::float_matmul(probabilities, B::float_mask_fill(value, special, 0.0.into()));
    B::float_mask_where(sums, none, finite)
}

/// Sets rows of a tensor of rank 4 to 0.
fn zero_rows<B: Backend>(x: FloatTensor<B>, rows: Option<BoolTensor<B>>) -> FloatTensor<B> {
    match rows {
        Some(rows) => {
            let rows = B::bool_expand(rows, x.shape());
            B::float_mask_fill(x, rows, 0.0.into())
        }
        None => x,
    }
}

/// Repeats each head of `[batch, heads, length, size]` for all query heads that it serves.
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
