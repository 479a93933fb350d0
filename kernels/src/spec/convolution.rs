//! Operands of convolutions.

use burn::tensor::{Shape, ops::ConvOptions};

use super::{equal_axes, operand, shaped, types::TensorType};
use crate::ensure;

/// Fails unless a weight `[outputs, channels / groups, kernel..]` fits an input `[batch, channels, ..]` and this kernel.
#[inline(never)]
pub fn channels(x: &[usize], weight: &[usize], kernel: &[usize], groups: usize) {
    let (input, of_weight) = (operand("input", x), operand("weight", weight));
    ensure!(
        Some(x[1]) == weight[1].checked_mul(groups) && weight[0].is_multiple_of(groups),
        "expected {of_weight} of {groups} groups to match the channels of {input}"
    );
    ensure!(weight[2..] == *kernel, "expected {of_weight} to have kernel shape {kernel:?} for {input}");
}

/// [`channels`] for a weight `[channels, outputs / groups, kernel..]`.
#[inline(never)]
pub fn transposed_channels(x: &[usize], weight: &[usize], kernel: &[usize], groups: usize) {
    let (input, of_weight) = (operand("input", x), operand("weight", weight));
    equal_axes(of_weight, 0, input, 1);
    ensure!(
        groups > 0 && weight[0].is_multiple_of(groups) && weight[2..] == *kernel,
        "expected {of_weight} to have {groups} groups and kernel shape {kernel:?} for {input}"
    );
}

/// Fails unless there is one value per output channel.
#[inline(never)]
pub fn bias(bias: Option<[usize; 1]>, outputs: usize, weight: &[usize]) {
    if let Some(bias) = bias {
        shaped(operand("bias", &bias), &[outputs], operand("weight", weight));
    }
}

/// Returns the type of a convolution of `[batch, channels, ..]` over the last `N` axes. The window must fit each axis.
pub fn result<const N: usize>(x: &TensorType, weight: &TensorType, options: &ConvOptions<N>) -> TensorType {
    TensorType::new(shape(&x.shape, &weight.shape, options), x.dtype)
}

/// Returns the shape of a convolution, see [`result`].
pub fn shape<const N: usize>(x: &Shape, weight: &Shape, options: &ConvOptions<N>) -> Shape {
    let mut shape = x.clone();
    shape[1] = weight[0];
    let ends = options.padding_end();
    for (axis, begin) in options.padding_begin().into_iter().enumerate() {
        let reach = options.dilation[axis] * (weight[axis + 2] - 1) + 1;
        let size = x[axis + 2] + begin + ends[axis];
        shape[axis + 2] = (size - reach) / options.stride[axis] + 1;
    }
    shape
}
