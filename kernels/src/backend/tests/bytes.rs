//! 8-bit products and convolutions compared with the host.

use burn::tensor::{DType, Int, Tensor, TensorData};

use super::with_each_instruction_set;
use crate::convolution::window::Window;
use crate::pool::max_pool;
use crate::quantize::{
    Requantize, Weight, conv_integer1d, conv_integer2d, conv_integer3d, matmul_integer, matmul_to_float,
    qlinear_conv2d, qlinear_matmul,
};
use crate::testing::{float, indices, int, near, on_each, same};

/// Returns pseudorandom 8-bit integers.
fn bytes(count: usize, is_signed: bool, seed: u64) -> Vec<i32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as i32 - if is_signed { 128 } else { 0 }
    };
    (0..count).map(|_| next()).collect()
}

fn tensor<const D: usize>(values: &[i32], shape: [usize; D], is_signed: bool) -> Tensor<D, Int> {
    let dtype = if is_signed { DType::I8 } else { DType::U8 };
    int(TensorData::new(values.to_vec(), shape).convert_dtype(dtype))
}

/// A convolution over two axes.
#[derive(Clone, Copy)]
struct Case {
    input: [usize; 4],
    outputs: usize,
    kernel: [usize; 2],
    window: Window<2>,
    groups: usize,
}

impl Case {
    fn weight(&self) -> [usize; 4] {
        let channels = self.input[1] / self.groups;
        [self.outputs, channels, self.kernel[0], self.kernel[1]]
    }

    fn output(&self) -> [usize; 4] {
        let positions = self.window.positions([self.input[2], self.input[3]], false);
        [self.input[0], self.outputs, positions[0], positions[1]]
    }

    /// Returns the accumulators by their definition.
    fn sums(&self, x: &[i32], weight: &[i32], zero: i32, weight_zeros: &[i32]) -> Vec<i32> {
        let [_, channels, height, width] = self.input;
        let of_group = self.outputs / self.groups;
        let sum = |[batch, output, row, column]: [usize; 4]| {
            let group = output / of_group;
            let taps = indices([self.weight()[1], self.kernel[0], self.kernel[1]]);
            taps.enumerate()
                .map(|(tap, [channel, down, across])| {
                    let y = row * self.window.strides[0] + down * self.window.dilations[0];
                    let x_at = column * self.window.strides[1] + across * self.window.dilations[1];
                    let source = |at: usize, axis: usize, size: usize| {
                        at.checked_sub(self.window.pads[axis].0).filter(|at| *at < size)
                    };
                    let (Some(y), Some(x_at)) = (source(y, 0, height), source(x_at, 1, width)) else {
                        return 0;
                    };
                    let channel = group * self.weight()[1] + channel;
                    let from = ((batch * channels + channel) * height + y) * width + x_at;
                    let terms = self.weight()[1] * self.kernel[0] * self.kernel[1];
                    let factor = weight[output * terms + tap] - weight_zeros[output];
                    (x[from] - zero) * factor
                })
                .sum()
        };
        indices(self.output()).map(sum).collect()
    }
}

fn cases() -> Vec<Case> {
    let case =
        |input, outputs, kernel, groups| Case { input, outputs, kernel, window: Window::new(kernel), groups };
    let dense = case([2, 5, 9, 7], 6, [3, 2], 1);
    let deep = case([1, 64, 6, 11], 20, [3, 3], 1);
    let alone = case([2, 12, 9, 10], 12, [3, 3], 12);
    let pads = |case: Case| Case { window: case.window.pads([(1, 2), (2, 1)]), ..case };
    let strided = |case: Case| Case { window: case.window.strides([2, 2]).pads([(1, 1); 2]), ..case };
    vec![
        dense,
        pads(dense),
        strided(dense),
        Case { window: dense.window.dilations([2, 3]).pads([(0, 3); 2]), ..dense },
        deep,
        pads(deep),
        case([1, 8, 8, 8], 12, [1, 1], 2),
        case([3, 260, 1, 1], 10, [1, 1], 1),
        pads(case([1, 12, 2, 2], 8, [3, 3], 4)),
        alone,
        pads(alone),
        strided(alone),
        case([1, 6, 8, 9], 12, [3, 5], 6),
    ]
}

