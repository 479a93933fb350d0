//! DeformConv: convolution whose taps are displaced by offsets.

use alloc::vec::Vec;
use burn::tensor::{Tensor, TensorData};

use crate::shape::WithShape;
use crate::{
    convolution::window::Window,
    ensure,
    image::sample::{combine_axes, linear, read},
    product::matmul::product,
    shape::reshape,
    sizes::elements,
    spec::{self, operand, shaped},
    widen::widened,
};

/// Displacement of the taps of [`deform_conv`]. Taps outside the input are zero.
pub struct Taps<const D: usize> {
    /// `[batch, offset_groups * taps * axes, output..]`.
    pub offset: Tensor<D>,
    /// Factor on each tap, `[batch, offset_groups * taps, output..]`.
    pub mask: Option<Tensor<D>>,
    /// Number of channel groups with their own offsets.
    pub groups: usize,
}

/// DeformConv of `[batch, channels, spatial..]` with a weight of `[outputs, channels / groups, kernel..]`.
pub fn deform_conv<const D: usize, const S: usize>(
    x: Tensor<D>,
    weight: Tensor<D>,
    bias: Option<Tensor<1>>,
    taps: Taps<D>,
    window: Window<S>,
    groups: usize,
) -> Tensor<D> {
    assert_eq!(D, S + 2, "rank of DeformConv's input");
    let (dtype, dims, outputs) = (x.dtype(), x.dims(), weight.dims()[0]);
    taps.ensure_fits(&dims, &window);
    spec::convolution::channels(&dims, &weight.dims(), &window.kernel, groups);
    spec::convolution::bias(bias.as_ref().map(Tensor::dims), outputs, &weight.dims());
    let mut shape = taps.offset.dims();
    shape[1] = outputs;
    if shape.contains(&0) || dims.contains(&0) {
        let y = Tensor::<D>::zeros(shape, (&x.device(), dtype));
        return with_bias(y, bias);
    }
    let [batch, channels] = [dims[0], dims[1]];
    let [pixels, reads] = [shape[2..].iter().product(), window.kernel.iter().product()];
    // The values that the taps gather, and an index for each.
    elements(&[batch, channels, reads, pixels], size_of::<i64>());
    let parts = batch * taps.groups;
    let x = widened(x).with_shape([parts, channels / taps.groups, dims[2..].iter().product()]);
    let offset = widened(taps.offset).with_shape([parts, reads, S, pixels]);
    let axes = (0..S).map(|axis| {
        let offset = offset.clone().narrow(2, axis, 1);
        let positions = positions(&window, axis, &shape[2..]);
        let positions = TensorData::new(positions, [1, reads * pixels]);
        let positions = Tensor::<2>::from_data(positions, (&x.device(), x.dtype()));
        let points = offset.with_shape([parts, reads * pixels]) + positions;
        (linear(points, dims[2 + axis]), dims[2 + axis])
    });
    let mut columns = read(x.clone(), combine_axes(axes));
    if let Some(mask) = taps.mask {
        columns = columns * widened(mask).with_shape([parts, 1, reads * pixels]);
    }
    let summed = channels / groups * reads;
    let columns = columns.with_shape([batch, groups, summed, pixels]);
    let weight = widened(weight).with_shape([1, groups, outputs / groups, summed]);
    let y = product(weight, columns).with_shape(shape);
    with_bias(y, bias.map(widened)).cast(dtype)
}

impl<const D: usize> Taps<D> {
    /// Fails unless each tap of the window has an offset along each axis at each output pixel.
    fn ensure_fits<const S: usize>(&self, input: &[usize; D], window: &Window<S>) {
        window.ensure_fits(input);
        let positions = window.positions(core::array::from_fn(|axis| input[2 + axis]), false);
        let reads = window.kernel.iter().product::<usize>();
        let shape = |each: usize| -> [usize; D] {
            core::array::from_fn(|axis| match axis {
                0 => input[0],
                1 => self.groups * reads * each,
                _ => positions[axis - 2],
            })
        };
        let of_input = operand("input", input);
        ensure!(
            self.groups > 0 && input[1].is_multiple_of(self.groups),
            "expected axis 1 of {of_input} to divide into {} groups of offsets",
            self.groups
        );
        shaped(operand("offset", &self.offset.dims()), &shape(S), of_input);
        if let Some(mask) = &self.mask {
            shaped(operand("mask", &mask.dims()), &shape(1), of_input);
        }
    }
}

fn with_bias<const D: usize>(y: Tensor<D>, bias: Option<Tensor<1>>) -> Tensor<D> {
    let mut along = [1; D];
    along[1] = y.dims()[1];
    match bias {
        Some(bias) if !y.dims().contains(&0) => y + reshape(bias, along),
        _ => y,
    }
}

