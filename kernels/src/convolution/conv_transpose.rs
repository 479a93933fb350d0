//! ConvTranspose: each input element adds a scaled kernel to the output.

use burn::tensor::{Tensor, ops::ConvTransposeOptions};

use crate::{
    backend::call,
    convolution::window::Window,
    ensure,
    fault::fail,
    sizes::elements,
    spec::{convolution as spec, packed::Packed},
};

macro_rules! doors {
    ($($(#[$doc:meta])* $name:ident $packed:ident $rank:literal $axes:literal;)*) => {$(
        $(#[$doc])*
        #[inline(never)]
        pub fn $name(
            x: Tensor<$rank>,
            weight: Tensor<$rank>,
            bias: Option<Tensor<1>>,
            window: Window<$axes>,
            output_padding: [usize; $axes],
            groups: usize,
        ) -> Tensor<$rank> {
            $packed(x, weight, bias, window, output_padding, groups, None)
        }

        #[doc = concat!("[`", stringify!($name), "`] with a weight that is used again.")]
        #[inline(never)]
        pub fn $packed(
            x: Tensor<$rank>,
            weight: Tensor<$rank>,
            bias: Option<Tensor<1>>,
            window: Window<$axes>,
            output_padding: [usize; $axes],
            groups: usize,
            packed: Option<Packed>,
        ) -> Tensor<$rank> {
            spec::transposed_channels(&x.dims(), &weight.dims(), &window.kernel, groups);
            let window = shortened_strides(window, core::array::from_fn(|axis| x.dims()[2 + axis]));
            let outputs = weight.dims()[1] * groups;
            spec::bias(bias.as_ref().map(Tensor::dims), outputs, &weight.dims());
            let options = options(window, output_padding, groups);
            let sizes = output_sizes(x.dims(), window, output_padding);
            let mut shape = [x.dims()[0]; $rank];
            shape[1] = outputs;
            // Before the end is cropped.
            shape[2..].copy_from_slice(&output_sizes(x.dims(), window.pads(window.pads.map(|(begin, _)| (begin, 0))), output_padding));
            elements(&shape, x.dtype().size());
            let y = call!($name(x, weight, bias; options, packed));
            shortened(Tensor::from_dispatch(y), sizes)
        }
    )*};
}

doors! {
    /// Transposed convolution of `[batch, channels, length]` with `[channels, outputs / groups, kernel]`;
    /// `output_padding` extends the end.
    conv_transpose1d conv_transpose1d_packed 3 1;
    /// Transposed convolution of `[batch, channels, height, width]` with `[channels, outputs / groups, kernel..]`.
    conv_transpose2d conv_transpose2d_packed 4 2;
    /// Transposed convolution of `[batch, channels, depth, height, width]` with `[channels, outputs / groups, kernel..]`.
    conv_transpose3d conv_transpose3d_packed 5 3;
}

/// End of an axis that receives the odd element of a padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// `SAME_LOWER`, and an output shape without automatic padding.
    Begin,
    /// `SAME_UPPER`.
    End,
}

/// Returns the padding, and the output padding, for an input and an output of these spatial sizes.
///
/// Automatic padding without an output shape requires `input * stride`. Output pixels that no kernel reaches
/// are zero, or the bias.
pub fn fit_output<const S: usize>(
    window: Window<S>,
    output_padding: [usize; S],
    input: [usize; S],
    output: [usize; S],
    odd: Odd,
) -> (Window<S>, [usize; S]) {
    let natural = |axis: usize| spread(input[axis], &window, axis).saturating_add(output_padding[axis]);
    let pads = core::array::from_fn(|axis| {
        let total = natural(axis).saturating_sub(output[axis]);
        match odd {
            Odd::Begin => (total.div_ceil(2), total / 2),
            Odd::End => (total / 2, total.div_ceil(2)),
        }
    });
    let output_padding = core::array::from_fn(|axis| {
        output_padding[axis].saturating_add(output[axis].saturating_sub(natural(axis)))
    });
    (window.pads(pads), output_padding)
}

/// Returns the window with strides of 1 along axes on which the input has one element.
fn shortened_strides<const S: usize>(window: Window<S>, sizes: [usize; S]) -> Window<S> {
    let used = |axis: usize| if sizes[axis] == 1 { 1 } else { window.strides[axis] };
    window.strides(core::array::from_fn(used)).with_used_dilations()
}

/// Burn pads both ends equally, so a smaller padding at the end becomes output padding and a larger one is cropped.
fn options<const S: usize>(
    window: Window<S>,
    output_padding: [usize; S],
    groups: usize,
) -> ConvTransposeOptions<S> {
    let longer = |axis: usize| {
        let (begin, end) = window.pads[axis];
        output_padding[axis].saturating_add(begin).saturating_sub(end)
    };
    ConvTransposeOptions::new(
        window.strides,
        window.pads.map(|(begin, _)| begin),
        core::array::from_fn(longer),
        window.dilations,
        groups,
    )
}

fn output_sizes<const D: usize, const S: usize>(
    input: [usize; D],
    window: Window<S>,
    output_padding: [usize; S],
) -> [usize; S] {
    core::array::from_fn(|axis| {
        let (begin, end) = window.pads[axis];
        let whole = spread(input[2 + axis], &window, axis).saturating_add(output_padding[axis]);
        let padding = begin.saturating_add(end);
        ensure!(padding <= whole, "expected a padding of at most {whole} elements, found {padding}");
        whole - padding
    })
}

/// Returns the number of elements that the kernels of `size` input elements span along `axis`.
fn spread<const S: usize>(size: usize, window: &Window<S>, axis: usize) -> usize {
    ensure!(size > 0, "expected elements along each spatial axis of the input, found none");
    let stride = window.strides[axis];
    let last = (size - 1).checked_mul(stride);
    let whole = last.and_then(|last| last.checked_add(window.reach(axis)));
    whole.unwrap_or_else(|| {
        fail(format_args!("the output of {size} elements with a stride of {stride} is too large"))
    })
}

fn shortened<const D: usize, const S: usize>(y: Tensor<D>, sizes: [usize; S]) -> Tensor<D> {
    let mut shape = y.dims();
    shape[2..].copy_from_slice(&sizes);
    // Burn does not crop an axis to size 0.
    if sizes.contains(&0) {
        return Tensor::zeros(shape, (&y.device(), y.dtype()));
    }
    sizes
        .into_iter()
        .enumerate()
        .fold(y, |y, (axis, size)| if y.dims()[2 + axis] == size { y } else { y.narrow(2 + axis, 0, size) })
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, indices, near, noise, on_cpu, same};

    #[test]
    fn the_padding_follows_from_the_output() {
        let window = Window::new([3, 3]).strides([3, 2]);
        let fit = |output, odd| fit_output(window, [0, 0], [3, 3], output, odd);
        assert_eq!(fit([8, 6], Odd::Begin), (window.pads([(1, 0), (1, 0)]), [0, 0]));
        assert_eq!(fit([8, 6], Odd::End), (window.pads([(0, 1), (0, 1)]), [0, 0]));
        assert_eq!(fit([10, 8], Odd::Begin), (window, [1, 1]));
        let same = fit_output(window, [1, 0], [3, 3], [10, 7], Odd::End);
        assert_eq!(same, (window, [1, 0]));
    }

    #[test]
    fn a_padding_beyond_the_result_is_refused() {
        let weight = || float::<3>([[[1f32, 1.0]]]);
        let run = |x: Tensor<3>, window: Window<1>, more| {
            let y = attempt(|| conv_transpose1d(x, weight(), None, window, [more], 1).dims());
            y.map_err(|fault| fault.reason)
        };
        let window = Window::new([2]).pads([(1, 2)]);
        let refused = Err("expected a padding of at most 2 elements, found 3".to_owned());
        assert_eq!(run(float([[[1f32]]]), window, 0), refused);
        assert_eq!(run(float([[[1f32]]]), window, 1), Ok([1, 1, 0]));
        assert_eq!(run(float([[[1f32, 2.0]]]), window, 0), Ok([1, 1, 0]));
        assert_eq!(run(float([[[1f32, 2.0, 3.0]]]), window, 0), Ok([1, 1, 1]));
        let refused = Err("expected elements along each spatial axis of the input, found none".to_owned());
        assert_eq!(run(float(TensorData::new(Vec::<f32>::new(), [1, 1, 0])), window, 3), refused);
        let fitted = attempt(|| fit_output(window, [0], [0], [4], Odd::End));
        assert_eq!(fitted.map_err(|fault| fault.reason).err(), refused.err());
    }

    #[test]
    fn outputs_beyond_the_memory_limit_are_refused() {
        let run = |size, stride, padding| {
            let (x, weight) = (noise::<3>([1, 2, size], 1), noise::<3>([2, 4, 2], 2));
            let window = Window::new([2]).strides([stride]).pads([(padding, padding)]);
            let y =
                attempt(|| conv_transpose1d(x, weight, None, window, [0], 1).into_data().shape().to_vec());
            y.map_err(|fault| fault.reason)
        };
        assert_eq!(run(3, 3, 1), Ok(vec![1, 4, 6]));
        for (stride, padding) in [(1 << 40, 0), (1 << 61, 1 << 60), (1 << 62, 0), (1 << 62, 1 << 61)] {
            assert_eq!(run(1, stride, 0), Ok(vec![1, 4, 2]));
            let reason = run(3, stride, padding).unwrap_err();
            assert!(reason.contains("the memory limit is"), "{reason}");
        }
        let reason = format!("the output of 3 elements with a stride of {} is too large", 1u64 << 63);
        assert_eq!(run(3, 1 << 63, 0), Err(reason));
    }

    #[test]
    fn what_no_kernel_reaches_is_the_bias() {
        let x = float::<3>([[[1f32, 2.0]]]);
        let weight = float::<3>([[[1f32, 1.0]]]);
        let window = Window::new([2]).strides([3]);
        let y = conv_transpose1d(x, weight, Some(float([5f32])), window, [2], 1);
        same(y, [[[6f32, 6.0, 5.0, 7.0, 7.0, 5.0, 5.0]]]);
    }

    #[test]
    fn one_dimension_agrees_with_the_definition() {
        for (groups, window, output_padding) in [
            (1, Window::new([3]), [0]),
            (2, Window::new([3]).strides([2]).pads([(0, 2)]), [1]),
            (4, Window::new([3]).strides([3]).dilations([2]).pads([(3, 0)]), [2]),
        ] {
            let x = noise([2, 4, 5], 1);
            let weight = noise([4, 3, 3], 2);
            let bias = noise([3 * groups], 3);
            let expected = naive(&x, &weight, &bias, window, output_padding, groups);
            near(conv_transpose1d(x, weight, Some(bias), window, output_padding, groups), expected, 1e-5);
        }
    }

    #[test]
    fn two_dimensions_agree_with_the_definition() {
        for (groups, window, output_padding) in [
            (1, Window::new([3, 2]), [0, 0]),
            (1, Window::new([3, 2]).strides([2, 3]).pads([(1, 1), (0, 0)]), [1, 2]),
            (2, Window::new([3, 2]).dilations([2, 3]).pads([(0, 3), (2, 0)]), [0, 0]),
            (4, Window::new([3, 2]).strides([3, 2]).pads([(2, 1), (0, 2)]), [2, 1]),
        ] {
            let x = noise([2, 4, 4, 3], 1);
            let weight = noise([4, 2, 3, 2], 2);
            let bias = noise([2 * groups], 3);
            let expected = naive(&x, &weight, &bias, window, output_padding, groups);
            near(conv_transpose2d(x, weight, Some(bias), window, output_padding, groups), expected, 1e-5);
        }
    }

    #[test]
    fn three_dimensions_agree_with_the_definition() {
        let window = Window::new([2, 1, 3]).strides([2, 1, 2]).pads([(1, 0), (0, 0), (0, 2)]);
        let x = noise([1, 4, 3, 2, 4], 1);
        let weight = noise([4, 2, 2, 1, 3], 2);
        let bias = noise([4], 3);
        let expected = naive(&x, &weight, &bias, window, [1, 0, 1], 2);
        near(conv_transpose3d(x, weight, Some(bias), window, [1, 0, 1], 2), expected, 1e-5);
    }

    #[test]
    fn permuted_operands_and_halves_are_read_in_their_order() {
        let x = noise([3, 4, 4, 2], 1).permute([3, 1, 2, 0]);
        let weight = noise([2, 3, 2, 4], 2).permute([3, 2, 1, 0]);
        let bias = noise([2], 3);
        let window = Window::new([3, 2]).strides([2, 1]).pads([(1, 0), (0, 1)]);
        let expected = naive(&x, &weight, &bias, window, [0, 0], 1);
        let y = conv_transpose2d(x.clone(), weight.clone(), Some(bias.clone()), window, [0, 0], 1);
        near(y, expected, 1e-5);
        if !on_cpu("GPUs sum in half precision") {
            return;
        }
        let [x, weight] = [x, weight].map(|t| t.cast(DType::F16));
        let bias = bias.cast(DType::F16);
        let expected = naive(&x, &weight, &bias, window, [0, 0], 1);
        let y = conv_transpose2d(x, weight, Some(bias), window, [0, 0], 1);
        near(y, expected.convert_dtype(DType::F16), 1e-3);
    }

    #[test]
    fn special_values_reach_no_output_of_other_taps() {
        for (kernel, stride, pad) in
            [(3, 2, 0), (5, 3, 1), (2, 2, 0), (7, 2, 2), (2, 3, 0), (3, 1, 1), (4, 1, 0)]
        {
            for (rows, kernel, strides) in
                [(1, [1, kernel], [1, stride]), (5, [kernel; 2], [stride; 2]), (4, [kernel, 1], [stride, 1])]
            {
                let window = Window::new(kernel).strides(strides);
                let window = window.pads(kernel.map(|kernel| (pad.min(kernel - 1), 0)));
                let [x, weight] = [([2, 3, rows, 6], 1), ([3, 2, kernel[0], kernel[1]], 2)]
                    .map(|(shape, seed)| noise::<4>(shape, seed));
                let of = |at: [usize; 4], value: f32| (at.map(|at| at..at + 1), value);
                let special = |x: &Tensor<4>, values: [_; 2]| {
                    values.into_iter().fold(x.clone(), |x, (range, value)| x.slice_fill(range, value))
                };
                let last = [kernel[0] - 1, kernel[1] - 1];
                let of_input =
                    special(&x, [of([0, 1, 0, 1], f32::NAN), of([1, 2, rows - 1, 3], f32::INFINITY)]);
                let of_weight = special(
                    &weight,
                    [of([0, 1, 0, 0], f32::NAN), of([2, 0, last[0], last[1]], -f32::INFINITY)],
                );
                for (x, weight) in [(of_input, weight), (x, of_weight)] {
                    let bias = noise([2], 3);
                    let expected = naive(&x, &weight, &bias, window, [0, 0], 1);
                    near(conv_transpose2d(x, weight, Some(bias), window, [0, 0], 1), expected, 1e-5);
                }
            }
        }
    }

    fn naive<const D: usize, const S: usize>(
        x: &Tensor<D>,
        weight: &Tensor<D>,
        bias: &Tensor<1>,
        window: Window<S>,
        output_padding: [usize; S],
        groups: usize,
    ) -> TensorData {
        let (dims, kernel) = (x.dims(), weight.dims());
        let flat = |index: &[usize], dims: &[usize]| index.iter().zip(dims).fold(0, |at, (i, d)| at * d + i);
        let read = |data: TensorData| data.iter::<f32>().collect::<Vec<_>>();
        let (xs, ws, bs) = (read(x.to_data()), read(weight.to_data()), read(bias.to_data()));
        let outputs = kernel[1] * groups;
        let mut shape = dims;
        shape[1] = outputs;
        shape[2..].copy_from_slice(&output_sizes(dims, window, output_padding));
        let mut y: Vec<f32> = indices(shape).map(|index| bs[index[1]]).collect();
        for from in indices(dims) {
            for offset in indices(kernel) {
                if offset[0] != from[1] {
                    continue;
                }
                let group = from[1] / (dims[1] / groups);
                let mut to = [from[0]; D];
                to[1] = group * kernel[1] + offset[1];
                let mut inside = true;
                for axis in 0..S {
                    let coordinate =
                        from[2 + axis] * window.strides[axis] + offset[2 + axis] * window.dilations[axis];
                    let begin = window.pads[axis].0;
                    inside &= (begin..begin + shape[2 + axis]).contains(&coordinate);
                    to[2 + axis] = coordinate.wrapping_sub(begin);
                }
                if inside {
                    y[flat(&to, &shape)] += xs[flat(&from, &dims)] * ws[flat(&offset, &kernel)];
                }
            }
        }
        TensorData::new(y, shape)
    }
}
