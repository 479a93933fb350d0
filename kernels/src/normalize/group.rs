//! InstanceNormalization and GroupNormalization.

use burn::tensor::{FloatDType, Tensor};

use crate::shape::{WithShape, expand::to_shape};
use crate::{
    backend::call,
    ensure,
    spec::{divisible, operand},
    widen::widened,
};

/// Standardizes each channel of each element of the batch, then applies `scale` and `bias` per channel.
pub fn instance_norm<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f32,
) -> Tensor<D> {
    let channels = x.dims()[1];
    group_norm(x, scale, bias, channels, epsilon)
}

/// Standardizes each of `groups` groups of adjacent channels, then applies `scale` and `bias` per channel.
pub fn group_norm<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<1>,
    bias: Tensor<1>,
    groups: usize,
    epsilon: f32,
) -> Tensor<D> {
    let (dtype, dims) = (x.dtype(), x.dims());
    for (name, row) in [("scale", &scale), ("bias", &bias)] {
        let row = row.dims();
        ensure!(
            row[0] == dims[1],
            "expected axis 0 of the {name} {row:?} to equal axis 1 of the input {dims:?}"
        );
    }
    if dims.contains(&0) {
        return x;
    }
    divisible(operand("input", &dims), 1, groups, "groups");
    let rest = dims[2..].iter().product();
    let alike = scale.dtype() == dtype && bias.dtype() == dtype;
    let x = if alike { x } else { widened(x) };
    let x = x.with_shape([dims[0], dims[1], rest]);
    let own: FloatDType = x.dtype().into();
    let [scale, bias] = [scale, bias].map(|values| values.cast(own));
    let y = call!(group_norm(x, scale, bias; groups, epsilon));
    Tensor::<3>::from_dispatch(y).with_shape(dims).cast(dtype)
}

/// GroupNormalization before opset 21: `scale` and `bias` have one value per group, or one per channel.
pub fn group_norm_by_group<const D: usize>(
    x: Tensor<D>,
    scale: Tensor<1>,
    bias: Tensor<1>,
    groups: usize,
    epsilon: f32,
) -> Tensor<D> {
    let dims = x.dims();
    divisible(operand("input", &dims), 1, groups, "groups");
    let [scale, bias] = [("scale", scale), ("bias", bias)].map(|(name, values)| {
        let row = values.dims();
        ensure!(
            [groups, dims[1]].contains(&row[0]),
            "expected the {name} {row:?} to have an element per channel or {groups} elements for the input \
             {dims:?}"
        );
        if row[0] == dims[1] {
            return values;
        }
        let columns = values.with_shape([groups, 1]);
        to_shape(columns, [groups, dims[1] / groups]).with_shape([dims[1]])
    });
    group_norm(x, scale, bias, groups, epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near};

    fn quads() -> Tensor<3> {
        float([[[1f32, 3.0], [5.0, 7.0], [0.0, 2.0], [0.0, 2.0]]])
    }

    #[test]
    fn instances_are_standardized_alone() {
        let scale = float([1f32, 2.0, 1.0, 1.0]);
        let bias = float([0f32, 1.0, 0.0, 0.0]);
        near(
            instance_norm(quads(), scale, bias, 0.0),
            [[[-1f32, 1.0], [-1.0, 3.0], [-1.0, 1.0], [-1.0, 1.0]]],
            1e-6,
        );
    }

    #[test]
    fn groups_share_their_statistics_and_channels_have_their_scale() {
        let scale = float([1f32, 2.0, 1.0, 3.0]);
        let bias = float([0f32, 1.0, 0.0, 0.0]);
        near(
            group_norm(quads(), scale, bias, 2, 0.0),
            [[[-1.341_640_8_f32, -0.447_213_6], [1.894_427_2, 3.683_281_6], [-1.0, 1.0], [-3.0, 3.0]]],
            1e-6,
        );
    }

    #[test]
    fn one_scale_per_group_holds_for_all_its_channels() {
        near(
            group_norm_by_group(quads(), float([1f32, 2.0]), float([0f32, 1.0]), 2, 0.0),
            [[[-1.341_640_8_f32, -0.447_213_6], [0.447_213_6, 1.341_640_8], [-1.0, 3.0], [-1.0, 3.0]]],
            1e-6,
        );
    }
}
