//! BatchNormalization.

use burn::tensor::{DType, Tensor};

use crate::backend::call;
use crate::product::epilogue::Activation;
use crate::reduce::sum::mean_dim;
use crate::shape::WithShape;
use crate::shape::reshape;
use crate::spec::{equal_shapes, operand, shaped};
use crate::widen::widened;

/// Returns `(x - mean) / sqrt(variance + epsilon) * scale + bias` per channel of `[batch, channels, ..]`.
pub fn batch_norm<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<1>,
    bias: Tensor<1>,
    mean: Tensor<1>,
    variance: Tensor<1>,
    epsilon: f32,
) -> Tensor<D> {
    // The factors are computed in the dtype of the variance.
    let variance = match x.dtype() {
        DType::F64 => variance.cast(DType::F64),
        _ => variance,
    };
    let (factor, offset) = batch_norm_factors(scale, bias, mean, variance, epsilon);
    scale_channels(x, factor, offset, Activation::Identity)
}

/// [`batch_norm`] with parameters for each element of an image.
pub fn batch_norm_elements<const D: usize, const S: usize>(
    x: Tensor<D>,
    scale: Tensor<S>,
    bias: Tensor<S>,
    mean: Tensor<S>,
    variance: Tensor<S>,
    epsilon: f32,
) -> Tensor<D> {
    let dims = x.dims();
    let elements = dims[1..].iter().product();
    let of_scale = scale.dims();
    for other in [&bias, &mean, &variance] {
        equal_shapes(operand("parameter", &other.dims()), operand("scale", &of_scale));
    }
    shaped(operand("scale", &of_scale), &dims[D - S.min(D)..], operand("input", &dims));
    let [scale, bias, mean, variance] =
        [scale, bias, mean, variance].map(|values| reshape(values, [elements]));
    let rows = reshape(x, [dims[0], elements]);
    reshape(batch_norm(rows, scale, bias, mean, variance, epsilon), dims)
}

/// Returns the factor and the offset per channel that are equivalent to [`batch_norm`]; f32 for half-precision parameters.
#[inline(never)]
pub fn batch_norm_factors(
    scale: Tensor<1>,
    bias: Tensor<1>,
    mean: Tensor<1>,
    variance: Tensor<1>,
    epsilon: f32,
) -> (Tensor<1>, Tensor<1>) {
    let of_scale = scale.dims();
    for (name, other) in [("bias", &bias), ("mean", &mean), ("variance", &variance)] {
        equal_shapes(operand(name, &other.dims()), operand("scale", &of_scale));
    }
    let [scale, bias, mean, variance] = [scale, bias, mean, variance].map(widened);
    let dtype = variance.dtype();
    let factor = scale.cast(dtype) / variance.add_scalar(epsilon).sqrt();
    let offset = bias.cast(dtype) - mean.cast(dtype) * factor.clone();
    (factor, offset)
}

/// Returns `activation(x * factor + offset)` per channel of `[batch, channels, ..]`.
///
/// # Panics
/// If the number of factors or offsets is not that of the channels.
#[inline(never)]
pub fn scale_channels<const D: usize>(
    x: Tensor<D>,
    factor: Tensor<1>,
    offset: Tensor<1>,
    activation: Activation,
) -> Tensor<D> {
    let dims = x.dims();
    for (name, row) in [("tensor of factors", &factor), ("tensor of offsets", &offset)] {
        shaped(operand(name, &row.dims()), &dims[1..2], operand("input", &dims));
    }
    let dtype = x.dtype();
    let x = widened(x);
    let wide = x.dtype();
    let [factor, offset] = [factor, offset].map(|values| values.cast(wide));
    let y = call!(scale_channels(x, factor, offset; activation));
    Tensor::<D>::from_dispatch(y).cast(dtype)
}

/// Results of [`batch_norm_train`].
pub struct BatchNormTrained<const D: usize> {
    pub y: Tensor<D>,
    pub running_mean: Tensor<1>,
    pub running_variance: Tensor<1>,
}

