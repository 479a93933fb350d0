//! LayerNormalization and RMSNormalization.

use burn::tensor::{DType, FloatDType, Tensor};

use super::standardized;
use crate::reduce::sum::mean_dim;
use crate::shape::{WithShape, expand::to_shape, lift};
use crate::{
    backend::call,
    spec::{broadcasts_to, operand},
    widen::widened,
};

/// Standardizes over the axes from `axis` on, then applies `scale` and `bias`, which broadcast to `x`.
pub fn layer_norm<const D: usize, const S: usize>(
    x: Tensor<D>,
    scale: Tensor<S>,
    bias: Option<Tensor<S>>,
    axis: usize,
    epsilon: f32,
) -> Tensor<D> {
    let (dtype, dims) = (x.dtype(), x.dims());
    ensure_fits(&dims, &scale, bias.as_ref());
    let bounded = |t: &Tensor<S>| is_row(dims, t.dims(), axis);
    let alike = |t: &Tensor<S>| t.dtype() == dtype;
    let by_rows = bounded(&scale) && bias.as_ref().is_none_or(bounded);
    let rows = if by_rows && alike(&scale) && bias.as_ref().is_none_or(alike) {
        narrow_rows(x, axis)
    } else {
        rows(x, axis)
    };
    let own: FloatDType = rows.dtype().into();
    let scale = scale.cast(own);
    let bias = bias.map(|bias| bias.cast(own));
    let y = if by_rows {
        let length = rows.dims()[1];
        let (scale, bias) = (row(scale, length), bias.map(|bias| row(bias, length)));
        let y = call!(layer_norm(rows, scale, bias; epsilon));
        Tensor::<2>::from_dispatch(y).with_shape(dims)
    } else {
        scaled(standardized(rows, epsilon).with_shape(dims), scale, bias)
    };
    y.cast(dtype)
}

/// Results of [`layer_norm_with_statistics`]. The statistics are f32, with size 1 along the normalized axes.
pub struct LayerNormed<const D: usize> {
    pub y: Tensor<D>,
    pub mean: Tensor<D>,
    pub inverse_deviation: Tensor<D>,
}

/// Returns [`layer_norm`], and the mean and the reciprocal standard deviation.
pub fn layer_norm_with_statistics<const D: usize, const S: usize>(
    x: Tensor<D>,
    scale: Tensor<S>,
    bias: Option<Tensor<S>>,
    axis: usize,
    epsilon: f32,
) -> LayerNormed<D> {
    let (dtype, dims) = (x.dtype(), x.dims());
    ensure_fits(&dims, &scale, bias.as_ref());
    let rows = rows(x, axis);
    let wide = rows.dtype();
    let mean = mean_dim(rows.clone(), 1);
    let centered = rows - mean.clone();
    let variance = mean_dim(centered.clone().square(), 1);
    let inverse_deviation = variance.add_scalar(epsilon).sqrt().recip();
    let normalized = (centered * inverse_deviation.clone()).with_shape(dims);
    let bias = bias.map(|bias| widened(bias).cast(wide));
    let y = scaled(normalized, widened(scale).cast(wide), bias);
    let statistics: [usize; D] = core::array::from_fn(|dim| if dim < axis { dims[dim] } else { 1 });
    LayerNormed {
        y: y.cast(dtype),
        mean: mean.with_shape(statistics).cast(DType::F32),
        inverse_deviation: inverse_deviation.with_shape(statistics).cast(DType::F32),
    }
}

/// Divides by the root mean square over the axes from `axis` on, then applies `scale`, which broadcasts to
/// `x` and determines the dtype of the result.
pub fn rms_norm<const D: usize, const S: usize>(
    x: Tensor<D>,
    scale: Tensor<S>,
    axis: usize,
    epsilon: f32,
) -> Tensor<D> {
    let (dtype, dims) = (scale.dtype(), x.dims());
    ensure_fits(&dims, &scale, None);
    if !is_row(dims, scale.dims(), axis) {
        return rms_norm_with_statistics(x, scale, axis, epsilon).0;
    }
    let rows = if x.dtype() == dtype { narrow_rows(x, axis) } else { rows(x, axis) };
    let length = rows.dims()[1];
    let own: FloatDType = rows.dtype().into();
    let scale = row(scale.cast(own), length);
    let y = Tensor::<2>::from_dispatch(call!(rms_norm(rows, scale; epsilon)));
    y.with_shape(dims).cast(dtype)
}

