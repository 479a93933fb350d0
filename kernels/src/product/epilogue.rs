//! Elementwise epilogue of a matrix product: residual addend, then activation.

use burn::tensor::Tensor;

use crate::{backend::call, ensure};

pub use crate::spec::{
    epilogue::{Activation, Epilogue},
    packed::Packed,
};

/// Packing of weights before their first use, on devices that pack them. It allocates no other memory from
/// then on. The returned tensors have the same values.
impl Epilogue {
    /// Packs the weight of a convolution.
    pub fn pack_filters<const D: usize>(&self, weight: Tensor<D>, groups: usize) -> Tensor<D> {
        Tensor::from_dispatch(call!(@copy filters(weight; groups, self.clone())))
    }

    /// Packs the weight of a matrix product.
    pub fn pack_matrix(&self, weight: Tensor<2>) -> Tensor<2> {
        Tensor::from_dispatch(call!(@copy factor(weight; self.clone())))
    }
}

/// Returns `activation(x + sum)`, with a sum of the shape of `x`.
#[inline(never)]
pub fn finish<const D: usize>(x: Tensor<D>, sum: Option<Tensor<D>>, activation: Activation) -> Tensor<D> {
    ensure_addable(&x.dims(), sum.as_ref());
    if sum.is_none() && activation == Activation::Identity {
        return x;
    }
    Tensor::from_dispatch(call!(finish(x, sum; activation)))
}

/// Fails if the residual addend has another shape than the product.
pub fn ensure_addable<const D: usize>(product: &[usize; D], sum: Option<&Tensor<D>>) {
    if let Some(sum) = sum {
        ensure!(
            sum.dims() == *product,
            "expected the addend {:?} to have the shape {product:?} of the product",
            sum.dims()
        );
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, near, noise, same};

    /// Returns the activation by its definition, in double precision.
    fn exact(activation: Activation, x: f64) -> f64 {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let softplus = x.exp().ln_1p();
        let below = |alpha: f64| alpha * x.exp_m1();
        match activation {
            Activation::Identity => x,
            Activation::Relu => x.max(0.0),
            Activation::Clip(low, high) => x.clamp(low, high),
            Activation::LeakyRelu(alpha) => {
                if x < 0.0 {
                    alpha * x
                } else {
                    x
                }
            }
            Activation::ThresholdedRelu(alpha) => {
                if x > alpha {
                    x
                } else {
                    0.0
                }
            }
            Activation::HardSigmoid(alpha, beta) => (alpha * x + beta).clamp(0.0, 1.0),
            Activation::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
            Activation::Sigmoid => sigmoid(x),
            Activation::Tanh => x.tanh(),
            Activation::Silu => x * sigmoid(x),
            Activation::Swish(alpha) => x * sigmoid(alpha * x),
            Activation::Gelu => {
                let erf = Tensor::<1>::from_data(
                    TensorData::from([x * std::f64::consts::FRAC_1_SQRT_2]),
                    (&Device::flex(), burn::tensor::DType::F64),
                );
                let erf: Vec<f64> = erf.erf().into_data().iter().collect();
                0.5 * x * (1.0 + erf[0])
            }
            Activation::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
                0.5 * x * (1.0 + inner.tanh())
            }
            Activation::Softplus => softplus,
            Activation::Softsign => x / (1.0 + x.abs()),
            Activation::Mish => x * softplus.tanh(),
            Activation::Elu(alpha) => {
                if x < 0.0 {
                    below(alpha)
                } else {
                    x
                }
            }
            Activation::Celu(alpha) => x.max(0.0) + (alpha * (x / alpha).exp_m1()).min(0.0),
            Activation::Selu(alpha, gamma) => gamma * if x > 0.0 { x } else { below(alpha) },
        }
    }

    #[test]
    fn activations_are_those_of_onnx() {
        let x = noise::<2>([7, 40], 1).mul_scalar(4.0);
        let sum = noise::<2>([7, 40], 2);
        for activation in Activation::examples() {
            for sum in [None, Some(sum.clone())] {
                let added = match sum.clone() {
                    Some(sum) => x.clone().add(sum),
                    None => x.clone(),
                };
                let values = added.into_data();
                let values: Vec<f32> = values.iter::<f64>().map(|x| exact(activation, x) as f32).collect();
                let y = finish(x.clone(), sum, activation);
                near(y, TensorData::new(values, [7, 40]), 2e-6);
            }
        }
    }

    #[test]
    fn nan_stays_nan_and_infinities_saturate() {
        let x = || float::<1>([f32::NAN, f32::INFINITY, -0.5]);
        same(finish(x(), None, Activation::Relu), [f32::NAN, f32::INFINITY, 0.0]);
        same(finish(x(), None, Activation::Clip(-1.0, 6.0)), [f32::NAN, 6.0, -0.5]);
        same(finish(x(), None, Activation::LeakyRelu(0.5)), [f32::NAN, f32::INFINITY, -0.25]);
        same(finish(x(), None, Activation::Celu(1e-3)).narrow(0, 0, 2), [f32::NAN, f32::INFINITY]);
    }

    #[test]
    fn a_sum_of_another_shape_fails() {
        let run = || finish(noise([2, 3], 1), Some(noise([1, 3], 2)), Activation::Identity).dims();
        let message = attempt(run).unwrap_err().to_string();
        assert!(
            message.ends_with("expected the addend [1, 3] to have the shape [2, 3] of the product"),
            "{message}"
        );
    }
}
