//! Steps that stand between DequantizeLinear and QuantizeLinear, on the integers.
//!
//! Each rounds where the three operators round, so that the integers are theirs, ties included. The
//! operators that files call by name, as QLinearAdd, round as ONNX Runtime's kernels do.

use burn::tensor::{Int, Tensor};

use super::affine::{Quantized, combine, mean};
use super::options::{Affine, Rounded, Step};
use crate::{pool, product::epilogue::Activation};

/// The sum of floats, broadcast.
pub fn add<const D: usize>(a: Quantized<D>, b: Quantized<D>, y: Affine) -> Tensor<D, Int> {
    combine(a, b, y, Step::SumOfFloats, |a, b, pair| {
        pair.y.integers(pair.a.floats(a).add(pair.b.floats(b)))
    })
}

/// The product of floats, broadcast.
pub fn mul<const D: usize>(a: Quantized<D>, b: Quantized<D>, y: Affine) -> Tensor<D, Int> {
    combine(a, b, y, Step::ProductOfFloats, |a, b, pair| {
        pair.y.integers(pair.a.floats(a).mul(pair.b.floats(b)))
    })
}

/// A function of floats, one by one.
pub fn activate<const D: usize>(
    x: Quantized<D>,
    y: Affine,
    activation: Activation,
) -> Tensor<D, Int> {
    y.function(x, activation)
}

/// The mean of each channel; every spatial size becomes 1.
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
    use crate::testing::{has_all, int, same};

    /// Scales that stand in such ratios that many sums are halfway between two integers, and others.
    const SCALES: [[f32; 3]; 6] = [
        [0.5, 0.25, 1.0],
        [0.1, 0.05, 0.025],
        [0.1, 0.1, 0.2],
        [0.023_529_41, 0.047_058_82, 0.094_117_64],
        [0.031_4, 0.017_7, 0.040_3],
        [0.003_9, 0.011_7, 0.007_8],
    ];

    /// What the three operators give for every pair of 8-bit integers.
    fn steps(of: [Affine; 3], step: fn(f32, f32) -> f32, range: std::ops::Range<i32>) -> Vec<i32> {
        let floats = |x: i32, of: Affine| (x as f32 - of.zero() as f32) * of.scale();
        let integer = |x: f32| {
            let rounded = (x / of[2].scale()).round_ties_even() + of[2].zero() as f32;
            rounded.clamp(range.start as f32, (range.end - 1) as f32) as i32
        };
        let rows = range.clone();
        let pair = |a: i32| range.clone().map(move |b| (a, b));
        rows.flat_map(pair)
            .map(|(a, b)| integer(step(floats(a, of[0]), floats(b, of[1]))))
            .collect()
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
        if !has_all(&[DType::U8]) {
            return;
        }
        every_pair(add, |a, b| a + b);
    }

    #[test]
    fn products_are_those_of_the_three_operators() {
        if !has_all(&[DType::U8]) {
            return;
        }
        every_pair(mul, |a, b| a * b);
    }

    #[test]
    fn means_are_rounded_from_floats() {
        if !has_all(&[DType::U8]) {
            return;
        }
        let x = int::<4>([[[[10u8, 12], [14, 17]], [[0, 0], [0, 0]]]]);
        let (of, y) = (Affine::u8(0.5, 10), Affine::u8(0.25, 4));
        // 6.5 and -16 to the even one, the zero point added behind.
        same(global_average_pool((x, of), y), [[[[10u8]], [[0]]]]);
    }
}
