//! Convolutions of sizes around those of tiles.

use burn::backend::Dispatch;
use burn::tensor::{Tensor, ops::ConvOptions};

use super::{Operand, call, primitives, with_each_instruction_set};
use crate::product::epilogue::{Activation, Epilogue};
use crate::testing::{near, noise, on_each, same};

#[test]
fn outputs_and_positions_that_fill_no_tile() {
    on_each(|| {
        for (outputs, channels, size) in [
            (1, 1, [1, 1]),
            (3, 4, [5, 3]),
            (5, 3, [4, 4]),
            (8, 8, [9, 7]),
            (9, 5, [20, 31]),
            (24, 12, [6, 11]),
            (70, 4, [33, 17]),
        ] {
            let x = noise::<4>([2, channels, size[0], size[1]], 1);
            let weight = noise::<4>([outputs, channels, 1, 1], 2);
            for bias in [None, Some(noise::<1>([outputs], 3))] {
                for sum in [None, Some(noise::<4>([2, outputs, size[0], size[1]], 4))] {
                    let (x, weight) = (x.clone(), weight.clone());
                    let options = ConvOptions::new([1; 2], [0; 2], [1; 2], 1);
                    let epilogue = Epilogue::from(Activation::Relu);
                    agree!(conv2d<4>(x, weight, bias, sum; options, epilogue));
                }
            }
        }
    });
}

#[test]
fn windows_strides_and_groups() {
    on_each(|| {
        for (groups, channels, outputs) in [(1, 5, 7), (2, 8, 6), (4, 16, 16), (12, 12, 12), (6, 6, 12)] {
            let weight = noise::<4>([outputs, channels / groups, 3, 2], 2);
            let bias = Some(noise::<1>([outputs], 3));
            for size in [[7, 5], [23, 18]] {
                let x = noise::<4>([2, channels, size[0], size[1]], 1);
                for options in [
                    ConvOptions::new([1, 1], [0, 0], [1, 1], groups),
                    ConvOptions::new([2, 1], [1, 3], [1, 1], groups),
                    ConvOptions::new([1, 3], [2, 0], [2, 3], groups),
                    ConvOptions::new_with_padding([2, 2], [(0, 3), (2, 1)], [1, 1], groups),
                ] {
                    let (x, weight, bias, sum) = (x.clone(), weight.clone(), bias.clone(), None::<Tensor<4>>);
                    let epilogue = Epilogue::default();
                    agree!(conv2d<4>(x, weight, bias, sum; options, epilogue));
                }
            }
        }
    });
}

#[test]
fn tensors_in_another_order_of_axes() {
    on_each(|| {
        for size in [[13, 7], [3, 3]] {
            let [height, width] = size;
            let x = noise::<4>([2, height, width, 9], 1).permute([0, 3, 1, 2]);
            let weight = noise::<4>([3, 9, 3, 6], 2).permute([3, 1, 2, 0]);
            let sum = Some(noise::<4>([2, height, width, 6], 3).permute([0, 3, 1, 2]));
            let (bias, epilogue) = (None::<Tensor<1>>, Epilogue::default());
            let options = ConvOptions::new([1; 2], [1; 2], [1; 2], 1);
            agree!(conv2d<4>(x, weight, bias, sum; options, epilogue));
            // Channels are contiguous, but the weight only has some of them.
            let wide = noise::<4>([6, 3, 3, 12], 5).permute([0, 3, 1, 2]);
            let part = wide.narrow(1, 2, 9);
            agree!(conv2d<4>(x, part, bias, sum; options, epilogue));
            let arranged = Epilogue::of_layer().pack_filters(weight.clone(), 1);
            same(arranged, weight.into_data());
        }
    });
}

#[test]
fn each_activation_follows() {
    on_each(|| {
        let x = noise::<3>([1, 3, 40], 1).mul_scalar(4.0);
        for activation in Activation::examples() {
            for length in [40, 3] {
                let x = x.clone().narrow(2, 0, length);
                let (weight, bias) = (noise::<3>([4, 3, 1], 2), None::<Tensor<1>>);
                let sum = Some(noise::<3>([1, 4, length], 3));
                let options = ConvOptions::new([1], [0], [1], 1);
                let epilogue = Epilogue::from(activation);
                agree!(conv1d<3>(x, weight, bias, sum; options, epilogue));
            }
        }
    });
}
