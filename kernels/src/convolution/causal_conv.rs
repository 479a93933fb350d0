//! CausalConvWithState: depthwise convolution over each element and those before it.

use alloc::vec;
use burn::tensor::{FloatDType, Tensor, activation::silu};

use crate::{
    convolution::{conv::conv1d, window::Window},
    ensure,
    shape::{WithShape, empty},
    spec::{operand, shaped},
    widen::widened,
};

/// Convolves each channel of `[batch, channels, length]` with its own kernel, `[channels, 1, size]`, over each element and
/// those before it, `dilation` elements apart. Returns the result, and the last `(size - 1) * dilation` elements for the next
/// call.
///
/// `state` contains the elements before the first, zeros by default. `gated` applies Silu to the result.
#[inline(never)]
pub fn causal_conv(
    x: Tensor<3>,
    weight: Tensor<3>,
    bias: Option<Tensor<1>>,
    state: Option<Tensor<3>>,
    dilation: usize,
    gated: bool,
) -> (Tensor<3>, Tensor<3>) {
    let [batch, channels, length] = x.dims();
    let (of_input, size) = (x.dims(), weight.dims()[2]);
    let input = operand("input", &of_input);
    let before = size.saturating_sub(1).saturating_mul(dilation);
    shaped(operand("weight", &weight.dims()), &[channels, 1, size], input);
    ensure!(size > 0, "expected a weight of at least 1 element per channel, found {:?}", weight.dims());
    if let Some(bias) = &bias {
        shaped(operand("bias", &bias.dims()), &[channels], input);
    }
    if let Some(state) = &state {
        shaped(operand("state", &state.dims()), &[batch, channels, before], input);
    }
    let dtype: FloatDType = x.dtype().into();
    if batch * channels == 0 {
        let state = empty(&x, [batch, channels, before]);
        return (x, state);
    }
    let state = match state {
        Some(state) => state,
        None => Tensor::zeros([batch, channels, before], (&x.device(), x.dtype())),
    };
    let all = match (before, length) {
        (0, _) => x.clone(),
        (_, 0) => return (x, state),
        _ => Tensor::cat(vec![state, x.clone()], 2),
    };
    let state = match before {
        0 => empty(&x, [batch, channels, 0]),
        _ => all.clone().narrow(2, length, before),
    };
    if length == 0 {
        return (x, state);
    }
    let y = conv1d(all, weight, bias, Window::new([size]).dilations([dilation]), channels);
    let y = if gated { silu(widened(y)).cast(dtype) } else { y };
    (y, state)
}

/// [`causal_conv`] of `[batch, length, ..]`, whose axes after the first two are the channels, and of such a state.
pub fn causal_conv_last<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<3>,
    bias: Option<Tensor<1>>,
    state: Option<Tensor<D>>,
    dilation: usize,
    gated: bool,
) -> (Tensor<D>, Tensor<D>) {
    let dims = x.dims();
    if let Some(state) = &state {
        let (found, mut expected) = (state.dims(), dims);
        expected[1] = found[1];
        shaped(operand("state", &found), &expected, operand("input", &dims));
    }
    let channels = dims[2..].iter().product();
    let first = |x: Tensor<D>| {
        let (batch, length) = (x.dims()[0], x.dims()[1]);
        x.with_shape([batch, length, channels]).swap_dims(1, 2)
    };
    let (y, state) = causal_conv(first(x), weight, bias, state.map(first), dilation, gated);
    let last = |x: Tensor<3>| {
        let mut shape = dims;
        shape[1] = x.dims()[2];
        x.swap_dims(1, 2).with_shape(shape)
    };
    (last(y), last(state))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::testing::{float, indices, near, noise, same};

    fn check(shape: [usize; 3], size: usize, dilation: usize, past: bool, gated: bool) {
        let before = (size - 1) * dilation;
        let (x, weight) = (noise(shape, 1), noise([shape[1], 1, size], 2));
        let bias = noise([shape[1]], 3);
        let state = past.then(|| noise([shape[0], shape[1], before], 4));
        let list = |data: TensorData| data.try_into_vec::<f32>().expect("floats");
        let (xl, wl, bl) = (list(x.to_data()), list(weight.to_data()), list(bias.to_data()));
        let past = state.as_ref().map(|state| list(state.to_data()));
        let at = |b: usize, c: usize, t: usize| match t.checked_sub(before) {
            Some(t) => xl[(b * shape[1] + c) * shape[2] + t],
            None => past.as_ref().map_or(0.0, |s| s[(b * shape[1] + c) * before + t]),
        };
        let expected = indices(shape).map(|[b, c, t]| {
            let sum = (0..size).map(|j| wl[c * size + j] * at(b, c, t + j * dilation)).sum::<f32>() + bl[c];
            if gated { sum / (1.0 + (-sum).exp()) } else { sum }
        });
        let expected = TensorData::new(expected.collect::<Vec<f32>>(), shape);
        let kept = [shape[0], shape[1], before];
        let last = indices(kept).map(|[b, c, t]| at(b, c, shape[2] + t));
        let last = TensorData::new(last.collect::<Vec<f32>>(), kept);
        let swapped = |x: Tensor<3>| {
            let [batch, channels, length] = x.dims();
            x.swap_dims(1, 2).reshape([batch, length, channels, 1])
        };
        let (ends, all) = (state.clone().map(swapped), swapped(x.clone()));
        let (y, kept) = causal_conv_last(all, weight.clone(), Some(bias.clone()), ends, dilation, gated);
        near(y.squeeze_dim::<3>(3).swap_dims(1, 2), expected.clone(), 1e-6);
        near(kept.squeeze_dim::<3>(3).swap_dims(1, 2), last.clone(), 0.0);
        let (y, state) = causal_conv(x, weight, Some(bias), state, dilation, gated);
        near(y, expected, 1e-6);
        near(state, last, 0.0);
    }

    #[test]
    fn channels_depend_on_earlier_elements() {
        for gated in [false, true] {
            check([2, 3, 5], 4, 1, false, gated);
            check([2, 3, 5], 4, 1, true, gated);
            check([2, 3, 5], 3, 2, false, gated);
            check([2, 3, 5], 3, 4, true, gated);
            check([1, 1, 1], 4, 1, true, gated);
            check([2, 1, 3], 1, 1, false, gated);
        }
    }

    #[test]
    fn without_elements_the_state_stays() {
        let none = || float::<3>(TensorData::new(Vec::<f32>::new(), [1, 2, 0]));
        let state = noise([1, 2, 2], 1);
        let (y, kept) = causal_conv(none(), noise([2, 1, 3], 2), None, Some(state.clone()), 1, true);
        assert_eq!(y.dims(), [1, 2, 0]);
        same(kept, state.into_data());
        let (_, kept) = causal_conv(none(), noise([2, 1, 1], 2), None, None, 1, false);
        assert_eq!(kept.dims(), [1, 2, 0]);
    }

    #[test]
    fn half_precision_stays() {
        let cast = |x: Tensor<3>| x.cast(DType::F16);
        let (y, state) =
            causal_conv(cast(noise([1, 2, 3], 1)), cast(noise([2, 1, 2], 2)), None, None, 1, true);
        assert_eq!((y.dtype(), state.dtype()), (DType::F16, DType::F16));
    }
}
