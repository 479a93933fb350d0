//! Operators on quantized integers compared with primitives.

use burn::tensor::{DType, Device, Float, Int, Tensor, TensorData};

use super::with_each_instruction_set;
use crate::product::epilogue::{Activation, finish};
use crate::quantize::{self, Affine, add, concat, leaky_relu, mul, passes, sigmoid, steps};
use crate::testing::{device, float, int, noise, on_each, same};

/// Sizes around those of registers, blocks and tasks.
const SIZES: [usize; 6] = [0, 1, 63, 129, 1500, 70_001];

const DTYPES: [(DType, u32, i64); 6] = [
    (DType::U8, 8, 3),
    (DType::I8, 8, -128),
    (DType::U16, 16, 32_768),
    (DType::I16, 16, 0),
    (DType::I8, 4, 1),
    (DType::U8, 4, 0),
];

/// Returns values with ties, bounds, infinities and NaN.
fn values(size: usize) -> Tensor<1> {
    let special = [0.5, 1.5, -0.5, 2.5, 1e9, -1e9, f32::INFINITY, -f32::INFINITY, f32::NAN];
    let noise = noise::<1>([size], 1).into_data();
    let noise = noise.iter::<f32>().map(|x| (x * 400.0).round() / 2.0);
    let values: Vec<f32> = special.into_iter().chain(noise).take(size).collect();
    float(TensorData::new(values, [size]))
}

fn integers<const D: usize>(shape: [usize; D], dtype: DType) -> Tensor<D, Int> {
    let size: usize = shape.iter().product();
    let values: Vec<i64> = (0..size as i64).map(|x| x * 7919 % 65_536).collect();
    let values = TensorData::new(values, shape);
    let values = match dtype {
        DType::U8 => values.iter::<i64>().map(|x| x & 255).collect(),
        DType::I8 => values.iter::<i64>().map(|x| (x & 255) - 128).collect(),
        DType::U16 => values.iter::<i64>().collect(),
        _ => values.iter::<i64>().map(|x| x - 32_768).collect::<Vec<i64>>(),
    };
    int(TensorData::new(values, shape).convert_dtype(dtype))
}

/// Copies floats to the CPU, whose primitives support NaN and all integer types.
fn on_cpu<const D: usize>(x: &Tensor<D>) -> Tensor<D, Float> {
    Tensor::from_data(x.to_data(), (&Device::flex(), DType::F32))
}

/// Copies integers to the CPU, in their own dtype.
fn ints_on_cpu<const D: usize>(x: &Tensor<D, Int>, dtype: DType) -> Tensor<D, Int> {
    let data = x.to_data().convert_dtype(dtype);
    Tensor::from_data(data, (&Device::flex(), dtype))
}

/// Asserts equal integers, or on GPUs adjacent ones: implementations of `exp` differ in the last bit.
#[track_caller]
fn nearly_same(actual: Tensor<1, Int>, expected: TensorData) {
    if is_cpu() {
        return same(actual, expected);
    }
    let pairs = actual.into_data().iter::<i64>().zip(expected.iter::<i64>()).collect::<Vec<_>>();
    let differ = pairs.iter().filter(|(a, b)| a != b).count();
    assert!(pairs.iter().all(|(a, b)| (a - b).abs() <= 1));
    assert!(differ <= pairs.len() / 100, "{differ} of {}", pairs.len());
}

fn is_cpu() -> bool {
    device() == Device::flex()
}

#[test]
fn one_scale() {
    on_each(|| {
        for size in SIZES {
            for (dtype, bits, zero) in DTYPES {
                for scale in [1.0f32, 0.1, -0.3, 1e-30, 0.0] {
                    let (x, affine) = (values(size), Affine::new(scale, zero, dtype, bits));
                    let y = passes::quantize_by(on_cpu(&x), affine).into_data();
                    let integers = integers([size], dtype);
                    let own = ints_on_cpu(&integers, dtype);
                    let back = passes::dequantize_by(own, affine, DType::F32).into_data();
                    with_each_instruction_set(|| {
                        let made = quantize::quantize_by(x.clone(), scale, zero, dtype, bits);
                        same(made, y.clone());
                        let made = quantize::dequantize_by(integers.clone(), scale, zero, DType::F32);
                        same(made, back.clone());
                    });
                }
            }
        }
    });
}

