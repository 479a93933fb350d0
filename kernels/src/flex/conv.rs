//! Convolutions over one, two or three axes.
//!
//! A convolution is a matrix product of the weight with the input windows of the output pixels. That matrix is not written:
//! tiles read it from the input, or from a copy of some of its rows with padding ([`band`]).

mod band;
mod channels;
mod depthwise;
mod filters;
mod geometry;
mod lines;
mod panels;
pub mod phases;
mod rows;
mod run;
mod transposed;
mod winograd;

use std::sync::Arc;

use burn::backend::{
    Flex, TensorMetadata,
    flex::FlexTensor,
    ops::{FloatTensorOps, ModuleOps},
};
use burn::tensor::{
    DType,
    ops::{ConvOptions, ConvTransposeOptions},
};

use super::{
    elementary::finish,
    in_wide_sums,
    packed::{Pack, pack, without_memory},
    simd::InstructionSet,
    stored::Raw,
    view::{Dense, RawView, View},
    widened,
};
use crate::spec::{epilogue::Epilogue, packed::Packed};
pub use band::write_tiles;
pub use filters::Filters;
pub use geometry::Geometry;
use run::Convolution;
use transposed::conv_transpose;

/// The convolution. `other` computes double precision and empty outputs.
fn conv<const S: usize>(
    x: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    sum: Option<FlexTensor>,
    options: ConvOptions<S>,
    epilogue: Epilogue,
    other: fn(FlexTensor, FlexTensor, Option<FlexTensor>, ConvOptions<S>) -> FlexTensor,
) -> FlexTensor {
    if let Some(y) = tiled(&x, &weight, bias.as_ref(), sum.as_ref(), &options, &epilogue) {
        return y;
    }
    let y = in_wide_sums(x, weight, bias, |x, weight, bias| other(x, weight, bias, options));
    finish(y, sum, epilogue.activation)
}

/// Kernels by the number of axes. Those of Flex compute what tiles cannot.
macro_rules! by_axes {
    ($($conv:ident $conv_transpose:ident $axes:literal;)*) => {$(
        pub fn $conv(
            x: FlexTensor,
            weight: FlexTensor,
            bias: Option<FlexTensor>,
            sum: Option<FlexTensor>,
            options: ConvOptions<$axes>,
            epilogue: Epilogue,
        ) -> FlexTensor {
            conv(x, weight, bias, sum, options, epilogue, <Flex as ModuleOps<Flex>>::$conv)
        }

        pub fn $conv_transpose(
            x: FlexTensor,
            weight: FlexTensor,
            bias: Option<FlexTensor>,
            options: ConvTransposeOptions<$axes>,
            packed: Option<Packed>,
        ) -> FlexTensor {
            conv_transpose(x, weight, bias, options, packed.as_ref(), <Flex as ModuleOps<Flex>>::$conv_transpose)
        }
    )*};
}

by_axes! {
    conv1d conv_transpose1d 1;
    conv2d conv_transpose2d 2;
    conv3d conv_transpose3d 3;
}

/// The weight after it is packed, if tiles compute in its precision, and it is not empty.
pub fn pack_filters(weight: FlexTensor, groups: usize, epilogue: Epilogue) -> FlexTensor {
    let is_whole = groups > 0 && weight.shape()[0].is_multiple_of(groups);
    if weight.dtype() == DType::F64 || !is_whole || weight.shape().contains(&0) {
        return weight;
    }
    let Some(packed) = &epilogue.packed else {
        return weight;
    };
    // Packs the weight into `packed`, from which `without_memory` knows it.
    filters(&weight, groups, &epilogue);
    without_memory(weight, packed)
}

fn tiled<const S: usize>(
    x: &FlexTensor,
    weight: &FlexTensor,
    bias: Option<&FlexTensor>,
    sum: Option<&FlexTensor>,
    options: &ConvOptions<S>,
    epilogue: &Epilogue,
) -> Option<FlexTensor> {
    let dtype = x.dtype();
    let (sizes, weights) = (x.shape(), weight.shape());
    let geometry = Geometry::new(&sizes[2..], &weights[2..], options);
    let mut shape = vec![sizes[0], weights[0]];
    shape.extend(&geometry.positions[3 - S..]);
    if dtype == DType::F64 || shape.contains(&0) || weights.contains(&0) {
        return None;
    }
    let x = View::of(&widened(x.clone()))?;
    let filters = filters(weight, options.groups, epilogue)?;
    let (bias, sum) = (bias.map(Dense::new), sum.map(Dense::new));
    let (input, steps) = x.spatial();
    let convolution = Convolution {
        geometry,
        batches: sizes[0],
        filters: &filters,
        values: input,
        steps,
        bias: bias.as_ref().map(Dense::values),
        residual: sum.as_ref().map(Dense::values),
        activation: epilogue.activation,
    };
    let y = convolution.run()?.tensor(shape);
    Some(match dtype {
        DType::F32 => y,
        _ => Flex::float_cast(y, dtype.into()),
    })
}