/// Returns the coordinate along `axis` of each tap of the window at each output pixel, before its offset.
fn positions<const S: usize>(window: &Window<S>, axis: usize, sizes: &[usize]) -> Vec<f32> {
    let along = |sizes: &[usize], step: usize| -> Vec<usize> {
        let inner: usize = sizes[axis + 1..].iter().product();
        let count = sizes.iter().product::<usize>();
        (0..count).map(|at| at / inner % sizes[axis] * step).collect()
    };
    let taps = along(&window.kernel, window.dilations[axis]);
    let starts = along(sizes, window.strides[axis]);
    let begin = window.pads[axis].0 as f32;
    taps.iter().flat_map(|tap| starts.iter().map(move |start| (tap + start) as f32 - begin)).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::{
        convolution::conv::conv2d,
        testing::{float, indices, near, noise, on_each},
    };

    fn taps<const D: usize>(offset: Tensor<D>, mask: Option<Tensor<D>>, groups: usize) -> Taps<D> {
        Taps { offset, mask, groups }
    }

    #[test]
    fn an_offset_that_is_no_number_moves_no_other_output() {
        on_each(|| {
            let (x, weight) = (noise([1, 2, 4, 4], 1), noise([3, 2, 1, 1], 2));
            let result = |offset: f32| {
                let mut offsets = [0.25f32; 32];
                (offsets[0], offsets[17]) = (offset, offset);
                let offsets = float::<4>(TensorData::new(offsets.to_vec(), [1, 2, 4, 4]));
                let taps = taps(offsets, None, 1);
                let y = deform_conv(x.clone(), weight.clone(), None, taps, Window::new([1, 1]), 1);
                y.reshape([3, 16])
            };
            for offset in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
                let (y, expected) = (result(offset), result(0.5));
                near(y.narrow(1, 2, 14), expected.narrow(1, 2, 14).into_data(), 1e-6);
            }
        });
    }

    #[test]
    fn without_offsets_it_is_a_convolution() {
        let window = Window::new([3, 2]).strides([2, 1]).dilations([1, 2]).pads([(1, 2), (0, 1)]);
        let (x, weight) = (noise([2, 4, 7, 6], 1), noise([6, 2, 3, 2], 2));
        let bias = Some(noise([6], 3));
        let expected = conv2d(x.clone(), weight.clone(), bias.clone(), window, 2);
        let [batch, _, h, w] = expected.dims();
        for groups in [1, 2] {
            let offset = Tensor::zeros([batch, groups * 12, h, w], (&x.device(), x.dtype()));
            let mask = Tensor::ones([batch, groups * 6, h, w], (&x.device(), x.dtype()));
            for mask in [None, Some(mask)] {
                let taps = taps(offset.clone(), mask, groups);
                let y = deform_conv(x.clone(), weight.clone(), bias.clone(), taps, window, 2);
                near(y, expected.to_data(), 1e-5);
            }
        }
    }

    #[test]
    fn offsets_move_each_tap_of_each_group() {
        let [batch, channels, size, out, kernel, groups] = [2, 4, 5, 3, 3, 2];
        let x = noise([batch, channels, size], 1);
        let weight = noise([1, channels, kernel], 2);
        let offset = noise([batch, groups * kernel, out], 3).mul_scalar(4.0);
        let mask = noise([batch, groups * kernel, out], 4);
        let data = |x: &Tensor<3>| -> Vec<f32> { x.to_data().try_to_vec().unwrap() };
        let (xs, ws, offsets, masks) = (data(&x), data(&weight), data(&offset), data(&mask));
        let at = |n: usize, c: usize, i: f32| match i {
            i if i < 0.0 || i >= size as f32 => 0.0,
            i => xs[(n * channels + c) * size + i as usize],
        };
        let sums = indices([batch, 1, out]).map(|[n, _, o]| {
            let parts = indices([channels, kernel]).map(|[c, k]| {
                let group = c / (channels / groups);
                let moved = ((n * groups + group) * kernel + k) * out + o;
                let point = (o * 2 + k) as f32 - 1.0 + offsets[moved];
                let (low, ratio) = (point.floor(), point - point.floor());
                let read = at(n, c, low) * (1.0 - ratio) + at(n, c, low + 1.0) * ratio;
                read * masks[moved] * ws[c * kernel + k]
            });
            parts.sum::<f32>()
        });
        let expected = TensorData::new(sums.collect::<Vec<f32>>(), [batch, 1, out]);
        let window = Window::new([3]).strides([2]).pads([(1, 1)]);
        let run = |x, weight, offset, mask| {
            deform_conv(x, weight, None, taps(offset, Some(mask), groups), window, 1)
        };
        near(run(x.clone(), weight.clone(), offset.clone(), mask.clone()), expected.clone(), 1e-5);
        let wide =
            run(x.cast(DType::F64), weight.cast(DType::F64), offset.cast(DType::F64), mask.cast(DType::F64));
        near(wide.cast(DType::F32), expected, 1e-5);
    }

    #[test]
    fn volumes_are_read_between_all_neighbors() {
        let x = float::<5>([[[[[0f32, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]]]);
        let weight = float::<5>([[[[[2f32]]]]]);
        let offset = Tensor::full([1, 3, 1, 1, 1], 0.5, &x.device());
        let y = deform_conv(x, weight, None, taps(offset, None, 1), Window::new([1; 3]).strides([2; 3]), 1);
        near(y, [[[[[7f32]]]]], 1e-6);
    }

    #[test]
    fn no_batch_gives_no_output() {
        let x = float::<4>(TensorData::new(Vec::<f32>::new(), [0, 1, 3, 3]));
        let offset = float::<4>(TensorData::new(Vec::<f32>::new(), [0, 8, 2, 2]));
        let weight = noise([5, 1, 2, 2], 1);
        let taps = taps(offset, None, 1);
        let y = deform_conv(x, weight, None, taps, Window::new([2, 2]), 1);
        assert_eq!(y.dims(), [0, 5, 2, 2]);
    }
}
