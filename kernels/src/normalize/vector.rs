//! MeanVarianceNormalization and LpNormalization.

use burn::tensor::Tensor;

use crate::elementwise::elementary::power_by;
use crate::reduce::sum::{mean_dim, sum_dim};
use crate::widen::widened;

/// Returns `(x - mean) / (deviation + 1e-9)` over `axes`.
pub fn mean_variance_normalize<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    let dtype = x.dtype();
    let x = widened(x);
    let centered = x.clone() - mean(x, axes);
    let deviation = mean(centered.clone().square(), axes).sqrt();
    (centered / deviation.add_scalar(1e-9)).cast(dtype)
}

/// Divides `x` by its `p`-norm along `axis`; a vector of zeros is unchanged.
pub fn lp_normalize<const D: usize>(x: Tensor<D>, axis: usize, p: u32) -> Tensor<D> {
    let dtype = x.dtype();
    let x = widened(x);
    let norm = match p {
        1 => sum_dim(x.clone().abs(), axis),
        2 => sum_dim(x.clone().square(), axis).sqrt(),
        _ => power_by(sum_dim(power_by(x.clone().abs(), f64::from(p)), axis), 1.0 / f64::from(p)),
    };
    let zero = norm.clone().equal_scalar(0.0);
    (x / norm.mask_fill(zero, 1.0)).cast(dtype)
}

fn mean<const D: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<D> {
    axes.iter().fold(x, |x, axis| mean_dim(x, *axis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near};

    #[test]
    fn all_named_axes_share_their_statistics() {
        let x = float::<3>([[[1f32, 3.0], [7.0, 7.0]], [[5.0, 7.0], [7.0, 7.0]]]);
        near(
            mean_variance_normalize(x, &[0, 2]),
            [[[-1.341_640_8_f32, -0.447_213_6], [0.0, 0.0]], [[0.447_213_6, 1.341_640_8], [0.0, 0.0]]],
            1e-6,
        );
    }

    #[test]
    fn vectors_get_norm_one_and_zeros_stay() {
        let x = float::<2>([[3f32, -4.0], [0.0, 0.0]]);
        near(lp_normalize(x.clone(), 1, 2), [[0.6f32, -0.8], [0.0, 0.0]], 1e-6);
        near(lp_normalize(x.clone(), 1, 1), [[3.0 / 7.0f32, -4.0 / 7.0], [0.0, 0.0]], 1e-6);
        near(lp_normalize(x, 0, 1), [[1f32, -1.0], [0.0, 0.0]], 1e-6);
    }
}
