//! Bodies of backends beside the primitives that mean the same.

use burn::backend::Dispatch;
use burn::tensor::{
    Bool, Int, Tensor,
    ops::{AttentionModuleOptions, ConvOptions, ConvTransposeOptions},
};

use super::{Operand, call, primitives};
use crate::fault::Axis;
use crate::product::epilogue::{Activation, Epilogue};
use crate::testing::{bool, int, near, noise, same};

/// Calls the method and the primitives with the same operands.
macro_rules! agree {
    ($method:ident<$rank:literal>($($operand:ident),+ $(; $($option:expr),+)?)) => {{
        let expected = {
            $(let $operand = $operand.clone().into_primitive();)+
            primitives::$method::<Dispatch>($($operand),+ $(, $($option.clone()),+)?)
        };
        $(let $operand = $operand.clone();)+
        let y = call!($method($($operand),+ $(; $($option.clone()),+)?));
        let expected = Tensor::<$rank>::from_dispatch(expected).into_data();
        near(Tensor::<$rank>::from_dispatch(y), expected, 1e-5);
    }};
}

#[test]
fn functions_of_elements() {
    let x = noise::<2>([3, 40], 1).mul_scalar(4.0);
    for x in [x.clone(), x.transpose()] {
        agree!(exp<2>(x));
        agree!(tanh<2>(x));
        agree!(erf<2>(x));
        agree!(sigmoid<2>(x));
        agree!(gelu<2>(x));
    }
}

#[test]
fn rows() {
    let x = noise::<3>([3, 40, 2], 1).mul_scalar(4.0);
    for axis in 0..3 {
        agree!(softmax<3>(x; axis));
    }
    for length in [3, 8, 21] {
        let (x, scale) = (noise::<2>([5, length], 1), noise::<1>([length], 2));
        for bias in [None, Some(noise::<1>([length], 3))] {
            agree!(layer_norm<2>(x, scale, bias; 1e-3f32));
        }
        agree!(rms_norm<2>(x, scale; 1e-3f32));
    }
}

#[test]
fn products() {
    for (left, right) in [
        ([2, 3, 4, 5], [2, 3, 5, 6]),
        ([2, 3, 1, 5], [2, 1, 5, 6]),
        ([1, 3, 9, 5], [2, 1, 5, 6]),
        ([2, 3, 9, 5], [1, 1, 5, 6]),
    ] {
        let (a, b) = (noise::<4>(left, 1), noise::<4>(right, 2));
        agree!(matmul<4>(a, b));
    }
    let (x, weight) = (noise::<3>([2, 9, 5], 1), noise::<2>([6, 5], 2).transpose());
    for bias in [None, Some(noise::<1>([6], 3))] {
        for sum in [None, Some(noise::<3>([2, 9, 6], 4))] {
            let epilogue = Epilogue::from(Activation::Relu);
            agree!(linear<3>(x, weight, bias, sum; epilogue));
        }
    }
}

#[test]
fn convolutions() {
    let epilogue = Epilogue::from(Activation::LeakyRelu(0.5));
    for bias in [None, Some(noise::<1>([6], 3))] {
        let (x, weight) = (noise::<3>([2, 4, 9], 1), noise::<3>([6, 2, 3], 2));
        let options = ConvOptions::new_with_padding([2], [(1, 2)], [2], 2);
        for sum in [None, Some(noise::<3>([2, 6, 4], 4))] {
            agree!(conv1d<3>(x, weight, bias, sum; options, epilogue));
        }
        let (x, weight) = (noise::<4>([2, 4, 9, 7], 1), noise::<4>([6, 2, 3, 2], 2));
        let options = ConvOptions::new_with_padding([2, 1], [(1, 2), (0, 1)], [2, 1], 2);
        for sum in [None, Some(noise::<4>([2, 6, 4, 7], 4))] {
            agree!(conv2d<4>(x, weight, bias, sum; options, epilogue));
        }
        let (x, weight) = (
            noise::<5>([1, 4, 5, 4, 3], 1),
            noise::<5>([6, 2, 3, 2, 1], 2),
        );
        let options = ConvOptions::new([2, 1, 1], [1, 0, 1], [1, 2, 1], 2);
        for sum in [None, Some(noise::<5>([1, 6, 3, 2, 5], 4))] {
            agree!(conv3d<5>(x, weight, bias, sum; options, epilogue));
        }
    }
    for bias in [None, Some(noise::<1>([4], 3))] {
        let (x, weight) = (noise::<3>([2, 6, 5], 1), noise::<3>([6, 2, 3], 2));
        let options = ConvTransposeOptions::new([2], [1], [1], [1], 2);
        agree!(conv_transpose1d<3>(x, weight, bias; options));
        let (x, weight) = (noise::<4>([2, 6, 5, 3], 1), noise::<4>([6, 2, 3, 2], 2));
        let options = ConvTransposeOptions::new([2, 1], [1, 0], [1, 0], [1, 2], 2);
        agree!(conv_transpose2d<4>(x, weight, bias; options));
        let (x, weight) = (
            noise::<5>([1, 6, 3, 2, 4], 1),
            noise::<5>([6, 2, 2, 1, 3], 2),
        );
        let options = ConvTransposeOptions::new([2, 1, 1], [0; 3], [1, 0, 0], [1; 3], 2);
        agree!(conv_transpose3d<5>(x, weight, bias; options));
    }
}

