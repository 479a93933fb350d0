//! Number of kernels that an operation launches on CubeCL devices.

use burn::tensor::{Bool, DType, Float, Int, Tensor, TensorData, kind::Basic, ops::ConvOptions};

use super::{call, hidden};
use crate::attention::{Scores, Undefined};
use crate::convolution::window::Window;
use crate::normalize::{layer_norm, rms_norm};
use crate::pool::max_pool;
use crate::product::epilogue::{Activation, Epilogue};
use crate::quantize::{self, Affine, Requantize, Weight, matmul_integer, qlinear_conv2d, steps};
use crate::recurrent::{Cell, Direction, Lstm, Operands, cases::Case};
use crate::testing::{has, int, noise, on_each, with_launches, with_reads};

/// Runs an operation on operands that are computed, until its result is.
fn launching<const D: usize, K: Basic>(most: usize, run: impl FnOnce() -> Tensor<D, K>) -> TensorData {
    with_reads(0, || with_launches(most, || run().into_data()))
}

#[test]
fn a_product_and_its_epilogue_are_one_launch() {
    on_each(|| {
        let epilogue = Epilogue::from(Activation::Silu);
        let (x, weight) = (noise::<4>([2, 6, 9, 7], 1), noise::<4>([5, 6, 3, 3], 2));
        let weight = Epilogue::of_layer().pack_filters(weight, 1);
        let (bias, sum) = (Some(noise::<1>([5], 3)), Some(noise::<4>([2, 5, 9, 7], 4)));
        let options = ConvOptions::new([1; 2], [1; 2], [1; 2], 1);
        // The weight is packed first.
        let _ = weight.clone().into_data();
        launching::<4, Float>(1, || {
            let epilogue = epilogue.clone();
            Tensor::from_dispatch(call!(conv2d(x, weight, bias, sum; options, epilogue)))
        });
        let (x, weight) = (noise::<3>([2, 9, 6], 1), noise::<2>([6, 5], 2));
        let (bias, sum) = (Some(noise::<1>([5], 3)), Some(noise::<3>([2, 9, 5], 4)));
        launching::<3, Float>(1, || Tensor::from_dispatch(call!(linear(x, weight, bias, sum; epilogue))));
    });
}

#[test]
fn normalizing_rows_is_one_launch() {
    on_each(|| {
        let x = noise::<2>([9, 70], 1);
        launching::<2, Float>(1, || {
            let x = x.clone();
            Tensor::from_dispatch(call!(softmax(x; 1)))
        });
        let (scale, bias) = (noise::<1>([70], 2), Some(noise::<1>([70], 3)));
        launching::<2, Float>(1, || Tensor::from_dispatch(call!(layer_norm(x, scale, bias; 1e-5f32))));
    });
}

#[test]
fn normalizing_rows_of_half_precision_is_one_launch() {
    on_each(|| {
        if !has(DType::F16) {
            return;
        }
        let half = |size, seed| noise::<1>([size], seed).cast(DType::F16);
        let x = noise::<2>([9, 70], 1).cast(DType::F16);
        let (scale, bias) = (half(70, 2), half(70, 3));
        // Cast operands are computed first.
        let _ = [scale.clone(), bias.clone()].map(Tensor::into_data);
        let _ = x.clone().into_data();
        launching::<2, Float>(1, || layer_norm(x.clone(), scale.clone(), Some(bias), 1, 1e-5));
        launching::<2, Float>(1, || rms_norm(x, scale, 1, 1e-5));
    });
}

#[test]
fn attention_is_three_launches() {
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
    let scores = Scores { undefined: Undefined::ZeroIfHidden, ..Scores::scaled(0.4) };
    // A comparison of noise with a number computes the mask.
    let mask: Option<Tensor<4, Bool>> = Some(hidden([2, 1, 1, 7], 5));
    let _ = mask.clone().map(Tensor::into_data);
    launching::<4, Float>(3, || {
        Tensor::from_dispatch(call!(attention(query, key, value, mask, bias; scores)))
    });
}

