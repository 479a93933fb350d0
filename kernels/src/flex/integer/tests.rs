//! Bodies against sums in double precision.

use burn::tensor::{DType, Int, IntDType, Tensor, module, ops::ConvOptions};

use crate::convolution::window::Window;
use crate::flex::simd::with_each_dot;
use crate::quantize::{
    Requantize, Weight, conv_integer1d, conv_integer2d, conv_integer3d, matmul_integer, matmul_to_float,
    qlinear_conv2d, qlinear_matmul, requantize,
};
use crate::spec::packed::Packed;
use crate::testing::{by_flex, float, int, near, noise, same};

const KINDS: [DType; 2] = [DType::U8, DType::I8];

/// All values of a type, and its extremes often.
fn integers<const D: usize>(shape: [usize; D], dtype: DType, seed: u64) -> Tensor<D, Int> {
    let middle = if dtype == DType::U8 { 127.5 } else { -0.5 };
    let wide = noise::<D>(shape, seed).mul_scalar(180.0).add_scalar(middle);
    let values = wide.clamp(middle - 127.5, middle + 127.5).round();
    let kind: IntDType = dtype.into();
    values.int().cast(kind)
}

fn zeros(count: usize, dtype: DType, seed: u64) -> Tensor<1, Int> {
    integers([count], dtype, seed)
}

/// Integers less their zero points, in double precision.
fn differences<const D: usize>(x: &Tensor<D, Int>, zero: Tensor<D, Int>) -> Tensor<D> {
    let wide: IntDType = DType::I32.into();
    let x = x.clone().cast(wide).sub(zero.cast(wide));
    x.float().cast(DType::F64)
}

fn sums<const D: usize>(x: Tensor<D>) -> Tensor<D, Int> {
    let wide: IntDType = DType::I32.into();
    x.int().cast(wide)
}

/// Runs a convolution with all types and zero points, and each kind of product.
fn check(sizes: [usize; 4], weights: [usize; 4], window: Window<2>, groups: usize) {
    check_laid_out(sizes, weights, window, groups, |x| x);
}

fn check_laid_out(
    sizes: [usize; 4],
    weights: [usize; 4],
    window: Window<2>,
    groups: usize,
    lay_out: impl Fn(Tensor<4, Int>) -> Tensor<4, Int>,
) {
    let outputs = weights[0];
    let options = ConvOptions::new_with_padding(window.strides, window.pads, window.dilations, groups);
    for (left, right, count) in [(0, 0, 1), (1, 1, 1), (0, 1, outputs), (1, 0, outputs)] {
        let x = lay_out(integers(sizes, KINDS[left], 1));
        let weight = integers(weights, KINDS[right], 2);
        let (zero, weight_zero) = (zeros(1, KINDS[left], 3), zeros(count, KINDS[right], 4));
        let wide = differences(&x, zero.clone().reshape([1, 1, 1, 1]));
        let inner = differences(&weight, weight_zero.clone().reshape([count, 1, 1, 1]));
        let plain = sums(module::conv2d(wide, inner, None, options.clone()));
        let bias: Tensor<1, Int> = sums(noise([outputs], 5).mul_scalar(1e4));
        let scales =
            [float::<1>([0.02f32]), noise::<1>([count], 6).abs().mul_scalar(0.01), float::<1>([0.7f32])];
        let shape = |x: Tensor<1>| {
            let count = x.dims()[0];
            x.reshape([1, count, 1, 1])
        };
        let biased = plain.clone().add(bias.clone().reshape([1, outputs, 1, 1]));
        let expected = |dtype, bits, zero: Tensor<1, Int>| {
            let zero = zero.reshape([1, 1, 1, 1]);
            requantize(biased.clone(), scales.clone().map(shape), zero, dtype, bits)
        };
        with_each_dot(|_| {
            let zeros = || (Some(zero.clone()), Some(weight_zero.clone()));
            let y = conv_integer2d(x.clone(), weight.clone(), zeros(), window, groups);
            same(y, plain.to_data());
            for (dtype, bits) in [(DType::U8, 8), (DType::I8, 8), (DType::I8, 4)] {
                let result_zero = int([3i8]).cast(IntDType::from(dtype));
                let to = Requantize { scales: scales.clone(), zero: result_zero.clone(), dtype, bits };
                let bias = Some(bias.clone());
                let weight = weight.clone();
                let y = qlinear_conv2d(x.clone(), weight, zeros(), bias, window, groups, to);
                same(y, expected(dtype, bits, result_zero).into_data());
            }
        });
    }
}

