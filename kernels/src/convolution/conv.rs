//! Conv: cross-correlation over one, two or three axes.

use burn::tensor::{
    Tensor,
    kind::Basic,
    ops::{ConvOptions, PadMode},
};

use crate::{
    backend::call,
    convolution::{addressable, window::Window},
    product::epilogue::{Epilogue, ensure_addable},
    sizes, spec,
};

macro_rules! convolutions {
    ($($name:ident $then:ident $rank:literal $axes:literal $sizes:literal;)*) => {$(
        #[doc = concat!("Convolves `[batch, channels, ", $sizes, "]` with `[outputs, channels / groups, kernel..]`.")]
        pub fn $name(
            x: Tensor<$rank>,
            weight: Tensor<$rank>,
            bias: Option<Tensor<1>>,
            window: Window<$axes>,
            groups: usize,
        ) -> Tensor<$rank> {
            $then(x, weight, bias, None, window, groups, Epilogue::default())
        }

        #[doc = concat!("[`", stringify!($name), "`], then a sum with a tensor of the result's shape and an activation.")]
        #[inline(never)]
        pub fn $then(
            x: Tensor<$rank>,
            weight: Tensor<$rank>,
            bias: Option<Tensor<1>>,
            sum: Option<Tensor<$rank>>,
            window: Window<$axes>,
            groups: usize,
            epilogue: Epilogue,
        ) -> Tensor<$rank> {
            let window = fitted(&x, weight.dims(), sum.as_ref(), window, groups);
            spec::convolution::bias(bias.as_ref().map(Tensor::dims), weight.dims()[0], &weight.dims());
            let (x, window) = padded(x, window);
            let options = options(window, groups);
            Tensor::from_dispatch(call!($name(x, weight, bias, sum; options, epilogue)))
        }
    )*};
}

convolutions! {
    conv1d conv1d_then 3 1 "length";
    conv2d conv2d_then 4 2 "height, width";
    conv3d conv3d_then 5 3 "depth, height, width";
}

/// Applies the padding that Burn 0.22 rejects: asymmetric padding over three axes.
fn padded<const D: usize, const S: usize>(x: Tensor<D>, window: Window<S>) -> (Tensor<D>, Window<S>) {
    if S < 3 || window.is_symmetric() {
        return (x, window);
    }
    sizes::padded(&x.dims(), 2, &window.pads, x.dtype().size());
    let padded = x.pad(window.pads, PadMode::Constant(0.0));
    (padded, window.pads([(0, 0); S]))
}

/// Returns the window with the shortest strides. Fails if it is larger than the input, or than a device can address, the
/// weight has other channels, or the residual addend another shape.
pub(crate) fn fitted<const D: usize, const S: usize, K: Basic>(
    x: &Tensor<D, K>,
    weight: [usize; D],
    sum: Option<&Tensor<D>>,
    window: Window<S>,
    groups: usize,
) -> Window<S> {
    let dims = x.dims();
    spec::convolution::channels(&dims, &weight, &window.kernel, groups);
    window.ensure_fits(&dims);
    let positions = window.positions(core::array::from_fn(|axis| dims[2 + axis]), false);
    let result = core::array::from_fn(|axis| match axis {
        0 => dims[0],
        1 => weight[0],
        _ => positions[axis - 2],
    });
    ensure_addable(&result, sum);
    addressable(x, window)
}