#[test]
fn a_sequence_is_few_launches() {
    on_each(|| {
        let case = Case::new([40, 1, 7, 64], 4, Direction::Forward, false);
        let Case { x, weights, state } = &case;
        // The inputs of all times are one product. With this number of steps, the weights are transposed first.
        launching::<4, Float>(4, || {
            let cell = Cell::Lstm(Lstm::new(Direction::Forward));
            match Operands::of(x, weights, state).call(cell) {
                Some((y, ..)) => y,
                None => Tensor::zeros([1; 4], &x.device()),
            }
        });
    });
}

#[test]
fn products_of_integers_are_one_launch() {
    on_each(|| {
        let there = |x: Tensor<4, Int>| {
            let _ = x.clone().into_data();
            x
        };
        let x = there(int(TensorData::new(vec![9u8; 2 * 8 * 81], [2, 8, 9, 9])));
        let to = || Requantize {
            scales: [0.1f32, 0.2, 0.3].map(|scale| Tensor::from_data([scale], &x.device())),
            zero: int([3u8]),
            dtype: DType::U8,
            bits: 8,
        };
        // A tile of output pixels, a row of single channels, and few output pixels.
        for (shape, size) in [([12, 8, 3, 3], 9), ([8, 1, 3, 3], 9), ([12, 8, 3, 3], 3)] {
            let weight = there(int(TensorData::new(vec![5i8; shape.iter().product()], shape)));
            let weight = there(Weight::filters(weight));
            let (x, to) = (x.clone().narrow(2, 0, size).narrow(3, 0, size), to());
            let (window, bias) = (Window::new([3, 3]), Some(int::<1>([7i32]).expand([shape[0]])));
            launching::<4, Int>(1, || {
                let zeros = (Some(int([9u8])), None);
                qlinear_conv2d(x, weight, zeros, bias, window, 8 / shape[1], to)
            });
        }
        let (a, b) = (x.clone().flatten::<2>(0, 2), x.clone().flatten::<2>(0, 2).transpose());
        launching::<2, Int>(1, || matmul_integer(a, b, (Some(int([[1u8]])), None)));
    });
}

#[test]
fn quantized_operators_are_one_launch() {
    on_each(|| {
        let (of, y) = (Affine::u8(0.1, 3), Affine::u8(0.2, 7));
        let integers = || int::<4>(TensorData::new(vec![9u8; 210], [2, 3, 5, 7]));
        let there = |x: Tensor<4, Int>| {
            let _ = x.clone().into_data();
            x
        };
        let (a, b) = (there(integers()), there(integers()));
        let (x, scale) = (noise::<4>([2, 3, 5, 7], 1), noise::<4>([1, 3, 1, 1], 2));
        let zero = Some(int::<4>([[[[1u8]], [[2]], [[3]]]]));
        launching::<4, Int>(1, || quantize::quantize_by(x.clone(), 0.5, 1, DType::U8, 8));
        launching::<4, Int>(1, || quantize::quantize(x.clone(), scale.clone(), zero.clone(), DType::U8, 8));
        launching::<4, Int>(2, || quantize::quantize_dynamic(x).0);
        launching::<4, Float>(1, || quantize::dequantize_by(a.clone(), 0.5, 1, DType::F32));
        launching::<4, Float>(1, || quantize::dequantize(a.clone(), scale, zero, DType::F32));
        launching::<4, Int>(1, || steps::add((a.clone(), of), (b.clone(), of), y));
        launching::<4, Int>(1, || steps::activate((a.clone(), of), y, Activation::Gelu));
        launching::<4, Int>(1, || steps::softmax((a.clone(), of), y));
        launching::<4, Int>(1, || steps::global_average_pool((a.clone(), of), y));
        let window = Window::new([3, 3]).pads([(1, 1); 2]);
        launching::<4, Int>(1, || max_pool(a, window, false));
    });
}
