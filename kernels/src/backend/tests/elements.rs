//! Elementwise functions.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::{Operand, call, primitives, with_each_instruction_set};
use crate::product::epilogue::Activation;
use crate::testing::{float, near, noise, on_each};

#[test]
fn the_greater_and_the_lesser() {
    on_each(|| {
        let (x, y) = (noise::<3>([2, 3, 41], 1), noise::<3>([2, 3, 41], 2));
        let (one, row) = (noise::<3>([1, 1, 1], 3), noise::<3>([1, 1, 41], 4));
        let nan = float::<3>([[[f32::NAN]]]);
        let transposed = noise::<3>([41, 3, 2], 5).swap_dims(0, 2);
        let empty = noise::<3>([2, 0, 41], 1);
        for greatest in [true, false] {
            for other in [
                y.clone(),
                one.clone().expand([2, 3, 41]),
                row.clone().expand([2, 3, 41]),
                nan.clone().expand([2, 3, 41]),
                transposed.clone(),
            ] {
                agree!(extreme<3>(x, other; greatest));
                agree!(extreme<3>(other, x; greatest));
            }
            let none = empty.clone();
            agree!(extreme<3>(empty, none; greatest));
        }
    });
}

#[test]
fn functions_of_elements() {
    on_each(|| {
        let x = noise::<2>([3, 40], 1).mul_scalar(4.0);
        for x in [x.clone(), x.transpose()] {
            agree!(exp<2>(x));
            agree!(erf<2>(x));
            let no_sum: Option<Tensor<2>> = None;
            for activation in [Activation::Tanh, Activation::Sigmoid, Activation::Gelu] {
                agree!(finish<2>(x, no_sum; activation));
            }
        }
    });
}

#[test]
fn groups_of_channels() {
    on_each(|| {
        for (shape, groups) in [([2, 6, 35], 3), ([1, 4, 1], 4), ([2, 4, 1500], 1), ([1, 64, 1200], 8)] {
            let x = noise::<3>(shape, 1).mul_scalar(3.0).add_scalar(5.0);
            let [scale, bias] = [2, 3].map(|seed| noise::<1>([shape[1]], seed));
            let epsilon = 1e-3f32;
            agree!(group_norm<3>(x, scale, bias; groups, epsilon));
            let x = x.swap_dims(1, 2).mul_scalar(2.0).swap_dims(1, 2);
            agree!(group_norm<3>(x, scale, bias; groups, epsilon));
        }
    });
}

#[test]
fn channels_scaled() {
    on_each(|| {
        for shape in [[2, 6, 35], [1, 4, 1], [3, 5, 1200]] {
            let x = noise::<3>(shape, 1).mul_scalar(3.0);
            let [factor, offset] = [2, 3].map(|seed| noise::<1>([shape[1]], seed));
            for activation in [Activation::Identity, Activation::Relu, Activation::Silu] {
                agree!(scale_channels<3>(x, factor, offset; activation));
                let x = x.clone().swap_dims(1, 2).mul_scalar(2.0).swap_dims(1, 2);
                agree!(scale_channels<3>(x, factor, offset; activation));
            }
        }
    });
}
