//! The fast Fourier transform by passes over the tensor.
//!
//! For lengths whose prime factors are 2, 3 and 5; [`chirp`] reduces other lengths to these.

use alloc::{vec, vec::Vec};
use core::f64::consts::TAU;

use burn::tensor::{Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::chirp;
use crate::shape::WithShape;

/// Complex numbers as two tensors.
#[derive(Clone)]
pub struct Complex<const D: usize> {
    pub real: Tensor<D>,
    pub imaginary: Tensor<D>,
}

/// Transforms each row; the inverse is not divided by the length.
#[inline(never)]
pub fn transform(x: Complex<2>, inverse: bool) -> Complex<2> {
    match radices(x.real.dims()[1]) {
        Some(radices) => by_radices(x, &radices, inverse),
        None => chirp::transform(x, inverse),
    }
}

/// Returns the radix of each pass, `None` if there are no passes for this length.
pub fn radices(length: usize) -> Option<Vec<usize>> {
    let (mut rest, mut radices) = (length, Vec::new());
    while rest > 0 && rest.is_multiple_of(4) {
        rest /= 4;
        radices.push(4);
    }
    if rest > 0 && rest.is_multiple_of(2) {
        rest /= 2;
        radices.insert(0, 2);
    }
    for radix in [3, 5] {
        while rest > 0 && rest.is_multiple_of(radix) {
            rest /= radix;
            radices.push(radix);
        }
    }
    (rest == 1).then_some(radices)
}

/// [`transform`] of rows whose length has these radices.
pub fn by_radices(mut x: Complex<2>, radices: &[usize], inverse: bool) -> Complex<2> {
    let sign = if inverse { 1.0 } else { -1.0 };
    let [rows, length] = x.real.dims();
    if rows == 0 {
        return x;
    }
    let mut done = 1;
    for &radix in radices {
        let left = length / done / radix;
        let parts = (0..radix).map(|part| {
            let of = |x: &Tensor<2>| {
                let x = x.clone().with_shape([rows, done, radix, left]);
                x.narrow(2, part, 1).with_shape([rows, done, left])
            };
            Complex { real: of(&x.real), imaginary: of(&x.imaginary) }
        });
        let mut sums = butterfly(&parts.collect::<Vec<_>>(), sign);
        if left > 1 {
            for (at, sum) in sums.iter_mut().enumerate().skip(1) {
                *sum = sum.times(&twiddles(&x.real, at * done, left, sign));
            }
        }
        let (reals, imaginaries) = sums.into_iter().map(|sum| (sum.real, sum.imaginary)).unzip();
        x = Complex {
            real: Tensor::stack::<4>(reals, 1).with_shape([rows, length]),
            imaginary: Tensor::stack::<4>(imaginaries, 1).with_shape([rows, length]),
        };
        done *= radix;
    }
    x
}

/// Returns the rotations by multiples 0 to `count` of `step` parts of the circle, which has as many parts as
/// a row of `like` has numbers.
fn twiddles(like: &Tensor<2>, step: usize, count: usize, sign: f64) -> Complex<3> {
    let length = like.dims()[1];
    let angle = |at: usize| sign * TAU * ((at * step) % length) as f64 / length as f64;
    let tensor = |part: fn(f64) -> f64| {
        let values: Vec<f64> = (0..count).map(|at| part(angle(at))).collect();
        let data = TensorData::new(values, [1, 1, count]).convert_dtype(like.dtype());
        Tensor::from_data(data, (&like.device(), like.dtype()))
    };
    Complex { real: tensor(f64::cos), imaginary: tensor(f64::sin) }
}

/// Transforms as many numbers as there are parts, each a tensor.
fn butterfly(x: &[Complex<3>], sign: f64) -> Vec<Complex<3>> {
    let sine = |fifths: f64, of: f64| sign * (TAU * fifths / of).sin();
    match x {
        [a, b] => vec![a.plus(b), a.minus(b)],
        [a, b, c] => {
            let (sum, difference) = (b.plus(c), b.minus(c));
            let even = a.plus(&sum.scaled(-0.5));
            let odd = difference.scaled(sine(1.0, 3.0)).rotated();
            vec![a.plus(&sum), even.plus(&odd), even.minus(&odd)]
        }
        [a, b, c, d] => {
            let (even, odd) = (a.plus(c), b.plus(d));
            let (straight, rotated) = (a.minus(c), b.minus(d).rotated().scaled(sign));
            vec![even.plus(&odd), straight.plus(&rotated), even.minus(&odd), straight.minus(&rotated)]
        }
        [a, b, c, d, e] => {
            let (outer, outer_difference) = (b.plus(e), b.minus(e));
            let (inner, inner_difference) = (c.plus(d), c.minus(d));
            let [near, far] = [1.0, 2.0].map(|fifths: f64| (TAU * fifths / 5.0).cos());
            let [near_sine, far_sine] = [sine(1.0, 5.0), sine(2.0, 5.0)];
            let even =
                |outer_by: f64, inner_by: f64| a.plus(&outer.scaled(outer_by)).plus(&inner.scaled(inner_by));
            let odd = |outer_by: f64, inner_by: f64| {
                let inner = inner_difference.scaled(inner_by);
                outer_difference.scaled(outer_by).plus(&inner).rotated()
            };
            let (first, first_odd) = (even(near, far), odd(near_sine, far_sine));
            let (second, second_odd) = (even(far, near), odd(far_sine, -near_sine));
            vec![
                a.plus(&outer).plus(&inner),
                first.plus(&first_odd),
                second.plus(&second_odd),
                second.minus(&second_odd),
                first.minus(&first_odd),
            ]
        }
        _ => unreachable!("`radices` gives 2, 3, 4 and 5"),
    }
}

impl<const D: usize> Complex<D> {
    fn plus(&self, other: &Self) -> Self {
        Self {
            real: self.real.clone() + other.real.clone(),
            imaginary: self.imaginary.clone() + other.imaginary.clone(),
        }
    }

    fn minus(&self, other: &Self) -> Self {
        Self {
            real: self.real.clone() - other.real.clone(),
            imaginary: self.imaginary.clone() - other.imaginary.clone(),
        }
    }

    pub fn scaled(&self, by: f64) -> Self {
        Self { real: self.real.clone().mul_scalar(by), imaginary: self.imaginary.clone().mul_scalar(by) }
    }

    /// Multiplies by the imaginary unit.
    fn rotated(&self) -> Self {
        Self { real: -self.imaginary.clone(), imaginary: self.real.clone() }
    }

    pub fn times(&self, by: &Self) -> Self {
        let product = |a: &Tensor<D>, b: &Tensor<D>| a.clone() * b.clone();
        Self {
            real: product(&self.real, &by.real) - product(&self.imaginary, &by.imaginary),
            imaginary: product(&self.real, &by.imaginary) + product(&self.imaginary, &by.real),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{near, noise};

    #[test]
    fn lengths_of_small_factors_have_passes() {
        assert_eq!(radices(10), Some(vec![2, 5]));
        assert_eq!(radices(96), Some(vec![2, 4, 4, 3]));
        assert_eq!(radices(1), Some(vec![]));
        assert_eq!(radices(14), None);
        assert_eq!(radices(0), None);
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        for length in [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 15, 16, 26, 60] {
            for inverse in [false, true] {
                let x = noise::<2>([3, 2 * length], length as u64);
                let (real, imaginary) = (x.clone().narrow(1, 0, length), x.narrow(1, length, length));
                let (mut expected, rows) = (Vec::new(), 3);
                let parts = [real.to_data(), imaginary.to_data()];
                let [a, b] = parts.map(|data| data.iter::<f64>().collect::<Vec<_>>());
                for row in 0..rows {
                    for output in 0..length {
                        let sum = (0..length).map(|at| {
                            let angle = TAU * (at * output) as f64 / length as f64;
                            let angle = if inverse { angle } else { -angle };
                            let (a, b) = (a[row * length + at], b[row * length + at]);
                            a * angle.cos() - b * angle.sin()
                        });
                        expected.push(sum.sum::<f64>() as f32);
                    }
                }
                let y = transform(Complex { real, imaginary }, inverse);
                near(y.real, TensorData::new(expected, [rows, length]), 1e-5);
            }
        }
    }
}