#[test]
fn windows_of_every_kind() {
    let three = Window::new([3, 3]).pads([(1, 1); 2]);
    check([2, 3, 9, 11], [5, 3, 3, 3], three, 1);
    check([1, 5, 8, 33], [17, 5, 3, 3], three.strides([2, 2]), 1);
    check([1, 8, 12, 10], [29, 8, 3, 3], three, 1);
    let skewed = three.dilations([2, 3]).pads([(0, 4), (5, 1)]);
    check([1, 2, 7, 40], [1, 2, 3, 3], skewed, 1);
    check([1, 4, 7, 40], [3, 4, 3, 3], skewed.strides([1, 3]), 1);
    let large = Window::new([7, 5]).strides([3, 2]).pads([(3, 3), (2, 1)]);
    check([2, 1, 12, 10], [6, 1, 7, 5], large, 1);
    check([1, 9, 12, 10], [6, 9, 7, 5], large, 1);
    check([1, 4, 9, 7], [6, 4, 2, 2], Window::new([2, 2]).strides([3, 4]), 1);
    let padded = Window::new([3, 3]).pads([(9, 2), (0, 8)]);
    check([1, 2, 4, 5], [3, 2, 3, 3], padded, 1);
}

#[test]
fn groups_and_single_channels() {
    let three = Window::new([3, 3]).pads([(1, 1); 2]);
    check([2, 8, 6, 9], [12, 2, 3, 3], three, 4);
    check([2, 6, 7, 7], [6, 1, 3, 3], three, 6);
    check([1, 6, 15, 70], [6, 1, 3, 3], three.strides([2, 2]), 6);
    check([1, 5, 9, 8], [10, 1, 5, 5], Window::new([5, 5]).pads([(2, 2); 2]), 5);
    let five = Window::new([5, 5]).strides([2, 2]).pads([(2, 1), (0, 3)]);
    check([2, 3, 14, 37], [3, 1, 5, 5], five, 3);
    check([1, 2, 3, 40], [2, 1, 3, 3], three.strides([2, 3]), 2);
    check([1, 2, 9, 40], [2, 1, 3, 3], three.dilations([2, 3]), 2);
    check([1, 2, 1, 1], [2, 1, 3, 3], three.pads([(4, 1), (2, 6)]), 2);
    check([1, 2, 4, 4], [2, 1, 3, 3], three.pads([(99, 0), (0, 99)]).strides([7, 4]), 2);
    check([1, 3, 9, 18], [3, 1, 1, 9], Window::new([1, 9]).dilations([1, 2]), 3);
}

#[test]
fn windows_of_one_place() {
    for outputs in [1, 3, 14, 30] {
        for [high, wide] in [[1, 1], [7, 7], [9, 11]] {
            check([2, 5, high, wide], [outputs, 5, 1, 1], Window::new([1, 1]), 1);
            let strided = Window::new([1, 1]).strides([2, 2]).pads([(0, 1), (1, 0)]);
            check([2, 5, high, wide], [outputs, 5, 1, 1], strided, 1);
        }
    }
}

#[test]
fn inputs_as_they_lie() {
    let window = Window::new([3, 2]).pads([(1, 1); 2]);
    let weights = [4, 3, 3, 2];
    check_laid_out([2, 8, 9, 3], weights, window, 1, |x| x.permute([0, 3, 1, 2]));
    check_laid_out([2, 5, 10, 12], weights, window, 1, |x| x.narrow(1, 1, 3).narrow(3, 2, 9));
    check_laid_out([2, 3, 8, 9], weights, window, 1, |x| x.flip([2, 3]));
    check_laid_out([2, 1, 8, 9], weights, window, 1, |x| x.expand([2, 3, 8, 9]));
}

