//! How many kernels an operation launches on devices of CubeCL.

use burn::tensor::{Bool, DType, Tensor, TensorData, ops::ConvOptions};

use super::{call, hidden};
use crate::attention::{Scores, Undefined};
use crate::normalize::{layer_norm, rms_norm};
use crate::product::epilogue::{Activation, Epilogue};
use crate::recurrent::{Cell, Direction, Lstm, Operands, cases::Case};
use crate::testing::{has, noise, on_each, with_launches, with_reads};

/// Runs an operation on operands that are there, until its result is.
fn launching<const D: usize>(most: usize, run: impl FnOnce() -> Tensor<D>) -> TensorData {
    with_reads(0, || with_launches(most, || run().into_data()))
}

#[test]
fn products_and_what_follows_are_one() {
    on_each(|| {
        let epilogue = Epilogue::from(Activation::Silu);
        let (x, weight) = (noise::<4>([2, 6, 9, 7], 1), noise::<4>([5, 6, 3, 3], 2));
        let weight = Epilogue::of_layer().pack_filters(weight, 1);
        let (bias, sum) = (Some(noise::<1>([5], 3)), Some(noise::<4>([2, 5, 9, 7], 4)));
        let options = ConvOptions::new([1; 2], [1; 2], [1; 2], 1);
        // The weight is arranged before.
        let _ = weight.clone().into_data();
        launching::<4>(1, || {
            let epilogue = epilogue.clone();
            Tensor::from_dispatch(call!(conv2d(x, weight, bias, sum; options, epilogue)))
        });
        let (x, weight) = (noise::<3>([2, 9, 6], 1), noise::<2>([6, 5], 2));
        let (bias, sum) = (Some(noise::<1>([5], 3)), Some(noise::<3>([2, 9, 5], 4)));
        launching::<3>(1, || {
            Tensor::from_dispatch(call!(linear(x, weight, bias, sum; epilogue)))
        });
    });
}

#[test]
fn rows_are_one() {
    on_each(|| {
        let x = noise::<2>([9, 70], 1);
        launching::<2>(1, || {
            let x = x.clone();
            Tensor::from_dispatch(call!(softmax(x; 1)))
        });
        let (scale, bias) = (noise::<1>([70], 2), Some(noise::<1>([70], 3)));
        launching::<2>(1, || {
            Tensor::from_dispatch(call!(layer_norm(x, scale, bias; 1e-5f32)))
        });
    });
}

#[test]
fn rows_of_half_precision_are_one() {
    on_each(|| {
        if !has(DType::F16) {
            return;
        }
        let half = |size, seed| noise::<1>([size], seed).cast(DType::F16);
        let x = noise::<2>([9, 70], 1).cast(DType::F16);
        let (scale, bias) = (half(70, 2), half(70, 3));
        // What is cast is there before.
        let _ = [scale.clone(), bias.clone()].map(Tensor::into_data);
        let _ = x.clone().into_data();
        launching::<2>(1, || {
            layer_norm(x.clone(), scale.clone(), Some(bias), 1, 1e-5)
        });
        launching::<2>(1, || rms_norm(x, scale, 1, 1e-5));
    });
}

#[test]
fn attention_is_three() {
    on_each(|| {
        attention_of(DType::F32);
        if has(DType::F16) {
            attention_of(DType::F16);
        }
    });
}

fn attention_of(dtype: DType) {
    let half = |shape, seed| noise::<4>(shape, seed).cast(dtype);
    let (query, key) = (half([2, 4, 9, 8], 1), half([2, 2, 7, 8], 2));
    let value = half([2, 2, 7, 6], 3);
    let _ = [&query, &key, &value].map(|x| x.clone().into_data());
    let bias = Some(noise::<4>([1, 4, 9, 7], 4));
    let scores = Scores {
        undefined: Undefined::ZeroIfHidden,
        ..Scores::scaled(0.4)
    };
    // Comparing noise with a number makes the mask.
    let mask: Option<Tensor<4, Bool>> = Some(hidden([2, 1, 1, 7], 5));
    let _ = mask.clone().map(Tensor::into_data);
    launching::<4>(3, || {
        Tensor::from_dispatch(call!(attention(query, key, value, mask, bias; scores)))
    });
}

#[test]
fn a_sequence_is_a_few() {
    on_each(|| {
        let case = Case::new([40, 1, 7, 64], 4, Direction::Forward, false);
        let Case { x, weights, state } = &case;
        // The inputs of all times are one product, and weights are transposed for as many steps.
        launching::<4>(4, || {
            let cell = Cell::Lstm(Lstm::new(Direction::Forward));
            match Operands::of(x, weights, state).call(cell) {
                Some((y, ..)) => y,
                None => Tensor::zeros([1; 4], &x.device()),
            }
        });
    });
}