#[test]
fn scales_along_axes() {
    on_each(|| {
        let dims = [5, 12, 7];
        let x = || noise::<3>(dims, 1).mul_scalar(300.0);
        for shape in [[1, 1, 1], [5, 1, 1], [1, 12, 1], [1, 1, 7], [5, 12, 1], [1, 12, 7], dims, [5, 1, 7]] {
            for (dtype, bits, _) in DTYPES {
                let scale = noise::<3>(shape, 2).add_scalar(1.5);
                let zero = integers(shape, dtype);
                for zero in [None, Some(zero)] {
                    for x in [
                        x(),
                        x().permute([2, 1, 0]).permute([2, 1, 0]),
                        noise::<3>([7, 12, 5], 4).permute([2, 1, 0]),
                        noise::<3>([7, 15, 5], 5).narrow(1, 2, 12).permute([2, 1, 0]),
                    ] {
                        let (own_scale, own_zero) =
                            (on_cpu(&scale), zero.as_ref().map(|zero| ints_on_cpu(zero, dtype)));
                        let made =
                            passes::quantize(on_cpu(&x), own_scale.clone(), own_zero.clone(), dtype, bits);
                        let back = passes::dequantize(made.clone(), own_scale, own_zero, DType::F32);
                        let y = int::<3>(made.into_data());
                        with_each_instruction_set(|| {
                            let made =
                                quantize::quantize(x.clone(), scale.clone(), zero.clone(), dtype, bits);
                            same(made, y.to_data());
                            let made =
                                quantize::dequantize(y.clone(), scale.clone(), zero.clone(), DType::F32);
                            same(made, back.to_data());
                        });
                    }
                }
            }
        }
    });
}

#[test]
fn ranges_of_values() {
    on_each(|| {
        for size in SIZES {
            let noise = noise::<1>([size], 3);
            let finite = vec![
                noise.clone(),
                noise.clone().add_scalar(2.0),
                noise.clone().sub_scalar(2.0),
                noise.clone().mul_scalar(0.0),
            ];
            // CubeCL devices do not define the range of NaN and infinities.
            let others = [values(size), noise.mul_scalar(f32::INFINITY)];
            let others = others.into_iter().filter(|_| is_cpu());
            for x in finite.into_iter().chain(others) {
                let (y, scale, zero) = passes::quantize_dynamic(on_cpu(&x));
                with_each_instruction_set(|| {
                    let made = quantize::quantize_dynamic(x.clone());
                    same(made.0, y.to_data());
                    same(made.1, scale.to_data());
                    same(made.2, zero.to_data());
                });
            }
        }
    });
}

#[test]
fn functions() {
    on_each(|| {
        let (bytes, signed) = (Affine::u8(0.05, 120), Affine::i8(0.02, -5));
        let wide = Affine::new(1e-4, 30_000, DType::U16, 16);
        for (of, y) in
            [(bytes, bytes), (bytes, signed), (signed, bytes), (wide, wide), (bytes, wide), (wide, signed)]
        {
            for size in SIZES {
                let x = integers([size], of.dtype());
                let expected = |activation| {
                    let floats = passes::dequantize_by(x.clone(), of, DType::F32);
                    passes::quantize_by(finish(floats, None, activation), y).into_data()
                };
                with_each_instruction_set(|| {
                    nearly_same(sigmoid((x.clone(), of), y), expected(Activation::Sigmoid));
                    let leaky = leaky_relu((x.clone(), of), y, 0.1);
                    same(leaky, expected(Activation::LeakyRelu(0.1)));
                    for activation in [Activation::HardSwish, Activation::Gelu, Activation::Tanh] {
                        let made = steps::activate((x.clone(), of), y, activation);
                        nearly_same(made, expected(activation));
                    }
                });
                let parts = vec![(x.clone(), of), (x.clone(), of)];
                let twice = Tensor::cat(vec![x.clone(), x.clone()], 0);
                let expected = passes::quantize_by(passes::dequantize_by(twice, of, DType::F32), y);
                if of != y {
                    with_each_instruction_set(|| {
                        same(concat(parts.clone(), y, 0), expected.to_data());
                    });
                }
            }
        }
    });
}

