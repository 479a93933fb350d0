//! Results of deterministic calls with every instruction set and several threads, of all rows and of each one alone.

use std::panic::{catch_unwind, resume_unwind};

use burn::tensor::{DType, Device, Tensor, TensorData};

use super::*;
use crate::attention::{AttentionMask, AttentionOptions, attention};
use crate::convolution::conv::{conv1d_then, conv2d_then};
use crate::convolution::{conv_transpose::conv_transpose2d, window::Window};
use crate::elementwise::elementary::{
    acos, acosh, asin, asinh, atan, atanh, cos, cosh, erf, exp, gelu, log, log1p, power_by, sigmoid, sin,
    sinh, tan, tanh,
};
use crate::flex::threads::side_by_side;
use crate::flex::with_each_set;
use crate::normalize::softmax::{log_softmax, softmax};
use crate::normalize::{group_norm, layer_norm, rms_norm};
use crate::product::epilogue::{Activation, Epilogue};
use crate::product::matmul::{linear_then, product};
use crate::quantize::{BitData, BitMatrix, Blocks, matmul_bits};
use crate::recurrent::{
    Direction,
    cases::{Case, gru_cell, lstm_cell},
};
use crate::reduce::sum::{mean_dim, sum_dim};
use crate::signal::dft::stft;
use crate::testing::{by_flex, noise, same};
use crate::threads::with;

/// Returns the result of a deterministic call, which is the same with every set and number of threads.
#[track_caller]
fn alike<const D: usize>(run: impl Fn() -> Tensor<D>) -> Tensor<D> {
    let y = deterministic(&run);
    with_each_set(|set| {
        for threads in [1, 3] {
            eprintln!("{set:?}, {threads} threads");
            same(with(threads, || deterministic(&run)), y.to_data());
        }
    });
    y
}

/// Checks that each row of the batch has the result that it has alone.
#[track_caller]
fn rows_alike<const D: usize, const E: usize>(x: Tensor<D>, run: impl Fn(Tensor<D>) -> Tensor<E>) {
    let y = alike(|| run(x.clone()));
    for row in 0..x.dims()[0] {
        let alone = x.clone().narrow(0, row, 1);
        let alone = alike(|| run(alone.clone()));
        same(alone, y.clone().narrow(0, row, 1).into_data());
    }
}

fn is_here() -> bool {
    by_flex("primitives are not deterministic")
}

#[test]
fn threads_of_a_call_are_deterministic_and_later_calls_are_not() {
    deterministic(|| {
        side_by_side(16, |_| assert!(is_on()));
        deterministic(|| assert!(is_on()));
        assert!(is_on());
    });
    side_by_side(16, |_| assert!(!is_on()));
    let _ = catch_unwind(|| deterministic(|| resume_unwind(Box::new("oh"))));
    assert!(!is_on());
}

#[test]
fn products() {
    if !is_here() {
        return;
    }
    for [inner, columns] in [[1, 1], [7, 33], [300, 140], [1030, 70], [64, 1500]] {
        let (weight, bias) = (noise::<2>([inner, columns], 1), noise::<1>([columns], 2));
        for weight in [weight, noise::<2>([columns, inner], 3).transpose()] {
            for epilogue in [Epilogue::default(), Epilogue::of_layer()] {
                rows_alike(noise::<2>([9, inner], 4), |x| {
                    let sum = Some(x.clone().narrow(1, 0, 1).expand([x.dims()[0], columns]));
                    let epilogue = Epilogue { activation: Activation::Gelu, ..epilogue.clone() };
                    linear_then(x, weight.clone(), Some(bias.clone()), sum, epilogue)
                });
            }
        }
        let right = noise::<3>([3, inner, columns], 5);
        let left = noise::<3>([3, 20, inner], 6);
        let all = alike(|| product(left.clone(), right.clone()));
        let row = || product(left.clone().narrow(1, 5, 1), right.clone());
        same(alike(row), all.narrow(1, 5, 1).into_data());
        let transposed = noise::<3>([3, columns, inner], 7).swap_dims(1, 2);
        let all = alike(|| product(left.clone(), transposed.clone()));
        let row = || product(left.clone().narrow(1, 5, 1), transposed.clone());
        same(alike(row), all.narrow(1, 5, 1).into_data());
    }
}

