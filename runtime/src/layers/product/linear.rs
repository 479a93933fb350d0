//! Matrix product with a weight, and its bias.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::matmul;

use crate::weights::Weights;

/// `x * weight + bias` over the last axis of `x`.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[inputs, outputs]`.
    pub weight: Param<Tensor<2>>,
    pub bias: Option<Param<Tensor<1>>>,
}

impl Linear {
    /// With a weight stored as `[inputs, outputs]`.
    pub fn load(weights: &Weights<'_>, weight: &str, bias: Option<&str>) -> Self {
        let bias = bias.map(|name| weights.tensor(name));
        Self::new(weights.tensor(weight), bias)
    }

    /// With a weight stored as `[outputs, inputs]`.
    pub fn load_transposed(weights: &Weights<'_>, weight: &str, bias: Option<&str>) -> Self {
        let bias = bias.map(|name| weights.tensor(name));
        let weight = weights.tensor::<2>(weight).transpose();
        Self::new(matmul::laid_out(weight), bias)
    }

    /// With a weight `[inputs, outputs]`.
    pub fn new(weight: Tensor<2>, bias: Option<Tensor<1>>) -> Self {
        Self {
            weight: Param::from_tensor(weight),
            bias: bias.map(Param::from_tensor),
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        matmul::linear(x, self.weight.val(), bias)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn an_empty_batch_stays_empty() {
        let device = Device::flex();
        let layer = Linear::new(Tensor::ones([2, 3], &device), None);
        let x = Tensor::<3>::zeros([0, 4, 2], &device);
        assert_eq!(layer.forward(x).dims(), [0, 4, 3]);
    }
}