/// Normalizes with the statistics of the batch, and updates the running ones with them: `running * momentum +
/// batch * (1 - momentum)`, with the population variance.
pub fn batch_norm_train<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<1>,
    bias: Tensor<1>,
    mean: Tensor<1>,
    variance: Tensor<1>,
    epsilon: f32,
    momentum: f32,
) -> BatchNormTrained<D> {
    let dims = x.dims();
    for (name, row) in [("running mean", &mean), ("running variance", &variance)] {
        shaped(operand(name, &row.dims()), &dims[1..2], operand("input", &dims));
    }
    let rest = dims[2..].iter().product();
    let channels = widened(x.clone())
        .with_shape([dims[0], dims[1], rest])
        .swap_dims(0, 1)
        .with_shape([dims[1], dims[0] * rest]);
    let batch_mean = mean_dim(channels.clone(), 1);
    let batch_variance = mean_dim((channels - batch_mean.clone()).square(), 1);
    let [batch_mean, batch_variance] =
        [batch_mean, batch_variance].map(|statistic| statistic.with_shape([dims[1]]));
    let mix = |running: Tensor<1>, batch: &Tensor<1>| {
        let dtype = running.dtype();
        let batch = batch.clone().mul_scalar(1.0 - momentum);
        let running = widened(running).cast(batch.dtype());
        (running.mul_scalar(momentum) + batch).cast(dtype)
    };
    BatchNormTrained {
        running_mean: mix(mean, &batch_mean),
        running_variance: mix(variance, &batch_variance),
        y: batch_norm(x, scale, bias, batch_mean, batch_variance, epsilon),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{device, float, has, near, noise, same};

    fn pair(values: [f32; 2]) -> Tensor<1> {
        float(values)
    }

    #[test]
    fn factors_of_a_float64_input_are_computed_in_float64() {
        if !has(DType::F64) {
            return;
        }
        let x = float::<2>([[1f64, -2.0]]).cast(DType::F64);
        let row = || float::<1>([0.3f32, 0.7]);
        let y = batch_norm(x, row(), row(), row(), row(), 1e-5);
        let expected = [1f64, -2.0].iter().zip([0.3f32, 0.7]).map(|(x, p)| {
            let p = f64::from(p);
            (x - p) / (p + f64::from(1e-5f32)).sqrt() * p + p
        });
        let found = y.into_data().try_to_vec::<f64>().unwrap();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn each_element_may_have_its_own_factors() {
        let x = float::<3>([[[1f32, 2.0], [3.0, 4.0]]]);
        let of = |values: [f32; 4]| float::<2>([[values[0], values[1]], [values[2], values[3]]]);
        let ones = of([1.0; 4]);
        let y = batch_norm_elements(
            x,
            of([1.0, 2.0, 3.0, 4.0]),
            of([0.0, 0.0, 0.0, 1.0]),
            ones.clone(),
            ones,
            0.0,
        );
        near(y, [[[0f32, 2.0], [6.0, 13.0]]], 1e-6);
    }

    #[test]
    fn each_channel_has_its_own_factors() {
        let x = float::<4>([[[[-1f32, 0.0, 1.0]], [[2.0, 3.0, 4.0]]]]);
        let y = batch_norm(x, pair([1.0, 1.5]), pair([0.0, 1.0]), pair([0.0, 3.0]), pair([1.0, 1.5]), 1e-5);
        near(y, [[[[-0.999_995_f32, 0.0, 0.999_995]], [[-0.224_740_77, 1.0, 2.224_740_8]]]], 1e-6);
    }

    #[test]
    fn rank_two_has_channels_and_nothing_else() {
        let [scale, bias, mean, variance] = [[2.0, 1.0], [1.0, 0.0], [1.0, 2.0], [4.0, 1.0]].map(pair);
        let y = batch_norm(float::<2>([[3f32, 5.0]]), scale, bias, mean, variance, 0.0);
        same(y, [[3f32, 3.0]]);
    }

    #[test]
    fn half_precision_is_normalized_in_single_precision() {
        let x = float::<3>([[[2048f32], [4.0]]]).cast(DType::F16);
        let parameters = [[1.0, 1.0], [0.0, 0.0], [2047.0, 3.0], [0.25, 0.25]];
        let [scale, bias, mean, variance] = parameters.map(pair);
        let y = batch_norm(x, scale, bias, mean, variance, 0.0);
        same(y, float::<3>([[[2f32], [2.0]]]).cast(DType::F16).into_data());
    }

    #[test]
    fn training_mixes_batch_and_running_statistics() {
        let x = float::<3>([[[1f32, 3.0], [0.0, 0.0]], [[5.0, 7.0], [4.0, 4.0]]]);
        let [scale, bias] = [[1.0, 2.0], [0.0, 1.0]].map(pair);
        let trained = batch_norm_train(x, scale, bias, pair([0.0, 1.0]), pair([1.0, 1.0]), 0.0, 0.75);
        same(trained.running_mean, [1f32, 1.25]);
        same(trained.running_variance, [2f32, 1.75]);
        near(
            trained.y,
            [[[-1.341_640_8_f32, -0.447_213_6], [-1.0, -1.0]], [[0.447_213_6, 1.341_640_8], [3.0, 3.0]]],
            1e-6,
        );
    }

    #[test]
    fn batch_statistics_of_noise_are_standard() {
        let ones = || Tensor::ones([3], &device());
        let zeros = || Tensor::zeros([3], &device());
        let x = noise([4, 3, 5, 2], 3);
        let once = batch_norm_train(x, ones(), zeros(), zeros(), ones(), 0.0, 0.0);
        let again = batch_norm_train(once.y, ones(), zeros(), zeros(), ones(), 0.0, 0.0);
        near(again.running_mean, [0f32; 3], 1e-6);
        near(again.running_variance, [1f32; 3], 1e-6);
    }
}
