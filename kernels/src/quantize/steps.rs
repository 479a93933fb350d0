//! Operators between DequantizeLinear and QuantizeLinear, on the integers.
//!
//! Each rounds where the three operators round, so the integers are equal, ties included. Operators that files call by name, such
//! as QLinearAdd, round as ONNX Runtime's kernels do.

use burn::tensor::{Int, Tensor};

use super::affine::{Quantized, combine, computed, mean};
use super::{Affine, Function, Rounded, Step};
use crate::{
    ensure, normalize, pool,
    product::epilogue::{Activation, finish},
    shape::lift,
};

/// Adds floats, broadcast.
pub fn add<const D: usize>(a: Quantized<D>, b: Quantized<D>, y: Affine) -> Tensor<D, Int> {
    combine(a, b, y, Step::SumOfFloats, |a, b, pair| pair.y.integers(pair.a.floats(a).add(pair.b.floats(b))))
}

/// Multiplies floats, broadcast.
pub fn mul<const D: usize>(a: Quantized<D>, b: Quantized<D>, y: Affine) -> Tensor<D, Int> {
    combine(a, b, y, Step::ProductOfFloats, |a, b, pair| {
        pair.y.integers(pair.a.floats(a).mul(pair.b.floats(b)))
    })
}

/// Applies a function to each float.
pub fn activate<const D: usize>(x: Quantized<D>, y: Affine, activation: Activation) -> Tensor<D, Int> {
    y.function(x, activation)
}

/// Applies a function to the sum of the floats and a bias along the last axis.
#[inline(never)]
pub fn activate_biased<const D: usize>(
    (x, of): Quantized<D>,
    bias: Tensor<1>,
    y: Affine,
    activation: Activation,
) -> Tensor<D, Int> {
    ensure!(
        bias.dims()[0] == x.dims()[D - 1],
        "expected axis 0 of the bias {:?} to equal the last axis of the input {:?}",
        bias.dims(),
        x.dims()
    );
    let function = Function::Each(activation);
    computed(&x, Some(bias.clone()), of, y, function).unwrap_or_else(|| {
        let sum = of.floats(x).add(lift(bias));
        y.integers(finish(sum, None, activation))
    })
}

/// Softmax of the floats along the last axis.
#[inline(never)]
pub fn softmax<const D: usize>((x, of): Quantized<D>, y: Affine) -> Tensor<D, Int> {
    let made = computed(&x, None, of, y, Function::Softmax(Rounded::InSteps));
    made.unwrap_or_else(|| y.integers(normalize::softmax::softmax(of.floats(x), D - 1)))
}

