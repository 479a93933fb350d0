//! Integer convolutions.

use burn::tensor::{DType, FloatDType, Int, Tensor, ops::ConvOptions};

use super::{Ending, Requantize, Weight, difference, exact};
use crate::shape::WithShape;
use crate::{
    backend::{ByteProduct, Operand, Outcome, call},
    convolution::{
        conv::{conv1d, conv2d, conv3d, fitted},
        window::Window,
    },
    elementwise::cast::float_to_int,
    quantize::requantize,
    spec::{operand, row_or_scalar, shaped},
};

/// Zero points of the input, and of the weight: a common one, or one per output channel.
pub type Zeros = (Option<Tensor<1, Int>>, Option<Tensor<1, Int>>);

macro_rules! convolutions {
    ($($sums:ident $quantized:ident $conv:ident $rank:literal $axes:literal;)*) => {$(
        /// ConvInteger: the convolution as int32, both operands less their zero points.
        pub fn $sums(
            x: Tensor<$rank, Int>,
            weight: impl Into<Weight<$rank>>,
            zeros: Zeros,
            window: Window<$axes>,
            groups: usize,
        ) -> Tensor<$rank, Int> {
            let weight = weight.into();
            let none = Default::default();
            bytes(&x, &weight, &zeros, (None, none, None), window, groups, Ending::Sums)
                .unwrap_or_else(|| {
                    sums(x, weight.values, zeros, |x, weight| $conv(x, weight, None, window, groups))
                })
        }

        /// QLinearConv: the convolution with a bias of the accumulators, in the scale and zero point of the result.
        #[inline(never)]
        pub fn $quantized(
            x: Tensor<$rank, Int>,
            weight: impl Into<Weight<$rank>>,
            zeros: Zeros,
            bias: Option<Tensor<1, Int>>,
            window: Window<$axes>,
            groups: usize,
            to: Requantize<1>,
        ) -> Tensor<$rank, Int> {
            let weight = weight.into();
            let ends = (bias.clone(), to.scales.clone().map(Some), Some(to.zero.clone()));
            bytes(&x, &weight, &zeros, ends, window, groups, to.ending(&x.device())).unwrap_or_else(|| {
                let sums = sums(x, weight.values, zeros, |x, weight| {
                    $conv(x, weight, None, window, groups)
                });
                let sums = match bias {
                    Some(bias) => sums.add(along_outputs(bias)),
                    None => sums,
                };
                let scales = to.scales.map(along_outputs);
                requantize(sums, scales, along_outputs(to.zero), to.dtype, to.bits)
            })
        }
    )*};
}

convolutions! {
    conv_integer1d qlinear_conv1d conv1d 3 1;
    conv_integer2d qlinear_conv2d conv2d 4 2;
    conv_integer3d qlinear_conv3d conv3d 5 3;
}

/// Bias, scales of both operands and of the result, and zero point of the result.
type Ends = (Option<Tensor<1, Int>>, [Option<Tensor<1>>; 3], Option<Tensor<1, Int>>);

/// Computes the convolution by a kernel of the backend, if it has one.
fn bytes<const D: usize, const S: usize>(
    x: &Tensor<D, Int>,
    weight: &Weight<D>,
    zeros: &Zeros,
    (bias, [x_scale, weight_scale, scale], zero): Ends,
    window: Window<S>,
    groups: usize,
    ending: Ending,
) -> Option<Tensor<D, Int>> {
    let window = fitted(x, weight.values.dims(), None, window, groups);
    let outputs = weight.values.dims();
    let of_weight = operand("weight", &outputs);
    let lengths = [
        ("zero point of the input", zeros.0.as_ref().map(Tensor::dims), 1),
        ("zero point of the weight", zeros.1.as_ref().map(Tensor::dims), outputs[0]),
        ("scale of the input", x_scale.as_ref().map(Tensor::dims), 1),
        ("scale of the weight", weight_scale.as_ref().map(Tensor::dims), outputs[0]),
        ("scale of the result", scale.as_ref().map(Tensor::dims), 1),
        ("zero point of the result", zero.as_ref().map(Tensor::dims), 1),
    ];
    for (name, dims, length) in lengths {
        if let Some(dims) = dims {
            row_or_scalar(operand(name, &dims), length, of_weight);
        }
    }
    if let Some(bias) = &bias {
        shaped(operand("bias", &bias.dims()), &outputs[..1], of_weight);
    }
    let integers = weight.integers(ending);
    let options = ConvOptions::new_with_padding(
        on_three_axes(window.strides, 1),
        on_three_axes(window.pads, (0, 0)),
        on_three_axes(window.dilations, 1),
        groups,
    );
    let (left_zero, right_zero) = zeros.clone();
    let operands = ByteProduct {
        left: x.clone().into_primitive(),
        right: weight.values.clone().into_primitive(),
        left_zero: left_zero.into_primitive(),
        right_zero: right_zero.into_primitive(),
        bias: bias.into_primitive(),
        left_scale: x_scale.into_primitive(),
        right_scale: weight_scale.into_primitive(),
        scale: scale.into_primitive(),
        zero: zero.into_primitive(),
    };
    let y = call!(conv_bytes(operands; options, integers));
    match y {
        Outcome::Int(y) => Some(Tensor::from_dispatch(y)),
        _ => None,
    }
}

/// Extends the values of the last axes to three axes, with `other` for the missing ones.
fn on_three_axes<T: Copy, const S: usize>(numbers: [T; S], other: T) -> [T; 3] {
    core::array::from_fn(|axis| {
        let at = (axis + S).checked_sub(3);
        at.map_or(other, |at| numbers[at])
    })
}

/// Computes the accumulators by primitives.
fn sums<const D: usize>(
    x: Tensor<D, Int>,
    weight: Tensor<D, Int>,
    (x_zero, weight_zero): Zeros,
    conv: impl FnOnce(Tensor<D>, Tensor<D>) -> Tensor<D>,
) -> Tensor<D, Int> {
    let device = x.device();
    let first = |zero: Tensor<1, Int>| {
        let mut shape = [1; D];
        shape[0] = zero.dims()[0];
        zero.with_shape(shape)
    };
    let x = difference(x, x_zero.map(first));
    let weight = difference(weight, weight_zero.map(first));
    let length = weight.dims()[1..].iter().product();
    let float = exact(&device, length).unwrap_or(FloatDType::F32);
    float_to_int(conv(x.cast(float), weight.cast(float)), DType::I32)
}

/// Shapes one value per output to the axis of channels.
fn along_outputs<const D: usize, K: burn::tensor::kind::Basic>(x: Tensor<1, K>) -> Tensor<D, K> {
    let mut shape = [1; D];
    shape[1] = x.dims()[0];
    x.with_shape(shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{int, same};

    #[test]
    fn padding_is_the_zero_point() {
        let x = int::<3>([[[2u8, 3, 4]]]);
        let weight = int::<3>([[[1i8, 1]], [[2, 1]]]);
        let window = Window::new([2]).pads([(1, 0)]);
        let zeros = (Some(int([1u8])), Some(int([0i8, 1])));
        let y = conv_integer1d(x, weight, zeros, window, 1);
        same(y, [[[1i32, 3, 5], [0, 1, 2]]]);
    }
}
