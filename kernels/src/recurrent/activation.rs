//! Activation functions of recurrent cells.

use burn::tensor::{Tensor, activation};

use super::Activation;
use crate::elementwise::elementary::{exp, log1p, sigmoid, tanh};

impl Activation {
    pub(super) fn apply<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Affine { alpha, beta } => x.mul_scalar(alpha).add_scalar(beta),
            Self::Elu { alpha } => activation::elu(x, f64::from(alpha)),
            Self::HardSigmoid { alpha, beta } => x.mul_scalar(alpha).add_scalar(beta).clamp(0.0, 1.0),
            Self::LeakyRelu { alpha } => activation::leaky_relu(x, f64::from(alpha)),
            Self::Relu => activation::relu(x),
            Self::ScaledTanh { alpha, beta } => tanh(x.mul_scalar(beta)).mul_scalar(alpha),
            Self::Sigmoid => sigmoid(x),
            // The exponent is at most 0, so nothing overflows.
            Self::Softplus => {
                let tail = log1p(exp(x.clone().abs().neg()));
                activation::relu(x) + tail
            }
            Self::Softsign => x.clone() / x.abs().add_scalar(1.0),
            Self::Tanh => tanh(x),
            Self::ThresholdedRelu { alpha } => {
                let below = x.clone().lower_scalar(alpha);
                x.mask_fill(below, 0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near};

    #[test]
    fn every_function_equals_its_formula() {
        let alpha = 0.5;
        let beta = 0.25;
        type Formula = (Activation, fn(f64) -> f64);
        let formulas: [Formula; 11] = [
            (Activation::Affine { alpha, beta }, |x| 0.5 * x + 0.25),
            (Activation::Elu { alpha }, |x| if x >= 0.0 { x } else { 0.5 * (x.exp() - 1.0) }),
            (Activation::HardSigmoid { alpha, beta }, |x| (0.5 * x + 0.25).clamp(0.0, 1.0)),
            (Activation::LeakyRelu { alpha }, |x| if x >= 0.0 { x } else { 0.5 * x }),
            (Activation::Relu, |x| x.max(0.0)),
            (Activation::ScaledTanh { alpha, beta }, |x| 0.5 * (0.25 * x).tanh()),
            (Activation::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
            (Activation::Softplus, |x| (1.0 + x.exp()).ln()),
            (Activation::Softsign, |x| x / (1.0 + x.abs())),
            (Activation::Tanh, f64::tanh),
            (Activation::ThresholdedRelu { alpha }, |x| if x >= 0.5 { x } else { 0.0 }),
        ];
        let points = [-30.0, -2.0, -0.5, 0.0, 0.25, 0.5, 3.0, 30.0];
        for (function, formula) in formulas {
            let x = float::<1>(points.map(|x| x as f32));
            near(function.apply(x), points.map(|x| formula(x) as f32), 1e-6);
        }
    }
}
