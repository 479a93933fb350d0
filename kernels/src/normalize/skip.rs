//! SkipLayerNormalization and related operators.

use burn::tensor::{FloatDType, Tensor};

use super::{layer_norm, rms_norm};
use crate::{
    shape::{expand::to_shape, lift},
    spec::{broadcasts_to, operand, shaped},
    widen::widened,
};

/// Returns [`layer_norm`] over the last axis of `x + skip + bias`, and that sum. Half precision is only
/// rounded in the results.
#[inline(never)]
pub fn skip_layer_norm<const D: usize>(
    x: Tensor<D>,
    skip: Tensor<D>,
    scale: Tensor<1>,
    shift: Option<Tensor<1>>,
    bias: Option<Tensor<1>>,
    epsilon: f32,
) -> (Tensor<D>, Tensor<D>) {
    let dtype: FloatDType = x.dtype().into();
    let sum = sum(x, skip, bias);
    let y = layer_norm(sum.clone(), scale, shift, D - 1, epsilon);
    (y.cast(dtype), sum.cast(dtype))
}

/// Returns [`rms_norm`] over the last axis of `x + skip + bias`, and that sum. Half precision is only rounded in the results.
#[inline(never)]
pub fn skip_rms_norm<const D: usize>(
    x: Tensor<D>,
    skip: Tensor<D>,
    scale: Tensor<1>,
    bias: Option<Tensor<1>>,
    epsilon: f32,
) -> (Tensor<D>, Tensor<D>) {
    let dtype: FloatDType = x.dtype().into();
    let sum = sum(x, skip, bias);
    let y = rms_norm(sum.clone(), widened(scale), D - 1, epsilon);
    (y.cast(dtype), sum.cast(dtype))
}

fn sum<const D: usize>(x: Tensor<D>, skip: Tensor<D>, bias: Option<Tensor<1>>) -> Tensor<D> {
    let dims = x.dims();
    let input = operand("input", &dims);
    broadcasts_to(operand("skipped input", &skip.dims()), input);
    if let Some(bias) = &bias {
        shaped(operand("bias", &bias.dims()), &dims[D - 1..], input);
    }
    let sum = widened(x).add(to_shape(widened(skip), dims));
    match bias {
        Some(bias) => sum.add(lift(widened(bias))),
        None => sum,
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use half::f16;

    use super::*;
    use crate::testing::{float, near, noise, same};

    #[test]
    fn skip_and_bias_are_added_first() {
        let (x, skip) = (noise::<3>([2, 3, 4], 1), noise::<3>([1, 3, 4], 2));
        let (scale, shift, bias) = (noise::<1>([4], 3), noise::<1>([4], 4), noise::<1>([4], 5));
        let all = x.clone() + skip.clone() + bias.clone().unsqueeze();
        let (y, sum) = skip_layer_norm(x, skip, scale.clone(), Some(shift.clone()), Some(bias), 1e-5);
        near(sum, all.to_data(), 1e-6);
        near(y, layer_norm(all, scale, Some(shift), 2, 1e-5).into_data(), 1e-6);
    }

    #[test]
    fn the_sum_of_half_precision_is_normalized_unrounded() {
        let half = |x: f32| f16::from_f32(x);
        // In half precision their sum is 1, which would be normalized to 1 and 0.0245.
        let x = float::<2>([[half(1.0), half(0.0)]]);
        let skip = float::<2>([[half(4e-4), half(0.0)]]);
        let scale = float::<1>([half(1000.0), half(0.0)]);
        let (y, sum) = skip_rms_norm(x, skip, scale, None, 1.0);
        same(sum, [[half(1.0), half(0.0)]]);
        let exact = 1000.0 * 1.0004f32 / (1.0004f32 * 1.0004 / 2.0 + 1.0).sqrt();
        assert_eq!(y.dtype(), DType::F16);
        same(y, [[half(exact), half(0.0)]]);
    }
}