#[test]
fn more_than_one_band() {
    let case = |sizes: [usize; 4], outputs: usize, window: Window<2>| {
        let x = integers(sizes, DType::U8, 1);
        let [high, wide] = window.kernel;
        let weight = integers([outputs, sizes[1], high, wide], DType::I8, 2);
        let options = ConvOptions::new_with_padding([1; 2], window.pads, [1; 2], 1);
        let [wide, inner] = [&x, &weight].map(|x| x.clone().float().cast(DType::F64));
        let expected = sums(module::conv2d(wide, inner, None, options));
        with_each_dot(|_| {
            let y = conv_integer2d(x.clone(), weight.clone(), (None, None), window, 1);
            same(y, expected.to_data());
        });
    };
    case([1, 320, 50, 60], 1, Window::new([3, 1]).pads([(1, 1), (0, 0)]));
    case([1, 320, 2, 1200], 1, Window::new([1, 3]).pads([(0, 0), (1, 1)]));
    case([1, 400, 60, 50], 2, Window::new([1, 1]));
}

#[test]
fn one_and_three_axes() {
    let (x, weight) = (integers::<3>([2, 4, 37], DType::U8, 1), integers::<3>([6, 2, 3], DType::I8, 2));
    let zero = zeros(1, DType::U8, 3);
    let window = Window::new([3]).strides([2]).dilations([2]).pads([(4, 1)]);
    let options = ConvOptions::new_with_padding([2], [(4, 1)], [2], 2);
    let wide = differences(&x, zero.clone().reshape([1, 1, 1]));
    let inner = weight.clone().float().cast(DType::F64);
    let expected = sums(module::conv1d(wide, inner, None, options));
    with_each_dot(|_| {
        let zeros = (Some(zero.clone()), None);
        let y = conv_integer1d(x.clone(), weight.clone(), zeros, window, 2);
        same(y, expected.to_data());
    });
    let (x, weight) =
        (integers::<5>([2, 4, 5, 6, 7], DType::I8, 1), integers::<5>([6, 2, 3, 2, 3], DType::U8, 2));
    let zero = zeros(1, DType::I8, 3);
    let window = Window::new([3, 2, 3]).strides([2, 1, 2]).dilations([1, 2, 1]).pads([(1, 1); 3]);
    let options = ConvOptions::new([2, 1, 2], [1; 3], [1, 2, 1], 2);
    let wide = differences(&x, zero.clone().reshape([1; 5]));
    let inner = weight.clone().float().cast(DType::F64);
    let expected = sums(module::conv3d(wide, inner, None, options));
    with_each_dot(|_| {
        let zeros = (Some(zero.clone()), None);
        let y = conv_integer3d(x.clone(), weight.clone(), zeros, window, 2);
        same(y, expected.to_data());
    });
}

#[test]
fn products_of_every_size() {
    for [rows, inner, columns] in [[1, 1, 1], [1, 70, 33], [5, 7, 64], [15, 130, 31], [40, 9, 100]] {
        for (left, right) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let a = integers([rows, inner], KINDS[left], 1);
            let b = integers([inner, columns], KINDS[right], 2);
            for [of_rows, of_columns] in [[1, 1], [rows, 1], [1, columns], [rows, columns]] {
                let p = zeros(of_rows, KINDS[left], 3).reshape([of_rows, 1]);
                let q = zeros(of_columns, KINDS[right], 4).reshape([1, of_columns]);
                let wide = differences(&a, p.clone());
                let plain = sums(wide.matmul(differences(&b, q.clone())));
                let bias: Tensor<2, Int> = sums(noise([1, columns], 5).mul_scalar(1e4));
                let scales = [
                    noise::<2>([of_rows, 1], 6).abs().mul_scalar(0.1),
                    noise::<2>([1, of_columns], 7).abs().mul_scalar(0.1),
                ];
                let [s, t] = scales.clone();
                let to = Requantize {
                    scales: [s, t, float([[0.3f32]])],
                    zero: int([[-5i8]]),
                    dtype: DType::I8,
                    bits: 8,
                };
                let biased = plain.clone().add(bias.clone());
                let requantized = requantize(biased, to.scales.clone(), to.zero.clone(), to.dtype, to.bits);
                let add = noise::<2>([1, columns], 8);
                let [s, t] = scales.clone();
                let floats = plain.clone().float().cast(DType::F32).mul(s.mul(t)).add(add.clone());
                with_each_dot(|_| {
                    let zeros = || (Some(p.clone()), Some(q.clone()));
                    for b in [b.clone(), b.clone().transpose().flip([0]).flip([0]).transpose()] {
                        let y: Tensor<2, Int> = matmul_integer(a.clone(), b.clone(), zeros());
                        same(y, plain.to_data());
                        let bias = Some(bias.clone());
                        let y = qlinear_matmul(a.clone(), b.clone(), zeros(), bias, to.clone());
                        same(y, requantized.to_data());
                        let (scales, add) = (scales.clone(), Some(add.clone()));
                        let y = matmul_to_float(a.clone(), b, zeros(), None, scales, add);
                        near(y, floats.to_data(), 1e-6);
                    }
                });
            }
        }
    }
}

