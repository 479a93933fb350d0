//! Elementwise functions.
//!
//! Exponential and error function are the polynomials of ONNX Runtime with the same roundings. Sigmoid, Tanh, both Gelus and
//! Softplus are within 4 units in the last place of the exact result for every float, logarithms, sine, cosine and tangent within
//! 0.51.

#[cfg(test)]
mod accuracy;
mod activate;
mod gaussian;
mod in_double;
pub mod logarithm;
mod logistic;
mod power;
pub mod trigonometric;

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    rows::in_place,
    simd::{MulAdd, compiled_per_set},
};
use crate::backend::primitives;
pub use activate::{activate, finish};
pub use power::{TWO_TO_MINUS_64, exp_below, exp_times};
use power::{erf_at, exp_at};

pub fn exp(x: FlexTensor) -> FlexTensor {
    each(x, powers, primitives::exp::<Flex>)
}

pub fn erf(x: FlexTensor) -> FlexTensor {
    each(x, errors, primitives::erf::<Flex>)
}

fn each(x: FlexTensor, run: fn(&mut [f32]), other: fn(FlexTensor) -> FlexTensor) -> FlexTensor {
    if x.dtype() == DType::F64 {
        return other(x);
    }
    in_place(x, 1, |_, part| run(part))
}

/// Returns the greater number; NaN stays NaN.
#[inline(always)]
fn at_least(x: f32, low: f32) -> f32 {
    if x < low { low } else { x }
}

/// Returns the lesser number; NaN stays NaN.
#[inline(always)]
fn at_most(x: f32, high: f32) -> f32 {
    if x > high { high } else { x }
}

#[inline(always)]
fn exp_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        *x = exp_at::<S>(*x);
    }
}

#[inline(always)]
fn erf_of<S: MulAdd>(elements: &mut [f32]) {
    for x in elements {
        *x = erf_at::<S>(*x);
    }
}

compiled_per_set! {
    fn powers(elements: &mut [f32]) = exp_of;
    fn errors(elements: &mut [f32]) = erf_of;
}
