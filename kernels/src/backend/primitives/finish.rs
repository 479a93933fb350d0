//! Epilogues by primitives: residual addends and activations, one after the other.

use burn::backend::{Backend, TensorMetadata, get_or_init_device_settings, tensor::FloatTensor};

use super::super::Given;
use crate::spec::epilogue::Activation;

const SQRT_2_OVER_PI: f64 = core::f64::consts::FRAC_2_SQRT_PI * core::f64::consts::FRAC_1_SQRT_2;

pub fn finish<B: Backend>(x: FloatTensor<B>, sum: Given<B>, activation: Activation) -> FloatTensor<B> {
    let x = match sum.float() {
        Some(sum) => B::float_add(x, sum),
        None => x,
    };
    activated::<B>(x, activation)
}

fn activated<B: Backend>(x: FloatTensor<B>, activation: Activation) -> FloatTensor<B> {
    match activation {
        Activation::Identity => x,
        Activation::Relu => B::relu(x),
        Activation::Clip(low, high) => B::float_clamp(x, low.into(), high.into()),
        Activation::LeakyRelu(alpha) => B::leaky_relu(x, alpha.into()),
        Activation::ThresholdedRelu(alpha) => {
            let dtype = get_or_init_device_settings::<B>(&x.device()).bool_dtype;
            let above = B::float_greater_elem(x.clone(), alpha.into(), dtype);
            B::float_mask_fill(x, B::bool_not(above), 0.0.into())
        }
        Activation::HardSigmoid(alpha, beta) => B::hard_sigmoid(x, alpha.into(), beta.into()),
        Activation::HardSwish => {
            let share = B::hard_sigmoid(x.clone(), (1.0 / 6.0).into(), 0.5.into());
            B::float_mul(x, share)
        }
        Activation::Sigmoid => B::sigmoid(x),
        Activation::Tanh => B::float_tanh(x),
        Activation::Silu => B::float_mul(x.clone(), B::sigmoid(x)),
        Activation::Swish(alpha) => {
            let share = B::sigmoid(B::float_mul_scalar(x.clone(), alpha.into()));
            B::float_mul(x, share)
        }
        Activation::Gelu => B::gelu(x),
        Activation::GeluTanh => {
            let cube = B::float_mul(B::float_mul(x.clone(), x.clone()), x.clone());
            let inner = B::float_add(x.clone(), B::float_mul_scalar(cube, 0.044715.into()));
            // Half of the sum of 1 and a hyperbolic tangent. The sum would lose the digits of negative inputs.
            let share = B::sigmoid(B::float_mul_scalar(inner, (2.0 * SQRT_2_OVER_PI).into()));
            B::float_mul(x, share)
        }
        Activation::Softplus => softplus::<B>(x),
        Activation::Softsign => {
            let size = B::float_add_scalar(B::float_abs(x.clone()), 1.0.into());
            B::float_div(x, size)
        }
        Activation::Mish => B::float_mul(x.clone(), B::float_tanh(softplus::<B>(x))),
        Activation::Elu(alpha) => {
            // 0 keeps its sign, which adding both sides would lose.
            let dtype = get_or_init_device_settings::<B>(&x.device()).bool_dtype;
            let negative = B::float_lower_elem(x.clone(), 0.0.into(), dtype);
            let below = exponential::<B>(B::float_clamp_max(x.clone(), 0.0.into()), alpha);
            B::float_mask_where(x, negative, below)
        }
        Activation::Celu(alpha) => {
            let scaled = B::float_div_scalar(x.clone(), alpha.into());
            let below = B::float_clamp_max(exponential::<B>(scaled, alpha), 0.0.into());
            B::float_add(B::relu(x), below)
        }
        Activation::Selu(alpha, gamma) => {
            // 0 loses its sign here.
            let below = exponential::<B>(B::float_clamp_max(x.clone(), 0.0.into()), alpha);
            B::float_mul_scalar(B::float_add(B::relu(x), below), gamma.into())
        }
    }
}

/// Returns `ln(1 + exp(x))` without overflow of large inputs or lost digits of small ones.
fn softplus<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    let tail = B::float_exp(B::float_neg(B::float_abs(x.clone())));
    B::float_add(B::relu(x), B::float_log1p(tail))
}

/// Returns `alpha * (exp(x) - 1)`.
fn exponential<B: Backend>(x: FloatTensor<B>, alpha: f64) -> FloatTensor<B> {
    let less = B::float_sub_scalar(B::float_exp(x), 1.0.into());
    B::float_mul_scalar(less, alpha.into())
}