/// Returns [`rms_norm`], and the reciprocal root mean square: f32, with size 1 along the normalized axes.
pub fn rms_norm_with_statistics<const D: usize, const S: usize>(
    x: Tensor<D>,
    scale: Tensor<S>,
    axis: usize,
    epsilon: f32,
) -> (Tensor<D>, Tensor<D>) {
    let (dtype, dims) = (scale.dtype(), x.dims());
    ensure_fits(&dims, &scale, None);
    let rows = rows(x, axis);
    let wide = rows.dtype();
    let root = mean_dim(rows.clone().square(), 1).add_scalar(epsilon).sqrt();
    let normalized = (rows / root.clone()).with_shape(dims);
    let statistics: [usize; D] = core::array::from_fn(|dim| if dim < axis { dims[dim] } else { 1 });
    (
        scaled(normalized, widened(scale).cast(wide), None).cast(dtype),
        root.recip().with_shape(statistics).cast(DType::F32),
    )
}

/// Fails unless factors and offsets broadcast to the input.
fn ensure_fits<const S: usize>(input: &[usize], scale: &Tensor<S>, bias: Option<&Tensor<S>>) {
    let input = operand("input", input);
    broadcasts_to(operand("scale", &scale.dims()), input);
    if let Some(bias) = bias {
        broadcasts_to(operand("bias", &bias.dims()), input);
    }
}

fn rows<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<2> {
    narrow_rows(widened(x), axis)
}

/// Returns the rows in their own dtype; kernels and primitives sum them in single precision at least.
fn narrow_rows<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<2> {
    let dims = x.dims();
    let [outer, inner]: [usize; 2] = [&dims[..axis], &dims[axis..]].map(|part| part.iter().product());
    x.with_shape([outer, inner])
}

fn scaled<const D: usize, const S: usize>(
    x: Tensor<D>,
    scale: Tensor<S>,
    bias: Option<Tensor<S>>,
) -> Tensor<D> {
    let y = x * lift(scale);
    match bias {
        Some(bias) => y + lift(bias),
        None => y,
    }
}

/// Returns `true` if a factor has one value per element of a row, or a single value.
fn is_row<const D: usize, const S: usize>(x: [usize; D], factor: [usize; S], axis: usize) -> bool {
    let is_one = S <= D && factor.iter().all(|&size| size == 1);
    is_one || spans(x, factor, axis)
}

/// Expands a factor to one value per element of a row.
fn row<const S: usize>(factor: Tensor<S>, length: usize) -> Tensor<1> {
    match factor.shape().num_elements() {
        1 => to_shape(factor.with_shape([1]), [length]),
        _ => factor.with_shape([length]),
    }
}