#[test]
fn convolutions_are_exact() {
    on_each(|| {
        for (number, case) in cases().into_iter().enumerate() {
            for signs in [[false, true], [false, false], [true, true]] {
                let x = bytes(case.input.iter().product(), signs[0], 1);
                let weight = bytes(case.weight().iter().product(), signs[1], 2);
                let (zero, of_weight) = (bytes(1, signs[0], 3), bytes(case.outputs, signs[1], 4));
                let tensors = || {
                    let weight = tensor(&weight, case.weight(), signs[1]);
                    (tensor(&x, case.input, signs[0]), Weight::filters(weight))
                };
                for zeros in [[false, false], [true, false], [true, true]] {
                    let none = vec![0; case.outputs];
                    let sums = case.sums(
                        &x,
                        &weight,
                        if zeros[0] { zero[0] } else { 0 },
                        if zeros[1] { &of_weight } else { &none },
                    );
                    let sums = TensorData::new(sums, case.output());
                    with_each_instruction_set(|| {
                        let (x, weight) = tensors();
                        let x_zero = zeros[0].then(|| tensor(&zero, [1], signs[0]));
                        let of_weight = zeros[1].then(|| tensor(&of_weight, [case.outputs], signs[1]));
                        let zeros = (x_zero, of_weight);
                        eprintln!("case {number} {signs:?}");
                        let y = conv_integer2d(x, weight, zeros, case.window, case.groups);
                        same(y, sums.clone());
                    });
                }
            }
        }
    });
}

#[test]
fn convolutions_end_in_the_scale_of_the_result() {
    on_each(|| {
        for case in cases() {
            for (bits, is_signed) in [(8, false), (8, true), (16, false)] {
                let x = bytes(case.input.iter().product(), false, 1);
                let weight = bytes(case.weight().iter().product(), true, 2);
                let bias = bytes(case.outputs, true, 5);
                let sums = case.sums(&x, &weight, 3, &vec![0; case.outputs]);
                let scales: Vec<f32> = (0..case.outputs).map(|at| 0.01 + at as f32 / 997.0).collect();
                let (low, high) = match (bits, is_signed) {
                    (8, false) => (0.0f32, 255.0),
                    (8, true) => (-128.0, 127.0),
                    _ => (0.0, 65_535.0),
                };
                let positions = case.output()[2] * case.output()[3];
                let expected = sums.iter().enumerate().map(|(at, sum)| {
                    let output = at / positions % case.outputs;
                    let factor = 0.02 * scales[output] / 0.3;
                    let rounded = ((sum + bias[output]) as f32 * factor).round_ties_even();
                    (rounded + 7.0).clamp(low, high) as i32
                });
                let dtype = match (bits, is_signed) {
                    (8, false) => DType::U8,
                    (8, true) => DType::I8,
                    _ => DType::U16,
                };
                let expected = TensorData::new(expected.collect::<Vec<i32>>(), case.output());
                let expected = expected.convert_dtype(dtype);
                with_each_instruction_set(|| {
                    let zero = TensorData::new(vec![7i32], [1]).convert_dtype(dtype);
                    let to = Requantize {
                        scales: [
                            float([0.02f32]),
                            float(TensorData::new(scales.clone(), [case.outputs])),
                            float([0.3f32]),
                        ],
                        zero: int(zero),
                        dtype,
                        bits,
                    };
                    let x = tensor(&x, case.input, false);
                    let weight = Weight::filters(tensor(&weight, case.weight(), true));
                    let zeros = (Some(int([3u8])), None);
                    let bias = Some(int(TensorData::new(bias.clone(), [case.outputs])));
                    let y = qlinear_conv2d(x, weight, zeros, bias, case.window, case.groups, to);
                    same(y, expected.clone());
                });
            }
        }
    });
}

#[test]
fn convolutions_have_one_to_three_axes_in_any_order() {
    on_each(|| {
        let (x, weight) = (bytes(2 * 4 * 30, false, 1), bytes(6 * 4 * 3, true, 2));
        let case = Case {
            input: [2, 4, 1, 30],
            outputs: 6,
            kernel: [1, 3],
            window: Window::new([1, 3]).pads([(0, 0), (1, 1)]).strides([1, 2]),
            groups: 1,
        };
        let sums = case.sums(&x, &weight, 9, &[0; 6]);
        let zeros = || (Some(int::<1>([9u8])), None);
        let (input, filter) = (tensor(&x, [2, 4, 30], false), tensor(&weight, [6, 4, 3], true));
        let window = Window::new([3]).pads([(1, 1)]).strides([2]);
        let y = conv_integer1d(input.clone(), filter.clone(), zeros(), window, 1);
        same(y, TensorData::new(sums.clone(), [2, 6, 15]));
        // The same elements with the channels innermost.
        let lies = input.swap_dims(1, 2).mul_scalar(1).swap_dims(1, 2);
        let y = conv_integer1d(lies, filter, zeros(), window, 1);
        same(y, TensorData::new(sums.clone(), [2, 6, 15]));
        let (input, filter) = (tensor(&x, [2, 4, 1, 1, 30], false), tensor(&weight, [6, 4, 1, 1, 3], true));
        let window = Window::new([1, 1, 3]).pads([(0, 0), (0, 0), (1, 1)]).strides([1, 1, 2]);
        let y = conv_integer3d(input, filter, zeros(), window, 1);
        same(y, TensorData::new(sums, [2, 6, 1, 1, 15]));
    });
}

