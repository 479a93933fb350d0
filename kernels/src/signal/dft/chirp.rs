//! Transforms of lengths with large prime factors, by Bluestein's algorithm.
//!
//! As `2jk = j² + k² - (k - j)²`, a transform of any length is a product with a chirp, a convolution with its conjugate, and
//! another product. The convolution is computed by transforms whose length is a power of two.

use alloc::{vec, vec::Vec};
use core::f64::consts::PI;

use burn::tensor::{Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::passes::{Complex, by_radices, radices};

/// Transforms each row; the inverse is not divided by the length.
pub fn transform(x: Complex<2>, inverse: bool) -> Complex<2> {
    let [_, length] = x.real.dims();
    let padded = (2 * length - 1).next_power_of_two();
    let passes = radices(padded).unwrap_or_default();
    let sign = if inverse { 1.0 } else { -1.0 };
    let angle = |at: usize| {
        // The square is reduced by full turns while it is an integer.
        let square = (at as u128 * at as u128) % (2 * length as u128);
        sign * PI * square as f64 / length as f64
    };
    let chirp = row(&x.real, (0..length).map(angle));
    let mirrored = (0..padded).map(|at| match at {
        _ if at < length => Some(-angle(at)),
        _ if padded - at < length => Some(-angle(padded - at)),
        _ => None,
    });
    let filter = sparse_row(&x.real, mirrored);
    let filter = by_radices(filter, &passes, false);
    let x = pad(x.times(&chirp), padded);
    let y = by_radices(x, &passes, false).times(&filter);
    let y = by_radices(y, &passes, true).scaled(1.0 / padded as f64);
    let cut = |part: Tensor<2>| part.narrow(1, 0, length);
    Complex { real: cut(y.real), imaginary: cut(y.imaginary) }.times(&chirp)
}

fn pad(x: Complex<2>, length: usize) -> Complex<2> {
    let part = |part: Tensor<2>| {
        let [rows, size] = part.dims();
        let zeros = Tensor::zeros([rows, length - size], (&part.device(), part.dtype()));
        Tensor::cat(vec![part, zeros], 1)
    };
    Complex { real: part(x.real), imaginary: part(x.imaginary) }
}

/// Returns a row of complex numbers of magnitude 1 at these angles, of the dtype of `like`.
fn row(like: &Tensor<2>, angles: impl Iterator<Item = f64>) -> Complex<2> {
    sparse_row(like, angles.map(Some))
}

/// [`row`], with zeros for `None`.
fn sparse_row(like: &Tensor<2>, angles: impl Iterator<Item = Option<f64>>) -> Complex<2> {
    let angles: Vec<Option<f64>> = angles.collect();
    let tensor = |part: fn(f64) -> f64| {
        let values = angles.iter().map(|angle| angle.map_or(0.0, part));
        let data = TensorData::new(values.collect::<Vec<f64>>(), [1, angles.len()]);
        let dtype = like.dtype();
        Tensor::from_data(data.convert_dtype(dtype), (&like.device(), dtype))
    };
    Complex { real: tensor(f64::cos), imaginary: tensor(f64::sin) }
}