fn options<const S: usize>(window: Window<S>, groups: usize) -> ConvOptions<S> {
    ConvOptions::new_with_padding(window.strides, window.pads, window.dilations, groups)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{by_flex, float, has, indices, near, noise, same};

    #[test]
    fn asymmetric_padding_shifts_the_window() {
        let x = float(TensorData::new((0..35).map(|v| v as f32).collect(), [1, 1, 7, 5]));
        let weight = float(TensorData::new(vec![1f32; 9], [1, 1, 3, 3]));
        let window = Window::new([3, 3]).strides([2, 2]).pads([(1, 1), (0, 0)]);
        same(
            conv2d(x, weight, None, window, 1),
            [[[[21f32, 33.0], [99.0, 117.0], [189.0, 207.0], [171.0, 183.0]]]],
        );
    }

    #[test]
    fn every_option_in_one_dimension_agrees_with_the_definition() {
        for (seed, groups) in [(1, 1), (2, 2), (3, 6)] {
            let x = noise([2, 6, 11], seed);
            let weight = noise([6, 6 / groups, 3], seed + 10);
            for window in [
                Window::new([3]),
                Window::new([3]).pads([(0, 3)]),
                Window::new([3]).strides([3]).pads([(2, 1)]),
                Window::new([3]).strides([2]).dilations([3]).pads([(4, 0)]),
            ] {
                let bias = noise([6], seed + 20);
                let y = conv1d(x.clone(), weight.clone(), Some(bias.clone()), window, groups);
                near(y, naive(&x, &weight, &bias, window, groups), 1e-5);
            }
        }
    }

    #[test]
    fn every_option_in_two_dimensions_agrees_with_the_definition() {
        for (seed, groups) in [(1, 1), (2, 2), (3, 4)] {
            let x = noise([2, 4, 7, 6], seed);
            let weight = noise([8, 4 / groups, 3, 2], seed + 10);
            for window in [
                Window::new([3, 2]),
                Window::new([3, 2]).strides([2, 1]).pads([(1, 1), (1, 1)]),
                Window::new([3, 2]).dilations([2, 3]).pads([(0, 2), (3, 1)]),
                Window::new([3, 2]).strides([3, 2]).pads([(2, 0), (0, 0)]),
            ] {
                let bias = noise([8], seed + 20);
                let y = conv2d(x.clone(), weight.clone(), Some(bias.clone()), window, groups);
                near(y, naive(&x, &weight, &bias, window, groups), 1e-5);
            }
        }
    }

    #[test]
    fn every_option_in_three_dimensions_agrees_with_the_definition() {
        for (seed, groups) in [(1, 1), (2, 2)] {
            let x = noise([1, 4, 5, 4, 6], seed);
            let weight = noise([4, 4 / groups, 2, 3, 1], seed + 10);
            for window in [
                Window::new([2, 3, 1]),
                Window::new([2, 3, 1]).pads([(1, 0), (0, 2), (1, 1)]),
                Window::new([2, 3, 1]).strides([2, 1, 3]).dilations([3, 2, 1]).pads([(1, 1), (1, 1), (0, 0)]),
            ] {
                let bias = noise([4], seed + 20);
                let y = conv3d(x.clone(), weight.clone(), Some(bias.clone()), window, groups);
                near(y, naive(&x, &weight, &bias, window, groups), 1e-5);
            }
        }
    }

    #[test]
    fn a_weight_of_other_channels_fails() {
        let run = |channels, groups| {
            let (x, weight) = (noise([1, channels, 5], 1), noise([4, 2, 3], 2));
            attempt(|| conv1d(x, weight, None, Window::new([3]), groups).dims())
        };
        assert_eq!(run(2, 1), Ok([1, 4, 3]));
        assert_eq!(run(4, 2), Ok([1, 4, 3]));
        let message = run(3, 1).unwrap_err().to_string();
        assert!(
            message.ends_with(
                "expected the weight [4, 2, 3] of 1 groups to match the channels of the input [1, 3, 5]"
            ),
            "{message}"
        );
        assert!(run(6, 3).is_err());
    }

    #[test]
    fn permuted_operands_are_read_in_their_order() {
        let x = noise([6, 7, 2, 4], 5).permute([2, 3, 1, 0]);
        let weight = noise([3, 2, 4, 8], 6).permute([3, 2, 0, 1]);
        let bias = noise([8], 7);
        let window = Window::new([3, 2]).pads([(1, 0), (0, 1)]);
        let y = conv2d(x.clone(), weight.clone(), Some(bias.clone()), window, 1);
        near(y, naive(&x, &weight, &bias, window, 1), 1e-5);
    }

    #[test]
    fn every_float_type_stays_itself() {
        for (dtype, tolerance) in [(DType::F64, 1e-5), (DType::F16, 1e-3), (DType::BF16, 8e-3)] {
            if !has(dtype) || (dtype != DType::F64 && !by_flex("primitives sum in half precision")) {
                continue;
            }
            let x = noise([1, 2, 5, 5], 1).cast(dtype);
            let weight = noise([2, 2, 3, 3], 2).cast(dtype);
            let bias = noise([2], 3).cast(dtype);
            let window = Window::new([3, 3]).pads([(1, 1), (0, 1)]);
            let y = conv2d(x.clone(), weight.clone(), Some(bias.clone()), window, 1);
            assert_eq!(y.dtype(), dtype);
            let expected = naive(&x, &weight, &bias, window, 1).convert_dtype(dtype);
            near(y, expected, tolerance);
        }
    }

    fn naive<const D: usize, const S: usize>(
        x: &Tensor<D>,
        weight: &Tensor<D>,
        bias: &Tensor<1>,
        window: Window<S>,
        groups: usize,
    ) -> TensorData {
        let sizes: [usize; S] = x.dims()[2..].try_into().unwrap();
        let read = |t: TensorData| t.iter::<f64>().collect::<Vec<_>>();
        let flat = |index: &[usize], dims: &[usize]| index.iter().zip(dims).fold(0, |at, (i, d)| at * d + i);
        let (xs, ws, bs) = (read(x.to_data()), read(weight.to_data()), read(bias.to_data()));
        let (x_dims, w_dims) = (x.dims(), weight.dims());
        let mut y_dims = [x_dims[0], w_dims[0]].to_vec();
        let positions = window.positions(sizes, false);
        y_dims.extend(positions);
        let mut y = Vec::new();
        for [batch, output] in indices([x_dims[0], w_dims[0]]) {
            for position in indices(positions) {
                let mut sum = bs[output];
                for (offset, tap) in window.taps(sizes, position).into_iter().enumerate() {
                    let Some(Some(at)) = tap else { continue };
                    for channel in 0..w_dims[1] {
                        let input = output / (w_dims[0] / groups) * w_dims[1] + channel;
                        let mut index = [0; D];
                        (index[0], index[1]) = (batch, input);
                        index[2..].copy_from_slice(&at);
                        let kernel: usize = w_dims[2..].iter().product();
                        sum +=
                            xs[flat(&index, &x_dims)] * ws[(output * w_dims[1] + channel) * kernel + offset];
                    }
                }
                y.push(sum as f32);
            }
        }
        TensorData::new(y, y_dims)
    }
}