#[test]
fn pairs_broadcast() {
    on_each(|| {
        for (dtype, bits, zero) in DTYPES {
            let [a, b, y] = [0.1, 0.3, 0.15].map(|scale| Affine::new(scale, zero, dtype, bits));
            for (left, right) in [
                ([2, 3, 40, 70], [2, 3, 40, 70]),
                ([2, 3, 40, 70], [2, 3, 1, 1]),
                ([1, 3, 1, 1], [2, 3, 40, 70]),
                ([2, 3, 40, 70], [1, 1, 1, 70]),
                ([2, 1, 40, 1], [1, 3, 1, 7]),
                ([1, 1, 1, 1], [1, 1, 1, 1]),
                ([2, 0, 3, 1], [1, 1, 3, 4]),
                ([1, 2, 300, 1], [1, 2, 1, 300]),
            ] {
                let (p, q) = (integers(left, dtype), integers(right, dtype));
                let floats = |x: &Tensor<4, Int>, of| passes::dequantize_by(x.clone(), of, DType::F32);
                let sum = passes::quantize_by(floats(&p, a).add(floats(&q, b)), y);
                let product = passes::quantize_by(floats(&p, a).mul(floats(&q, b)), y);
                with_each_instruction_set(|| {
                    same(steps::add((p.clone(), a), (q.clone(), b), y), sum.to_data());
                    same(steps::mul((p.clone(), a), (q.clone(), b), y), product.to_data());
                });
                let swapped = p.clone().swap_dims(2, 3);
                let with = q.clone().swap_dims(2, 3);
                let made = steps::add((swapped, a), (with, b), y);
                same(made, sum.swap_dims(2, 3).to_data());
            }
        }
    });
}

#[test]
fn pairs_of_two_types() {
    on_each(|| {
        let (a, b) = (Affine::u8(0.1, 7), Affine::i8(0.3, -9));
        let y = Affine::new(0.15, 30_000, DType::U16, 16);
        let (p, q) = (integers([40, 1], DType::U8), integers([3], DType::I8));
        let q = q.unsqueeze::<2>();
        let left = passes::dequantize_by(p.clone(), a, DType::F32);
        let right = passes::dequantize_by(q.clone(), b, DType::F32);
        let expected = passes::quantize_by(left.mul(right), y);
        with_each_instruction_set(|| {
            let made = steps::mul((p.clone(), a), (q.clone(), b), y);
            same(made, expected.to_data());
        });
    });
}

#[test]
fn pairs_are_rounded_where_onnx_runtime_does() {
    on_each(|| {
        let bytes: Vec<u8> = (0..=255).collect();
        let rows = int::<2>(TensorData::new(bytes.clone(), [256, 1]));
        let columns = int::<2>(TensorData::new(bytes, [1, 256]));
        for scales in [[0.1f32, 0.05, 0.025], [0.5, 0.25, 1.0], [0.031_4, 0.017_7, 0.040_3]] {
            let [a, b, y] = scales;
            let zeros = [7.0f32, 128.0, 19.0];
            let (p, q) = (a / y, b / y);
            let offset = zeros[2] - (p * zeros[0] + q * zeros[1]);
            let factor = a * b / y;
            let all = |run: &dyn Fn(f32, f32) -> f32| {
                let pair = |at: u32| run((at >> 8) as f32, (at & 255) as f32);
                let rounded = (0..1 << 16).map(|at| pair(at).round_ties_even() as u8);
                TensorData::new(rounded.collect::<Vec<u8>>(), [256, 256])
            };
            let sums = all(&|a, b| a.mul_add(p, b.mul_add(q, offset)));
            let products = all(&|a, b| (a - zeros[0]) * (b - zeros[1]) * factor + zeros[2]);
            let of = [Affine::u8(a, 7), Affine::u8(b, 128), Affine::u8(y, 19)];
            let pair = || ((rows.clone(), of[0]), (columns.clone(), of[1]));
            with_each_instruction_set(|| {
                let (a, b) = pair();
                same(add(a, b, of[2]), sums.clone());
                let (a, b) = pair();
                same(mul(a, b, of[2]), products.clone());
            });
        }
    });
}