/// Mean of each channel; every spatial size becomes 1.
#[inline(never)]
pub fn global_average_pool<const D: usize>((x, of): Quantized<D>, y: Affine) -> Tensor<D, Int> {
    let means = mean((&x, of), y, 2, Rounded::InSteps);
    means.unwrap_or_else(|| y.integers(pool::global_average_pool(of.floats(x))))
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use burn::tensor::TensorData;

    use super::*;
    use crate::dtype::lowered;
    use crate::testing::{device, int, noise, same};

    /// Scales with ratios for which many sums are ties, and others.
    const SCALES: [[f32; 3]; 6] = [
        [0.5, 0.25, 1.0],
        [0.1, 0.05, 0.025],
        [0.1, 0.1, 0.2],
        [0.023_529_41, 0.047_058_82, 0.094_117_64],
        [0.031_4, 0.017_7, 0.040_3],
        [0.003_9, 0.011_7, 0.007_8],
    ];

    /// Returns the result of the three operators for every pair of 8-bit integers.
    fn steps(of: [Affine; 3], step: fn(f32, f32) -> f32, range: std::ops::Range<i32>) -> Vec<i32> {
        let floats = |x: i32, of: Affine| (x as f32 - of.zero() as f32) * of.scale();
        let integer = |x: f32| {
            let rounded = (x / of[2].scale()).round_ties_even() + of[2].zero() as f32;
            rounded.clamp(range.start as f32, (range.end - 1) as f32) as i32
        };
        let rows = range.clone();
        let pair = |a: i32| range.clone().map(move |b| (a, b));
        rows.flat_map(pair).map(|(a, b)| integer(step(floats(a, of[0]), floats(b, of[1])))).collect()
    }

    fn every_pair(
        joined: fn(Quantized<2>, Quantized<2>, Affine) -> Tensor<2, Int>,
        step: fn(f32, f32) -> f32,
    ) {
        for [a, b, y] in SCALES {
            let of = [Affine::u8(a, 3), Affine::u8(b, 128), Affine::u8(y, 17)];
            let all: Vec<u8> = (0..=255).collect();
            let rows = int::<2>(TensorData::new(all.clone(), [256, 1]));
            let columns = int::<2>(TensorData::new(all, [1, 256]));
            let expected = steps(of, step, 0..256).into_iter().map(|x| x as u8);
            let expected = TensorData::new(expected.collect::<Vec<u8>>(), [256, 256]);
            same(joined((rows, of[0]), (columns, of[1]), of[2]), expected);
            let of = [Affine::i8(a, -128), Affine::i8(b, 5), Affine::i8(y, -128)];
            let all: Vec<i8> = (-128..=127).collect();
            let rows = int::<2>(TensorData::new(all.clone(), [256, 1]));
            let columns = int::<2>(TensorData::new(all, [1, 256]));
            let expected = steps(of, step, -128..128).into_iter().map(|x| x as i8);
            let expected = TensorData::new(expected.collect::<Vec<i8>>(), [256, 256]);
            same(joined((rows, of[0]), (columns, of[1]), of[2]), expected);
        }
    }

    #[test]
    fn sums_are_those_of_the_three_operators() {
        every_pair(add, |a, b| a + b);
    }

    #[test]
    fn products_are_those_of_the_three_operators() {
        every_pair(mul, |a, b| a * b);
    }

    #[test]
    fn means_are_rounded_from_floats() {
        let x = int::<4>([[[[10u8, 12], [14, 17]], [[0, 0], [0, 0]]]]);
        let (of, y) = (Affine::u8(0.5, 10), Affine::u8(0.25, 4));
        // 6.5 and -16 round to even before the zero point is added.
        same(global_average_pool((x, of), y), [[[[10u8]], [[0]]]]);
    }

    #[test]
    fn biases_are_added_to_floats() {
        for (dtype, zero) in [(DType::U8, 120), (DType::I8, -3)] {
            let (of, y) = (Affine::new(0.05, zero, dtype, 8), Affine::new(0.03, 7, dtype, 8));
            for shape in [[3, 1, 40], [2, 700, 5], [1, 1, 1], [2, 3, 1500]] {
                let x = bytes(shape, dtype);
                let bias = noise::<1>([shape[2]], 3);
                for activation in [Activation::Identity, Activation::Gelu] {
                    let floats = of.floats(x.clone()).add(lift(bias.clone()));
                    let expected = y.integers(finish(floats, None, activation));
                    let z = activate_biased((x.clone(), of), bias.clone(), y, activation);
                    same(z, expected.into_data());
                }
            }
        }
    }

    #[test]
    fn softmax_is_that_of_the_three_operators() {
        for (dtype, zero) in [(DType::U8, 120), (DType::I8, -3)] {
            let (of, y) = (Affine::new(0.05, zero, dtype, 8), Affine::new(0.004, zero, dtype, 8));
            for shape in [[3, 2, 40], [2, 100, 403], [4, 1, 1], [2, 3, 0]] {
                let x = bytes(shape, dtype);
                let floats = normalize::softmax::softmax(of.floats(x.clone()), 2);
                same(softmax((x, of), y), y.integers(floats).into_data());
            }
        }
    }

    fn bytes(shape: [usize; 3], dtype: DType) -> Tensor<3, Int> {
        let kind: burn::tensor::IntDType = lowered(&device(), dtype).into();
        let middle = if dtype == DType::U8 { 128.0 } else { 0.0 };
        let values = noise::<3>(shape, 1).mul_scalar(70.0).add_scalar(middle);
        values.clamp(middle - 128.0, middle + 127.0).round().int().cast(kind)
    }
}