#[test]
fn products_of_matrices_are_exact() {
    on_each(|| {
        for [rows, terms, columns] in [[1, 1, 1], [1, 300, 10], [3, 7, 70], [9, 20, 33], [70, 259, 18]] {
            for signs in [[false, true], [true, false]] {
                let a = bytes(2 * rows * terms, signs[0], 1);
                let b = bytes(terms * columns, signs[1], 2);
                let zeros = (bytes(rows, signs[0], 3), bytes(columns, signs[1], 4));
                let sum = |[batch, row, column]: [usize; 3]| -> i32 {
                    let terms = (0..terms).map(|term| {
                        let left = a[(batch * rows + row) * terms + term] - zeros.0[row];
                        left * (b[term * columns + column] - zeros.1[column])
                    });
                    terms.sum()
                };
                let sums: Vec<i32> = indices([2, rows, columns]).map(sum).collect();
                with_each_instruction_set(|| {
                    let left = || tensor(&a, [2, rows, terms], signs[0]);
                    let right = || tensor(&b, [terms, columns], signs[1]);
                    let zeros = || {
                        let left = tensor(&zeros.0, [1, rows, 1], signs[0]);
                        (Some(left), Some(tensor(&zeros.1, [1, columns], signs[1])))
                    };
                    let y: Tensor<3, Int> = matmul_integer(left(), right(), zeros());
                    same(y, TensorData::new(sums.clone(), [2, rows, columns]));
                    let transposed = right().transpose().mul_scalar(1).transpose();
                    let y: Tensor<3, Int> = matmul_integer(left(), transposed, zeros());
                    same(y, TensorData::new(sums.clone(), [2, rows, columns]));

                    let of_columns: Vec<f32> = (0..columns).map(|at| 0.01 + at as f32).collect();
                    let scale =
                        |values: &[f32]| float::<3>(TensorData::new(values.to_vec(), [1, 1, values.len()]));
                    let scales = [scale(&[0.5]), scale(&of_columns)];
                    let bias = Some(scale(&of_columns));
                    let y = matmul_to_float(left(), right(), zeros(), None, scales, bias);
                    let expected = sums.iter().enumerate().map(|(at, sum)| {
                        let of_column = of_columns[at % columns];
                        *sum as f32 * (0.5 * of_column) + of_column
                    });
                    let expected = expected.collect::<Vec<f32>>();
                    near(y, TensorData::new(expected, [2, rows, columns]), 1e-6);

                    let to = Requantize {
                        scales: [scale(&[0.5]), scale(&of_columns), scale(&[9.0])],
                        zero: int([[[-5i8]]]),
                        dtype: DType::I8,
                        bits: 8,
                    };
                    let bias = int([[[11i32]]]);
                    let y = qlinear_matmul(left(), right(), zeros(), Some(bias), to);
                    let expected = sums.iter().enumerate().map(|(at, sum)| {
                        let factor = 0.5 * of_columns[at % columns] / 9.0;
                        let rounded = ((sum + 11) as f32 * factor).round_ties_even();
                        (rounded - 5.0).clamp(-128.0, 127.0) as i8
                    });
                    let expected = expected.collect::<Vec<i8>>();
                    same(y, TensorData::new(expected, [2, rows, columns]));
                });
            }
        }
    });
}

#[test]
fn the_greatest_of_windows() {
    on_each(|| {
        for (dtype, is_signed) in [(DType::U8, false), (DType::I8, true)] {
            let values = bytes(2 * 3 * 11 * 9, is_signed, 1);
            let x = tensor(&values, [2, 3, 11, 9], is_signed);
            let part = x.clone().narrow(2, 1, 7);
            for x in [x.clone(), x.swap_dims(2, 3), part] {
                for window in [
                    Window::new([2, 3]),
                    Window::new([3, 3]).strides([2, 1]).pads([(1, 1); 2]),
                    Window::new([2, 2]).dilations([3, 2]).pads([(0, 2), (1, 0)]),
                ] {
                    let expected = max_pool(x.clone().float(), window, true).into_data();
                    let y = max_pool(x.clone(), window, true);
                    same(y, expected.convert_dtype(dtype));
                }
            }
        }
    });
}