#[test]
fn batches_share_a_weight_that_is_packed_once() {
    let a = integers::<3>([3, 4, 10], DType::I8, 1);
    let packed = Packed::default();
    for seed in [2, 3] {
        let b = integers::<2>([10, 6], DType::U8, seed);
        let expected = differences(&a, int::<3>([[[1i8]]]));
        let inner = b.clone().float().cast(DType::F64).unsqueeze::<3>();
        let expected = sums(expected.matmul(inner.expand([3, 10, 6])));
        for _ in 0..2 {
            let b = Weight::packed(b.clone(), packed.clone());
            let zeros = (Some(int::<3>([[[1i8]]])), None);
            let y: Tensor<3, Int> = matmul_integer(a.clone(), b, zeros);
            same(y, expected.to_data());
        }
    }
}

#[test]
fn right_sides_that_differ() {
    let cases = [
        ([2, 3], [2, 3], [5, 7, 9]),
        ([1, 3], [2, 1], [30, 64, 33]),
        ([2, 1], [2, 2], [1, 130, 1]),
        ([3, 1], [1, 3], [15, 3, 70]),
    ];
    for (at, (left, right, [rows, inner, columns])) in cases.into_iter().enumerate() {
        let (a_type, b_type) = (KINDS[at % 2], KINDS[at / 2]);
        let a = integers([left[0], left[1], rows, inner], a_type, 1);
        let plain = integers([right[0], right[1], inner, columns], b_type, 2);
        let heads = integers([right[0], inner, right[1], columns], b_type, 3).swap_dims(1, 2);
        let transposed = integers([right[0], right[1], columns, inner], b_type, 4).swap_dims(2, 3);
        let [p, q] = [zeros(1, a_type, 5), zeros(1, b_type, 6)].map(|zero| zero.reshape([1; 4]));
        let a_heads = integers([left[0], rows, left[1], inner], a_type, 7).swap_dims(1, 2);
        let a_columns = integers([left[0], left[1], inner, rows], a_type, 8).swap_dims(2, 3);
        for (a, b) in [
            (a.clone(), plain.clone()),
            (a_heads, heads),
            (a_columns.flip([0]), transposed.clone()),
            (a.clone(), transposed.flip([2])),
        ] {
            let wide = differences(&a, p.clone());
            let expected = sums(wide.matmul(differences(&b, q.clone())));
            with_each_dot(|_| {
                let zeros = (Some(p.clone()), Some(q.clone()));
                let y: Tensor<4, Int> = matmul_integer(a.clone(), b.clone(), zeros);
                same(y, expected.to_data());
            });
        }
    }
    let (a, b) = (integers::<2>([5, 9], KINDS[0], 1), integers::<3>([4, 9, 6], KINDS[1], 2));
    let wide = a.clone().float().cast(DType::F64).unsqueeze::<3>().expand([4, 5, 9]);
    let expected = sums(wide.matmul(b.clone().float().cast(DType::F64)));
    let y: Tensor<3, Int> = matmul_integer(a, b, (None, None));
    same(y, expected.into_data());
}

#[test]
fn sums_wrap_around() {
    if !by_flex("primitives sum in floats") {
        return;
    }
    let ones = |shape, value| Tensor::<2, Int>::full(shape, value, &crate::testing::device());
    let length = 33_100;
    let a = ones([1, length], 255).cast(IntDType::from(DType::U8));
    let b = ones([length, 1], 255).cast(IntDType::from(DType::U8));
    with_each_dot(|_| {
        let y: Tensor<2, Int> = matmul_integer(a.clone(), b.clone(), (None, None));
        same(y, [[(length as i64 * 255 * 255) as i32]]);
    });
}