/// Returns `true` if `factor` has one value per element of a row of `x`.
fn spans<const D: usize, const S: usize>(x: [usize; D], factor: [usize; S], axis: usize) -> bool {
    let leading = D - S.min(D);
    (0..D).all(|dim| {
        let size = if dim < leading { 1 } else { factor[dim - leading] };
        size == if dim < axis { 1 } else { x[dim] }
    })
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorData, module};

    use super::*;
    use crate::testing::{float, near, noise};

    #[test]
    fn every_length_agrees_with_primitives() {
        for length in [7, 8, 9, 16, 100, 40_000] {
            let x = noise::<2>([5, length], length as u64).mul_scalar(3.0).add_scalar(1.0);
            let (scale, bias) = (noise::<1>([length], 2), noise::<1>([length], 3));
            for x in [x.clone(), x.clone().transpose().clone().transpose()] {
                for bias in [None, Some(bias.clone())] {
                    let expected = module::layer_norm(x.clone(), scale.clone(), bias.clone(), 1e-3);
                    let y = layer_norm(x.clone(), scale.clone(), bias, 1, 1e-3);
                    near(y, expected.into_data(), 1e-5);
                }
                let root = x.clone().square().mean_dim(1).add_scalar(1e-3).sqrt();
                let expected = x.clone() / root * scale.clone().unsqueeze();
                near(rms_norm(x, scale.clone(), 1, 1e-3), expected.into_data(), 1e-5);
            }
        }
    }

    #[test]
    fn rows_get_mean_zero_and_deviation_one() {
        let x = float::<2>([[1f32, 2.0, 3.0], [2.0, 2.0, 8.0]]);
        let y = layer_norm(x, float::<1>([1f32, 1.0, 2.0]), Some(float([0f32, 1.0, 0.0])), 1, 0.0);
        let expected = [[-1.224_744_9_f32, 1.0, 2.449_489_7], [-0.707_106_77, 0.292_893_22, 2.828_427]];
        near(y, expected, 1e-6);
    }

    #[test]
    fn every_axis_and_scale_shape_agrees_with_the_definition() {
        let x = noise([2, 3, 4, 5], 1);
        for axis in 0..4 {
            agree(&x, noise::<1>([5], 2), None, axis);
            agree(&x, noise::<2>([4, 1], 2), Some(noise([4, 1], 3)), axis);
            agree(&x, noise::<1>([1], 2), Some(noise([1], 3)), axis);
            agree(&x, noise::<3>([3, 4, 5], 2), Some(noise([3, 4, 5], 3)), axis);
            let full = x.dims().map(|d| d);
            agree(&x, noise::<4>(full, 2), Some(noise(full, 3)), axis);
        }
        let permuted = noise([5, 4, 3, 2], 4).permute([3, 2, 1, 0]);
        agree(&permuted, noise::<2>([4, 5], 2), Some(noise([4, 5], 3)), 2);
    }

    fn agree<const S: usize>(x: &Tensor<4>, scale: Tensor<S>, bias: Option<Tensor<S>>, axis: usize) {
        let dims = x.dims();
        let length: usize = dims[axis..].iter().product();
        let values: Vec<f32> = x.to_data().try_to_vec().unwrap();
        let (mut normed, mut rms, mut means, mut inverses) = (vec![], vec![], vec![], vec![]);
        for row in values.chunks(length) {
            let of = |f: &dyn Fn(f32) -> f32| row.iter().map(|v| f(*v)).sum::<f32>() / length as f32;
            let mean = of(&|v| v);
            let inverse = (of(&|v| (v - mean) * (v - mean)) + 0.1).sqrt().recip();
            let root = (of(&|v| v * v) + 0.1).sqrt();
            normed.extend(row.iter().map(|v| (v - mean) * inverse));
            rms.extend(row.iter().map(|v| v / root));
            means.push(mean);
            inverses.push(inverse);
        }
        let apply = |normed: &[f32], bias: Option<Tensor<S>>| {
            let y = float::<4>(TensorData::new(normed.to_vec(), dims)) * scale.clone().unsqueeze();
            bias.map_or(y.clone(), |bias| y + lift(bias)).into_data()
        };
        let expected = apply(&normed, bias.clone());
        near(layer_norm(x.clone(), scale.clone(), bias.clone(), axis, 0.1), expected.clone(), 1e-5);
        let all = layer_norm_with_statistics(x.clone(), scale.clone(), bias, axis, 0.1);
        near(all.y, expected, 1e-5);
        near(all.mean.flatten::<1>(0, 3), TensorData::from(&means[..]), 1e-5);
        near(all.inverse_deviation.flatten::<1>(0, 3), TensorData::from(&inverses[..]), 1e-5);
        near(rms_norm(x.clone(), scale.clone(), axis, 0.1), apply(&rms, None), 1e-5);
    }

    #[test]
    fn half_precision_is_summed_in_single_precision() {
        let x = (noise::<2>([2, 64], 5) * 300.0).cast(DType::F16);
        let scale = noise::<1>([64], 6).cast(DType::F16);
        let wide = layer_norm(x.clone().cast(DType::F32), scale.clone().cast(DType::F32), None, 1, 1e-5);
        let half = layer_norm(x.clone(), scale.clone(), None, 1, 1e-5);
        near(half, wide.cast(DType::F16).into_data(), 1e-3);
        let wide = rms_norm(x.clone().cast(DType::F32), scale.clone().cast(DType::F32), 1, 1e-5);
        near(rms_norm(x, scale, 1, 1e-5), wide.cast(DType::F16).into_data(), 1e-3);
    }
}
