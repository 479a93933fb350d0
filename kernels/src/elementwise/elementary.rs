//! Functions that ONNX Runtime computes by polynomials.
//!
//! On the CPU they are the same polynomials, rounded at the same places: a model that rounds their
//! results to few bits gets the same bits.

mod power;

use burn::tensor::{Tensor, activation};

use crate::cpu::{Sum, by_rows, dispatched, in_place};
pub(crate) use power::exp_below;
use power::{erf_at, exp_at};

/// `1 / (1 + exp(-x))`.
#[inline(never)]
pub fn sigmoid<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    each(x, logistic, activation::sigmoid)
}

#[inline(never)]
pub fn tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    each(x, hyperbolic, Tensor::tanh)
}

#[inline(never)]
pub fn exp<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    each(x, powers, Tensor::exp)
}

#[inline(never)]
pub fn erf<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    each(x, errors, Tensor::erf)
}

/// `x * (1 + erf(x / sqrt(2))) / 2`.
#[inline(never)]
pub fn gelu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    each(x, gelus, activation::gelu)
}

fn each<const D: usize>(
    x: Tensor<D>,
    run: fn(&mut [f32]),
    other: fn(Tensor<D>) -> Tensor<D>,
) -> Tensor<D> {
    in_place(x, |elements| by_rows(elements, 1, run), other)
}

/// A polynomial over another one, in `x²` and from the highest power on; the upper one is multiplied by `x`.
struct Fraction<const A: usize, const B: usize> {
    /// Beyond this size of `x` the result is that of the bound.
    bound: f32,
    upper: [f32; A],
    lower: [f32; B],
}

const LOGISTIC: Fraction<5, 6> = Fraction {
    bound: 18.0,
    upper: [
        4.370_31e-11,
        1.156_273_2e-7,
        6.085_749e-5,
        8.513_771e-3,
        2.482_879_5e-1,
    ],
    lower: [
        6.102_473_7e-13,
        5.761_021_4e-9,
        6.291_068e-6,
        1.701_988_2e-3,
        1.168_176_5e-1,
        9.931_519e-1,
    ],
};

const TANH: Fraction<7, 4> = Fraction {
    bound: 9.0,
    upper: [
        -2.760_768_4e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297_3e-8,
        1.485_722_35e-5,
        6.372_619_5e-4,
        4.893_524_6e-3,
    ],
    lower: [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_7e-3, 4.893_525e-3],
};

impl<const A: usize, const B: usize> Fraction<A, B> {
    #[inline(always)]
    fn at<S: Sum>(&self, x: f32) -> f32 {
        let x = x.clamp(-self.bound, self.bound);
        let square = x * x;
        let (mut upper, mut lower) = (self.upper[0], self.lower[0]);
        for next in &self.upper[1..] {
            upper = S::of(upper, square, *next);
        }
        for next in &self.lower[1..] {
            lower = S::of(lower, square, *next);
        }
        upper * x / lower
    }
}

#[inline(always)]
fn logistic_of<S: Sum>(elements: &mut [f32]) {
    for x in elements {
        *x = (LOGISTIC.at::<S>(*x) + 0.5).clamp(0.0, 1.0);
    }
}

#[inline(always)]
fn tanh_of<S: Sum>(elements: &mut [f32]) {
    for x in elements {
        *x = TANH.at::<S>(*x);
    }
}

#[inline(always)]
fn exp_of<S: Sum>(elements: &mut [f32]) {
    for x in elements {
        *x = exp_at::<S>(*x);
    }
}

#[inline(always)]
fn erf_of<S: Sum>(elements: &mut [f32]) {
    for x in elements {
        *x = erf_at::<S>(*x);
    }
}

#[inline(always)]
fn gelu_of<S: Sum>(elements: &mut [f32]) {
    for x in elements {
        *x = 0.5 * *x * (erf_at::<S>(*x * std::f32::consts::FRAC_1_SQRT_2) + 1.0);
    }
}

dispatched! {
    fn logistic(elements: &mut [f32]) = logistic_of;
    fn hyperbolic(elements: &mut [f32]) = tanh_of;
    fn powers(elements: &mut [f32]) = exp_of;
    fn errors(elements: &mut [f32]) = erf_of;
    fn gelus(elements: &mut [f32]) = gelu_of;
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use half::f16;

    use super::*;
    use crate::testing::{float, near, noise, same};

    #[test]
    fn ends_and_nan_are_kept() {
        let x = || float::<1>([f32::NAN, f32::INFINITY, -f32::INFINITY, 0.0]);
        same(sigmoid(x()), [f32::NAN, 1.0, 0.0, 0.5]);
        same(tanh(x()), [f32::NAN, 1.0, -1.0, 0.0]);
    }

    #[test]
    fn bits_are_those_of_onnx_runtime() {
        let x = || float::<1>([-17.9f32, -4.5, -0.3, 1e-3, 2.2, 7.0]);
        same(
            sigmoid(x()),
            [
                2.980_232_2e-8f32,
                1.098_695_4e-2,
                4.255_575e-1,
                5.002_5e-1,
                9.002_496e-1,
                9.990_889_4e-1,
            ],
        );
        same(
            tanh(x()),
            [
                -1.0e0f32,
                -9.997_532e-1,
                -2.913_126e-1,
                9.999_996e-4,
                9.757_432_3e-1,
                9.999_983_3e-1,
            ],
        );
    }

    #[test]
    fn values_are_near_the_exact_ones() {
        let x = noise::<2>([40, 50], 1).mul_scalar(6.0);
        let exact = |f: fn(f64) -> f64| {
            let data = x.to_data();
            let values: Vec<f32> = data.iter::<f64>().map(|x| f(x) as f32).collect();
            TensorData::new(values, [40, 50])
        };
        let logistic = exact(|x| 1.0 / (1.0 + (-x).exp()));
        let hyperbolic = exact(f64::tanh);
        near(sigmoid(x.clone()), logistic, 1e-6);
        near(tanh(x), hyperbolic, 1e-6);
    }

    #[test]
    fn views_and_shared_tensors_stay_as_they_are() {
        let x = float::<2>([[1f32, -1.0], [2.0, -2.0]]);
        let turned = sigmoid(x.clone().transpose());
        near(
            turned,
            [[0.731_058_6f32, 0.880_797_1], [0.268_941_4, 0.119_202_92]],
            1e-6,
        );
        same(x, [[1f32, -1.0], [2.0, -2.0]]);
    }

    #[test]
    fn other_dtypes_are_kept() {
        let half = f16::from_f32(1.5);
        same(tanh(float::<1>([half])), [f16::from_f32(0.905_148_3)]);
        near(
            sigmoid(float::<1>([1.5f64])),
            [0.817_574_476_193_643_6f64],
            1e-15,
        );
    }
}
