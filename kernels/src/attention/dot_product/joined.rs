//! Attention as graphs write it in single steps.

use burn::tensor::{Bool, DType, FloatDType, Tensor};

use crate::{
    normalize::softmax::softmax,
    product::matmul,
    shape::{
        expand::{agreed, common, to_shape},
        reshape,
    },
    widen::widened,
};

/// What a step between the products of queries with keys and their softmax does.
#[derive(Clone, Debug)]
pub enum ScoreMask {
    /// This is added to the scores.
    Added(Tensor<4>),
    /// Where this is false the score is that number.
    Seen(Tensor<4, Bool>, f64),
}

/// How the steps are computed.
#[derive(Clone, Copy, Debug)]
pub struct JoinedAttention {
    /// What products of queries and keys are multiplied with.
    pub scale: f64,
    /// What they are divided by.
    pub divisor: f64,
    /// Probabilities that are no number count as 0.
    pub undefined_as_zero: bool,
}

/// `softmax(query * keyᵀ * scale / divisor, masked) * value` of `[batch, heads, length, size]`; heads of keys and values serve equally many of queries. What a query gives that sees no key the masks say, in the order in which they are.
///
/// Half precision is computed in single precision.
#[inline(never)]
pub fn joined_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    masks: Vec<ScoreMask>,
    options: JoinedAttention,
) -> Tensor<4> {
    let [batch, heads, queries, _] = query.dims();
    let [_, own, keys, size] = value.dims();
    let dtype: FloatDType = query.dtype().into();
    if batch * heads * queries * keys * size == 0 {
        let shape = [batch, heads, queries, size];
        return Tensor::zeros(shape, (&query.device(), query.dtype()));
    }
    let [query, key, value] = [query, key, value].map(widened);
    let wide: DType = query.dtype();
    // Queries that share keys are rows of one product.
    let rows = heads / own * queries;
    let features = query.dims()[3];
    let query = shaped(query, [batch, own, rows, features]);
    let mut products = matmul::product(query, key.swap_dims(2, 3));
    // As the file has it, which tells on what is rounded to few bits later.
    if options.scale != 1.0 {
        products = products.mul_scalar(options.scale);
    }
    if options.divisor != 1.0 {
        products = products.div_scalar(options.divisor);
    }
    let scores = shaped(products, [batch, heads, queries, keys]);
    let masked = masks.into_iter().fold(scores, |scores, mask| match mask {
        ScoreMask::Added(bias) => {
            let (scores, bias) = agreed(scores, bias.cast(wide));
            scores.add(bias)
        }
        ScoreMask::Seen(seen, fill) => {
            let shape = common(scores.dims(), seen.dims());
            to_shape(scores, shape).mask_fill(to_shape(seen, shape).bool_not(), fill)
        }
    });
    let probabilities = softmax(masked, 3);
    let probabilities = if options.undefined_as_zero {
        let undefined = probabilities.clone().is_nan();
        probabilities.mask_fill(undefined, 0.0)
    } else {
        probabilities
    };
    // A mask may have broadcast what is of size 1.
    let [batch, heads, queries, keys] = probabilities.dims();
    let rows = heads / own * queries;
    let sums = matmul::product(shaped(probabilities, [batch, own, rows, keys]), value);
    shaped(sums, [batch, heads, queries, size]).cast(dtype)
}

/// The same elements in another shape; one that is this already is not copied.
fn shaped(x: Tensor<4>, shape: [usize; 4]) -> Tensor<4> {
    if x.dims() == shape {
        x
    } else {
        reshape(x, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{AttentionMask, AttentionOptions, attention};
    use crate::testing::{bool, float, near, noise, same};

    const INF: f32 = f32::INFINITY;

    fn plain() -> JoinedAttention {
        JoinedAttention {
            scale: 1.0,
            divisor: 1.0,
            undefined_as_zero: false,
        }
    }

    /// Zero queries see all keys alike, so the result is the mean of their values: here of 1, 10 and 100.
    fn means(queries: usize, masks: Vec<ScoreMask>, options: JoinedAttention) -> Vec<f32> {
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let value = float([[[[1f32], [10.0], [100.0]]]]);
        let y = joined_attention(zeros(queries), zeros(3), value, masks, options);
        y.into_data()
            .iter()
            .map(|x: f32| (x * 100.0).round() / 100.0)
            .collect()
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
        let safe = JoinedAttention {
            undefined_as_zero: true,
            ..plain()
        };
        assert_eq!(means(2, hidden(f64::NEG_INFINITY), safe), [50.5, 0.0]);
        let bias = || ScoreMask::Added(float([[[[-INF, 0.0, 0.0]]]]));
        let fill = || ScoreMask::Seen(seen(), -1e9);
        assert_eq!(means(2, vec![fill(), bias()], plain()), [100.0, 55.0]);
        assert_eq!(means(2, vec![bias(), fill()], plain()), [100.0, 37.0]);
    }

    #[test]
    fn masks_stretch_what_is_of_size_one() {
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let value = || float([[[[1f32], [10.0]]]]);
        let far = -1e9f32;
        let bias = ScoreMask::Added(float([
            [[[0f32, far]], [[far, 0.0]]],
            [[[0.0; 2]], [[0.0; 2]]],
        ]));
        let y = joined_attention(zeros(1), zeros(2), value(), vec![bias], plain());
        same(y, [[[[1f32]], [[10.0]]], [[[5.5]], [[5.5]]]]);
        let seen = ScoreMask::Seen(bool([[[[true, false], [false, true]]]]), -1e9);
        let y = joined_attention(zeros(1), zeros(2), value(), vec![seen], plain());
        same(y, [[[[1f32], [10.0]]]]);
    }

    #[test]
    fn shared_heads_agree_with_the_operator() {
        let (q, k, v) = (
            noise([2, 6, 4, 8], 1),
            noise([2, 3, 5, 8], 2),
            noise([2, 3, 5, 7], 3),
        );
        let bias = noise([2, 1, 4, 5], 4);
        let options = AttentionOptions {
            scale: Some(0.7),
            ..Default::default()
        };
        let mask = Some(AttentionMask::Bias(bias.clone()));
        let expected = attention(q.clone(), k.clone(), v.clone(), mask, None, &options);
        let scaled = JoinedAttention {
            scale: 1.4,
            divisor: 2.0,
            ..plain()
        };
        let found = joined_attention(q, k, v, vec![ScoreMask::Added(bias)], scaled);
        near(found, expected.into_data(), 1e-5);
    }

    #[test]
    fn halves_are_rounded_once_and_nothing_gives_zero() {
        let half = |shape, seed| noise::<4>(shape, seed).cast(DType::F16);
        let (q, k, v) = (
            half([1, 2, 3, 4], 1),
            half([1, 2, 5, 4], 2),
            half([1, 2, 5, 4], 3),
        );
        let wide = joined_attention(
            widened(q.clone()),
            widened(k.clone()),
            widened(v.clone()),
            Vec::new(),
            plain(),
        );
        let expected = wide.cast(DType::F16).into_data();
        same(joined_attention(q, k, v, Vec::new(), plain()), expected);
        let zeros = |length| Tensor::<4>::zeros([1, 1, length, 2], &Default::default());
        let none = joined_attention(zeros(2), zeros(0), zeros(0), Vec::new(), plain());
        same(none, [[[[0f32; 2]; 2]]]);
    }
}