fn filters(weight: &FlexTensor, groups: usize, epilogue: &Epilogue) -> Option<Arc<Filters>> {
    let make = || {
        let shape = weight.shape();
        let inner = shape[1..].iter().product();
        let is_small_kernel = shape.len() == 4 && shape[2..] == [3, 3];
        let weight = widened(weight.clone()).reshape([shape[0], inner].into());
        let set = InstructionSet::best();
        let filters = if is_small_kernel && epilogue.packed.is_some() && !Raw::of(&weight).is_own() {
            // Squares may compute it. The weight stays in the program for direct sums.
            Filters::unpacked(set, weight, groups)?
        } else {
            Filters::new(set, RawView::of(&weight)?.matrix(&[]), groups)
        };
        Some(Arc::new(filters))
    };
    let fits = |pack: &Pack| matches!(pack, Pack::Filters(found) if found.groups == groups);
    match pack(epilogue.packed.as_ref(), weight, fits, || make().map(Pack::Filters))? {
        Pack::Filters(filters) => Some(filters),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Tensor, module};

    use super::*;
    use crate::convolution::{
        conv::{conv1d_then, conv2d_then, conv3d_then},
        window::Window,
    };
    use crate::flex::simd::with_each_set;
    use crate::product::epilogue::{self, Activation};
    use crate::testing::{near, noise};

    /// Runs a convolution over two axes with each set of instructions and with every end.
    fn check(x: Tensor<4>, weight: Tensor<4>, window: Window<2>, groups: usize) {
        let outputs = weight.dims()[0];
        let bias = noise::<1>([outputs], 3);
        let options = ConvOptions::new_with_padding(window.strides, window.pads, window.dilations, groups);
        let (wide, inner) = (x.clone().cast(DType::F64), weight.clone().cast(DType::F64));
        let plain = module::conv2d(wide, inner, None, options).cast(DType::F32);
        let full = plain.clone().add(bias.clone().reshape([1, outputs, 1, 1]));
        let sum = noise::<4>(plain.dims(), 4);
        with_each_set(|_| {
            let run = |bias, sum, activation: Activation| {
                let (x, weight) = (x.clone(), weight.clone());
                conv2d_then(x, weight, bias, sum, window, groups, activation.into())
            };
            near(run(None, None, Activation::Identity), plain.to_data(), 1e-5);
            let expected = full.clone().add(sum.clone());
            let y = run(Some(bias.clone()), Some(sum.clone()), Activation::Relu);
            near(y, expected.clamp_min(0.0).into_data(), 1e-5);
            let tanh = Activation::Tanh;
            let expected = epilogue::finish(full.clone(), None, tanh);
            near(run(Some(bias.clone()), None, tanh), expected.into_data(), 1e-5);
        });
    }

    #[test]
    fn windows_of_every_kind() {
        let case = |channels, outputs, groups, sizes: [usize; 2], window: Window<2>| {
            let x = noise([2, channels, sizes[0], sizes[1]], 1);
            let [height, width] = window.kernel;
            let weight = noise([outputs, channels / groups, height, width], 2);
            check(x, weight, window, groups);
        };
        let three = Window::new([3, 3]).pads([(1, 1); 2]);
        case(3, 5, 1, [9, 11], three);
        case(4, 17, 1, [8, 33], three.strides([2, 2]));
        case(2, 1, 1, [7, 40], three.dilations([2, 3]).pads([(0, 4), (5, 1)]));
        case(3, 29, 1, [12, 10], Window::new([7, 5]).strides([3, 2]).pads([(3, 3), (2, 1)]));
        case(4, 6, 1, [9, 7], Window::new([2, 2]).strides([3, 4]));
        case(2, 3, 1, [4, 5], Window::new([3, 3]).pads([(9, 2), (0, 8)]));
        case(8, 12, 4, [6, 9], three);
        case(6, 6, 6, [7, 7], three);
        case(6, 6, 6, [15, 70], three.strides([2, 2]));
        case(6, 6, 6, [120, 80], three);
        case(5, 10, 5, [9, 8], Window::new([5, 5]).pads([(2, 2); 2]));
        let seven = Window::new([7, 7]).pads([(3, 3); 2]);
        case(2, 2, 2, [7, 7], seven);
        case(2, 2, 2, [5, 39], seven.strides([2, 2]).dilations([1, 2]));
        case(3, 60, 3, [6, 17], three.strides([1, 3]).dilations([2, 1]));
        case(2, 2, 2, [1, 2], three.pads([(2, 5), (4, 9)]));
        // Planes of a few rows, half of whose windows is padding.
        let five = Window::new([5, 5]).pads([(2, 2); 2]);
        for rows in 1..6 {
            case(3, 3, 3, [rows, 45], five);
            case(3, 3, 3, [rows, 45], three.strides([2, 2]));
            case(2, 2, 2, [rows, 20], Window::new([7, 7]).pads([(6, 3); 2]));
        }
        // Rows with and without registers whose taps are all in the input.
        for columns in [16, 17, 31, 50, 83] {
            for window in [three, five, seven] {
                case(3, 3, 3, [6, columns], window);
                case(3, 3, 3, [11, columns], window.strides([2, 2]));
                case(2, 4, 2, [12, columns], window.pads([(0, 1), (0, 0)]).strides([2, 2]));
            }
        }
        // Planes with channels in the lanes.
        case(37, 37, 37, [7, 7], three);
        case(33, 33, 33, [14, 13], three.strides([2, 2]));
        case(16, 16, 16, [5, 9], three.dilations([2, 3]).pads([(3, 1), (4, 2)]));
        case(20, 20, 20, [9, 6], Window::new([2, 5]).strides([3, 1]).pads([(0, 2), (2, 2)]));
        case(17, 17, 17, [6, 7], Window::new([5, 5]).pads([(2, 2); 2]));
        // Outputs for which panels are copied.
        case(3, 120, 1, [9, 11], three);
        case(4, 230, 2, [7, 33], three.strides([2, 2]));
        case(2, 113, 1, [6, 40], three.dilations([2, 3]).strides([1, 3]));
    }

    #[test]
    fn windows_of_one_place() {
        for outputs in [1, 3, 14, 30, 90, 150, 230] {
            for sizes in [[1, 1], [7, 7], [9, 11]] {
                let x = noise([2, 5, sizes[0], sizes[1]], 1);
                let weight = noise([outputs, 5, 1, 1], 2);
                check(x.clone(), weight.clone(), Window::new([1, 1]), 1);
                let strided = Window::new([1, 1]).strides([2, 2]).pads([(0, 1), (1, 0)]);
                check(x, weight, strided, 1);
            }
        }
    }

    #[test]
    fn channels_that_evict_each_other() {
        let one = Window::new([1, 1]);
        for channels in [7, 8, 9, 20] {
            check(noise([2, channels, 32, 32], 1), noise([20, channels, 1, 1], 2), one, 1);
        }
        check(noise([1, 20, 16, 48], 1), noise([3, 20, 1, 1], 2), one, 1);
    }

    #[test]
    fn inputs_as_they_lie() {
        let weight = noise::<4>([4, 3, 3, 2], 2);
        let window = Window::new([3, 2]).pads([(1, 1); 2]);
        let channels_last = noise::<4>([2, 8, 9, 3], 1).permute([0, 3, 1, 2]);
        let one = noise::<4>([2, 1, 8, 9], 1).expand([2, 3, 8, 9]);
        let narrow = noise::<4>([2, 5, 10, 12], 1).narrow(1, 1, 3).narrow(3, 2, 9);
        let flipped = noise::<4>([2, 3, 8, 9], 1).flip([2, 3]);
        let column = noise::<4>([2, 3, 8, 1], 1).expand([2, 3, 8, 9]);
        for x in [channels_last, one, narrow, flipped, column] {
            check(x.clone(), weight.clone(), window, 1);
            check(x, noise([4, 3, 1, 1], 3), Window::new([1, 1]), 1);
        }
        let transposed = noise::<4>([3, 4, 2, 3], 2).permute([1, 0, 3, 2]);
        check(noise([2, 3, 8, 9], 1), transposed, window, 1);
    }

    #[test]
    fn more_than_one_band_fits() {
        // Weights for large depths are small.
        let weight = |shape| noise::<4>(shape, 2).mul_scalar(0.1);
        let three = Window::new([3, 3]).pads([(1, 1); 2]);
        let x = noise([1, 80, 50, 60], 1);
        check(x, weight([2, 80, 3, 3]), three, 1);
        let wide = Window::new([1, 3]).pads([(0, 0), (1, 1)]);
        let x = noise([1, 80, 2, 3000], 1);
        check(x, weight([1, 80, 1, 3]), wide, 1);
        let one = Window::new([1, 1]);
        check(noise([1, 90, 60, 50], 1), weight([70, 90, 1, 1]), one, 1);
        check(noise([1, 200, 40, 40], 1), weight([30, 200, 1, 1]), one, 1);
    }

    #[test]
    fn one_and_three_axes() {
        with_each_set(|_| {
            let (x, weight) = (noise::<3>([2, 4, 37], 1), noise::<3>([6, 2, 3], 2));
            let window = Window::new([3]).strides([2]).dilations([2]).pads([(4, 1)]);
            let options = ConvOptions::new_with_padding([2], [(4, 1)], [2], 2);
            let expected = module::conv1d(x.clone(), weight.clone(), None, options);
            let y = conv1d_then(x, weight, None, None, window, 2, Epilogue::default());
            near(y, expected.into_data(), 1e-5);
            let (x, weight) = (noise::<5>([2, 4, 5, 6, 7], 1), noise::<5>([6, 2, 3, 2, 3], 2));
            let window = Window::new([3, 2, 3]).strides([2, 1, 2]).dilations([1, 2, 1]).pads([(1, 1); 3]);
            let options = ConvOptions::new([2, 1, 2], [1; 3], [1, 2, 1], 2);
            let expected = module::conv3d(x.clone(), weight.clone(), None, options);
            let y = conv3d_then(x, weight, None, None, window, 2, Epilogue::default());
            near(y, expected.into_data(), 1e-5);
        });
    }

    #[test]
    fn depthwise_rows_of_several_depths_and_of_views() {
        let weight = noise::<5>([3, 1, 3, 3, 3], 2);
        let whole = noise::<5>([1, 5, 4, 9, 60], 1);
        let narrowed = whole.clone().narrow(1, 1, 3).narrow(4, 5, 50);
        for x in [whole.narrow(1, 0, 3), narrowed] {
            for stride in [1, 2] {
                let window = Window::new([3, 3, 3]).strides([1, stride, stride]).pads([(1, 1); 3]);
                let options = ConvOptions::new([1, stride, stride], [1; 3], [1; 3], 3);
                let expected = module::conv3d(x.clone(), weight.clone(), None, options).into_data();
                with_each_set(|_| {
                    let end = Epilogue::default();
                    let y = conv3d_then(x.clone(), weight.clone(), None, None, window, 3, end);
                    near(y, expected.clone(), 1e-5);
                });
            }
        }
    }

    #[test]
    fn positions_beside_the_input_are_the_bias() {
        with_each_set(|_| {
            let (x, weight) = (noise([1, 16, 1, 7, 7], 1), noise([16, 1, 1, 3, 3], 2));
            let bias = noise::<1>([16], 3);
            let window = Window::new([1, 3, 3]).strides([3, 1, 1]).pads([(1, 1); 3]);
            let end = Epilogue::default();
            let y = conv3d_then(x, weight, Some(bias.clone()), None, window, 16, end);
            let expected = bias.reshape([1, 16, 1, 1, 1]).expand([1, 16, 1, 7, 7]);
            near(y, expected.into_data(), 0.0);
        });
    }

    #[test]
    fn half_precision_is_summed_in_single_precision() {
        for (dtype, tolerance) in [(DType::F16, 1e-3), (DType::BF16, 8e-3)] {
            let (x, weight) = (noise::<4>([1, 40, 6, 6], 1), noise::<4>([3, 40, 3, 3], 2));
            let sum = noise::<4>([1, 3, 4, 4], 3).cast(dtype);
            let [x, weight] = [x, weight].map(|t| t.cast(dtype));
            let single = |t: &Tensor<4>| t.clone().cast(DType::F32);
            let options = ConvOptions::new([1; 2], [0; 2], [1; 2], 1);
            let expected = module::conv2d(single(&x), single(&weight), None, options);
            let expected = expected.add(single(&sum)).cast(dtype);
            let (window, end) = (Window::new([3, 3]), Epilogue::of_layer());
            let y = conv2d_then(x, weight, None, Some(sum), window, 1, end);
            near(y, expected.into_data(), tolerance);
        }
    }

    #[test]
    fn a_kept_weight_is_packed_again_when_it_changes() {
        let epilogue = Epilogue::of_layer();
        let x = noise::<4>([1, 4, 5, 5], 1);
        let run = |weight: &Tensor<4>, groups| {
            let (x, weight) = (x.clone(), weight.clone());
            let end = epilogue.clone();
            conv2d_then(x, weight, None, None, Window::new([1, 1]), groups, end)
        };
        let weight = noise::<4>([4, 4, 1, 1], 2);
        let y = run(&weight, 1);
        near(run(&weight, 1), y.to_data(), 0.0);
        near(run(&weight.mul_scalar(2.0), 1), y.mul_scalar(2.0).into_data(), 1e-6);
        // The same memory in other groups.
        let weight = noise::<4>([4, 1, 1, 1], 3);
        let depthwise = run(&weight, 4);
        let channel = depthwise.narrow(1, 2, 1);
        let expected = x.clone().narrow(1, 2, 1).mul(weight.narrow(0, 2, 1));
        near(channel, expected.into_data(), 1e-6);
    }
}
