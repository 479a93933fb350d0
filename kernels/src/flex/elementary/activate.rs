//! Activations of elements in place.

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    at_least, at_most, exp_at,
    gaussian::{gelu_at, gelu_tanh_at},
    logistic::{sigmoid_at, softplus_at, tanh_at},
};
use crate::{
    backend::{Given, primitives},
    flex::{
        rows::in_place,
        simd::{MulAdd, compiled_per_set},
        view::Dense,
    },
    spec::epilogue::Activation,
};

/// Returns `activation(x + sum)`.
pub fn finish(x: FlexTensor, sum: Option<FlexTensor>, activation: Activation) -> FlexTensor {
    if x.dtype() == DType::F64 {
        let sum = sum.map_or(Given::Missing, Given::Float);
        return primitives::finish::<Flex>(x, sum, activation);
    }
    let (x, sum) = match sum {
        // Writes in place if no other tensor uses the memory.
        Some(sum) if sum.is_unique() && !x.is_unique() => (sum, Some(x)),
        sum => (x, sum),
    };
    let sum = sum.map(|sum| Dense::new(&sum));
    in_place(x, 1, |at, part| {
        if let Some(sum) = &sum {
            add(part, &sum.values()[at..][..part.len()]);
        }
        activate(part, activation);
    })
}

compiled_per_set! {
    pub fn activate(elements: &mut [f32], activation: Activation) = activate_of;
    fn add(elements: &mut [f32], others: &[f32]) = add_of;
}

#[inline(always)]
fn add_of<S: MulAdd>(elements: &mut [f32], others: &[f32]) {
    for (x, y) in elements.iter_mut().zip(others) {
        *x += y;
    }
}

#[inline(always)]
fn activate_of<S: MulAdd>(elements: &mut [f32], activation: Activation) {
    match activation {
        Activation::Identity => {}
        Activation::Relu => each(elements, |x| at_least(x, 0.0)),
        Activation::Clip(low, high) => {
            let (low, high) = (low as f32, high as f32);
            each(elements, |x| at_most(at_least(x, low), high));
        }
        Activation::LeakyRelu(alpha) => {
            let alpha = alpha as f32;
            each(elements, |x| if x < 0.0 { alpha * x } else { x });
        }
        Activation::ThresholdedRelu(alpha) => {
            let alpha = alpha as f32;
            each(elements, |x| if x > alpha { x } else { 0.0 });
        }
        Activation::HardSigmoid(alpha, beta) => {
            let (alpha, beta) = (alpha as f32, beta as f32);
            each(elements, |x| at_most(at_least(alpha * x + beta, 0.0), 1.0));
        }
        Activation::HardSwish => each(elements, |x| x * at_most(at_least(x * (1.0 / 6.0) + 0.5, 0.0), 1.0)),
        Activation::Sigmoid => each(elements, sigmoid_at::<S>),
        Activation::Tanh => each(elements, tanh_at::<S>),
        Activation::Silu => each(elements, |x| x * sigmoid_at::<S>(x)),
        Activation::Swish(alpha) => {
            let alpha = alpha as f32;
            each(elements, |x| x * sigmoid_at::<S>(alpha * x));
        }
        Activation::Gelu => each(elements, gelu_at::<S>),
        Activation::GeluTanh => each(elements, gelu_tanh_at::<S>),
        Activation::Softplus => each(elements, softplus_at::<S>),
        Activation::Softsign => each(elements, |x| x / (1.0 + x.abs())),
        Activation::Mish => each(elements, |x| {
            // The hyperbolic tangent of a logarithm is a fraction of powers; from 20 on it is 1.
            let power = exp_at::<S>(at_most(x, 20.0));
            let square = power * (power + 2.0);
            x * (square / (square + 2.0))
        }),
        Activation::Elu(alpha) => {
            let alpha = alpha as f32;
            each(elements, |x| {
                let below = below::<S>(x, alpha);
                // 0 keeps its sign.
                if x < 0.0 { below } else { x }
            });
        }
        Activation::Celu(alpha) => {
            let alpha = alpha as f32;
            each(elements, |x| {
                let below = alpha * (exp_at::<S>(x / alpha) - 1.0);
                at_least(x, 0.0) + at_most(below, 0.0)
            });
        }
        Activation::Selu(alpha, gamma) => {
            let (alpha, gamma) = (alpha as f32, gamma as f32);
            each(elements, |x| {
                let below = below::<S>(x, alpha);
                // 0 loses its sign.
                gamma * if x <= 0.0 { below } else { x }
            });
        }
    }
}

#[inline(always)]
fn each(elements: &mut [f32], run: impl Fn(f32) -> f32) {
    for x in elements {
        *x = run(*x);
    }
}

/// Returns `alpha * (exp(x) - 1)` for `x` up to 0.
#[inline(always)]
fn below<S: MulAdd>(x: f32, alpha: f32) -> f32 {
    alpha * (exp_at::<S>(at_most(x, 0.0)) - 1.0)
}