#[test]
fn convolutions() {
    if !is_here() {
        return;
    }
    let check = |channels: usize, outputs: usize, groups: usize, sizes: [usize; 2], window: Window<2>| {
        let [height, width] = window.kernel;
        let weight = noise::<4>([outputs, channels / groups, height, width], 2);
        let bias = noise::<1>([outputs], 3);
        for epilogue in [Epilogue::default(), Epilogue::of_layer()] {
            rows_alike(noise::<4>([2, channels, sizes[0], sizes[1]], 1), |x| {
                let epilogue = Epilogue { activation: Activation::Relu, ..epilogue.clone() };
                conv2d_then(x, weight.clone(), Some(bias.clone()), None, window, groups, epilogue)
            });
        }
    };
    let (one, three) = (Window::new([1, 1]), Window::new([3, 3]).pads([(1, 1); 2]));
    check(48, 40, 1, [20, 20], three);
    check(24, 36, 1, [7, 9], three);
    check(3, 20, 1, [30, 50], three.strides([2, 2]));
    check(40, 90, 1, [9, 11], one);
    check(200, 30, 1, [1, 1], one);
    check(90, 33, 1, [1, 3], one);
    check(8, 130, 1, [12, 10], Window::new([5, 5]).pads([(2, 2); 2]));
    check(12, 24, 4, [12, 40], three);
    check(20, 20, 20, [7, 7], three);
    check(20, 20, 20, [13, 14], three.strides([2, 2]));
    check(6, 6, 6, [20, 70], three);
    check(6, 12, 6, [20, 17], Window::new([7, 7]).pads([(3, 3); 2]));
    let weight = noise::<3>([24, 10, 9], 2);
    let long = Window::new([9]).strides([2]).dilations([2]).pads([(3, 2)]);
    rows_alike(noise::<3>([2, 20, 700], 1), |x| {
        conv1d_then(x, weight.clone(), None, None, long, 2, Epilogue::default())
    });
    let weight = noise::<4>([12, 9, 4, 4], 4);
    rows_alike(noise::<4>([2, 12, 11, 8], 5), |x| {
        let window = Window::new([4, 4]).strides([2, 2]).pads([(1, 1); 2]);
        conv_transpose2d(x, weight.clone(), None, window, [0, 0], 1)
    });
}

#[test]
fn squares_of_a_batch_with_infinite_elements() {
    if !is_here() {
        return;
    }
    let weight = noise::<4>([40, 48, 3, 3], 2);
    let x = noise::<4>([2, 48, 20, 20], 1);
    let infinite = x.clone().narrow(0, 1, 1).mul_scalar(f32::INFINITY);
    let x = Tensor::cat(vec![x.narrow(0, 0, 1), infinite], 0);
    let window = Window::new([3, 3]).pads([(1, 1); 2]);
    rows_alike(x, |x| conv2d_then(x, weight.clone(), None, None, window, 1, Epilogue::of_layer()));
}