#[test]
fn attention_with_masks_of_one_batch_and_head() {
    let [query, key, value] =
        [(3, 1), (5, 2), (5, 3)].map(|(length, seed)| noise::<4>([2, 4, length, 8], seed));
    let hidden = bool::<4>([[[
        [false, true, true, true, true],
        [false, false, true, true, true],
        [false, false, false, true, false],
    ]]]);
    let options = AttentionModuleOptions::default();
    for mask in [
        None,
        Some(hidden.clone()),
        Some(hidden.expand([2, 4, 3, 5])),
    ] {
        for bias in [None, Some([1, 1]), Some([2, 1]), Some([2, 4])] {
            let bias = bias.map(|[batch, heads]| noise::<4>([batch, heads, 3, 5], 4));
            let mask: Option<Tensor<4, Bool>> = mask.clone();
            agree!(attention<4>(query, key, value, mask, bias; options));
        }
    }
}

#[test]
fn the_greatest_in_order() {
    let x = noise::<3>([3, 20, 2], 1);
    let (y, expected) = (x.clone(), x.clone().into_primitive());
    let expected = primitives::top_k::<Dispatch>(expected, 5, 1);
    let expected = Tensor::<3, Int>::from_dispatch(expected)
        .into_data()
        .convert::<i64>();
    same(
        Tensor::<3, Int>::from_dispatch(call!(top_k(y; 5, 1))),
        expected,
    );
    let x = int::<1>([3i64, 9, -4, 7]);
    let expected = primitives::top_k_int::<Dispatch>(x.clone().into_primitive(), 3, 0);
    let expected = Tensor::<1, Int>::from_dispatch(expected)
        .into_data()
        .convert::<i64>();
    same(
        Tensor::<1, Int>::from_dispatch(call!(top_k_int(x; 3, 0))),
        expected,
    );
}

#[test]
fn indices_within_an_axis() {
    let axis = Axis { number: 0, size: 3 };
    let indices = int::<1>([-3i64, 2, 0, -1]);
    let operand = indices.clone().into_primitive();
    let (found, unchecked) = primitives::within::<Dispatch>(operand, -3, axis);
    same(Tensor::<1, Int>::from_dispatch(found), [0i64, 2, 0, 2]);
    let unchecked = unchecked.map(Tensor::<1, Int>::from_dispatch);
    same(unchecked.expect("what is to be checked"), [-3i64, 2, 0, -1]);
    let (found, unchecked) = call!(within(indices; -3, axis));
    same(Tensor::<1, Int>::from_dispatch(found), [0i64, 2, 0, 2]);
    assert!(unchecked.is_none());
    // Without a look at them, those outside become the nearest inside.
    let outside = int::<1>([-4i32, 3]).into_primitive();
    let (found, _) = primitives::within::<Dispatch>(outside, -3, axis);
    same(Tensor::<1, Int>::from_dispatch(found), [0i32, 2]);
    let unsigned = int::<1>([5u8, 1]).into_primitive();
    let (found, _) = primitives::within::<Dispatch>(unsigned, -3, axis);
    same(Tensor::<1, Int>::from_dispatch(found), [2u8, 1]);
}
