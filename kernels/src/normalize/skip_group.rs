//! GroupNorm and SkipGroupNorm of com.microsoft.

use burn::tensor::{FloatDType, Tensor};

use super::group_norm;
use crate::{
    ensure,
    product::epilogue::{Activation, finish},
    shape::{WithShape, expand::to_shape},
    spec::{broadcasts_to, operand},
    widen::widened,
};

/// Attributes of GroupNorm and SkipGroupNorm.
#[derive(Clone, Copy, Debug)]
pub struct ImageGroups {
    /// Number of groups of channels.
    pub groups: usize,
    pub epsilon: f32,
    /// Whether images are `[N, H, W, C]` instead of `[N, C, H, W]`.
    pub channels_last: bool,
    /// Whether Silu is applied to the result.
    pub silu: bool,
}

/// Standardizes each group of channels of each image, then applies `scale` and `shift` per channel, and Silu. Half
/// precision is only rounded in the result.
pub fn image_group_norm(x: Tensor<4>, scale: Tensor<1>, shift: Tensor<1>, options: ImageGroups) -> Tensor<4> {
    let dtype: FloatDType = x.dtype().into();
    let x = if options.channels_last { x.movedim(3, 1) } else { x };
    let y = group_norm(widened(x), scale, shift, options.groups, options.epsilon);
    let y = if options.silu { finish(y, None, Activation::Silu) } else { y };
    let y = if options.channels_last { y.movedim(1, 3) } else { y };
    y.cast(dtype)
}

/// Returns [`image_group_norm`] of `x + skip + bias`, and that sum. The skip connection has the shape of the input, a
/// height and a width of 1, or neither. Half precision is only rounded in the results.
pub fn skip_image_group_norm<const S: usize>(
    x: Tensor<4>,
    scale: Tensor<1>,
    shift: Tensor<1>,
    skip: Tensor<S>,
    bias: Option<Tensor<1>>,
    options: ImageGroups,
) -> (Tensor<4>, Tensor<4>) {
    let (dtype, dims) = (FloatDType::from(x.dtype()), x.dims());
    let input = operand("input", &dims);
    let of_channels = |batch, channels| match options.channels_last {
        true => [batch, 1, 1, channels],
        false => [batch, channels, 1, 1],
    };
    let from = skip.dims();
    let skip = match from[..] {
        [batch, channels] => skip.with_shape(of_channels(batch, channels)),
        [n, a, b, c] => skip.with_shape([n, a, b, c]),
        _ => skip.with_shape([1; 4]),
    };
    broadcasts_to(operand("skipped input", &skip.dims()), input);
    let mut sum = widened(x).add(to_shape(widened(skip), dims));
    if let Some(bias) = bias {
        let (row, channels) = (bias.dims()[0], dims[if options.channels_last { 3 } else { 1 }]);
        ensure!(row == channels, "expected the bias [{row}] to have an element per channel of {input}");
        sum = sum.add(widened(bias).with_shape(of_channels(1, row)));
    }
    let y = image_group_norm(sum.clone(), scale, shift, options);
    (y.cast(dtype), sum.cast(dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, noise};

    fn options(channels_last: bool) -> ImageGroups {
        ImageGroups { groups: 2, epsilon: 1e-5, channels_last, silu: true }
    }

    #[test]
    fn channels_may_be_the_last_axis() {
        let (x, scale, shift) = (noise::<4>([2, 4, 3, 5], 1), noise::<1>([4], 2), noise::<1>([4], 3));
        let expected = group_norm(x.clone(), scale.clone(), shift.clone(), 2, 1e-5);
        let expected = burn::tensor::activation::silu(expected);
        let y = image_group_norm(x.clone(), scale.clone(), shift.clone(), options(false));
        near(y, expected.to_data(), 1e-5);
        let y = image_group_norm(x.movedim(1, 3), scale, shift, options(true));
        near(y.movedim(3, 1), expected.into_data(), 1e-5);
    }

    #[test]
    fn skip_connections_of_channels_are_added_to_each_position() {
        let (x, scale, shift) = (noise::<4>([2, 3, 5, 4], 1), noise::<1>([4], 2), noise::<1>([4], 3));
        let (skip, bias) = (noise::<2>([2, 4], 4), noise::<1>([4], 5));
        let lifted = skip.clone().reshape([2, 1, 1, 4]);
        let expected = x.clone() + lifted.clone() + bias.clone().reshape([1, 1, 1, 4]);
        let (scales, bias) = ((scale.clone(), shift.clone()), Some(bias));
        let (y, sum) = skip_image_group_norm(x.clone(), scale, shift, skip, bias.clone(), options(true));
        near(sum, expected.to_data(), 1e-6);
        let normed = image_group_norm(expected, scales.0.clone(), scales.1.clone(), options(true));
        near(y.clone(), normed.into_data(), 1e-5);
        let (same, _) = skip_image_group_norm(x, scales.0, scales.1, lifted, bias, options(true));
        near(same, y.into_data(), 1e-6);
    }
}