#[test]
fn attention_of_one_and_of_many_queries() {
    if !is_here() {
        return;
    }
    for (queries, keys) in [(1, 50), (70, 70), (9, 200)] {
        let keys_and_values = [2, 3].map(|seed| noise::<4>([1, 2, keys, 20], seed));
        for causal in [false, true] {
            let run = |x: Tensor<4>| {
                let [key, value] = keys_and_values.clone().map(|all| all.expand([x.dims()[0], 2, keys, 20]));
                let options = AttentionOptions { causal, past: keys - queries, ..Default::default() };
                attention(x, key, value, None, None, &options)
            };
            rows_alike(noise::<4>([3, 4, queries, 20], 1), run);
            let mask = AttentionMask::Bias(noise::<4>([1, 1, 1, keys], 4));
            let [key, value] = keys_and_values.clone();
            let query = noise::<4>([1, 2, queries, 20], 5);
            alike(|| {
                let (key, value, mask) = (key.clone(), value.clone(), Some(mask.clone()));
                attention(query.clone(), key, value, mask, None, &AttentionOptions::default())
            });
        }
    }
}

#[test]
fn norms_sums_and_functions() {
    if !is_here() {
        return;
    }
    for length in [1, 5, 8, 37, 1100] {
        let (scale, bias) = (noise::<1>([length], 2), noise::<1>([length], 3));
        let x = noise::<2>([6, length], 1);
        rows_alike(x.clone(), |x| layer_norm(x, scale.clone(), Some(bias.clone()), 1, 1e-5));
        rows_alike(x.clone(), |x| rms_norm(x, scale.clone(), 1, 1e-5));
        rows_alike(x.clone(), |x| softmax(x, 1));
        rows_alike(x.clone(), |x| log_softmax(x, 1));
        rows_alike(x.clone(), |x| mean_dim(x, 1));
        rows_alike(x.clone(), |x| sum_dim(x, 1));
        alike(|| sum_dim(x.clone(), 0));
        alike(|| softmax(x.clone(), 0));
        for run in [exp, erf, gelu, sigmoid, tanh] {
            rows_alike(x.clone().mul_scalar(4.0), run);
        }
        rows_alike(x.abs(), log);
    }
    let (scale, bias) = (noise::<1>([6], 2), noise::<1>([6], 3));
    rows_alike(noise::<4>([2, 6, 9, 7], 1), |x| group_norm(x, scale.clone(), bias.clone(), 3, 1e-5));
    rows_alike(noise::<3>([3, 900, 1], 1), |x| stft(x, 100, None, 256, true));
}

#[test]
fn functions_of_floats_of_all_sizes() {
    if !is_here() {
        return;
    }
    let floats: Vec<f32> = (0..=u32::MAX).step_by(300_007).map(f32::from_bits).collect();
    let count = floats.len();
    let x = Tensor::<1>::from_data(TensorData::new(floats, [count]), &Device::flex());
    let functions = [
        acos, acosh, asin, asinh, atan, atanh, cos, cosh, erf, exp, gelu, log, log1p, sigmoid, sin, sinh,
        tan, tanh,
    ];
    for run in functions {
        alike(|| run(x.clone()));
    }
    alike(|| power_by(x.clone().abs(), 1.7));
}

#[test]
fn recurrences() {
    if !is_here() {
        return;
    }
    for sizes in [[4, 1, 7, 33], [3, 9, 40, 20]] {
        for (gates, cell) in [
            (4, lstm_cell(Direction::Forward, false, false)),
            (3, gru_cell(Direction::Forward, true, false, false)),
        ] {
            let case = Case::new(sizes, gates, Direction::Forward, false);
            alike(|| case.cast(DType::F32).run(cell).0);
        }
    }
}

#[test]
fn products_with_packed_weights() {
    if !is_here() {
        return;
    }
    let blocks = Blocks { inputs: 96, outputs: 70, size: 32, bits: 4 };
    let codes: Vec<u8> = (0..70 * 48).map(|at| (at * 37 % 251) as u8).collect();
    let codes = TensorData::new(codes, [70 * 48]);
    let data = BitData { codes, scales: noise::<1>([70 * 3], 8).into_data(), zeros: None, groups: None };
    let packed = BitMatrix::new(blocks, data);
    for packed in [packed.clone(), packed.in_bytes()] {
        rows_alike(noise::<2>([20, 96], 1), |x| matmul_bits(x, &packed, None));
    }
}
