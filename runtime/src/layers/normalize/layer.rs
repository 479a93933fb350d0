//! Layer and root mean square normalization with their weights.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::normalize::{layer_norm, rms_norm};

use crate::weights::Weights;

/// Normalization over all axes from `axis` on.
#[derive(Module, Debug)]
pub struct LayerNorm<const S: usize> {
    pub scale: Param<Tensor<S>>,
    pub bias: Option<Param<Tensor<S>>>,
    axis: usize,
    epsilon: f64,
}

impl<const S: usize> LayerNorm<S> {
    pub fn load(weights: &Weights<'_>, scale: &str, bias: Option<&str>, axis: usize, epsilon: f32) -> Self {
        Self {
            scale: weights.float(scale),
            bias: bias.map(|name| weights.float(name)),
            axis,
            epsilon: epsilon.into(),
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        layer_norm(x, self.scale.val(), bias, self.axis, self.epsilon as f32)
    }
}

/// Division by the root of the mean square over all axes from `axis` on.
#[derive(Module, Debug)]
pub struct RmsNorm<const S: usize> {
    pub scale: Param<Tensor<S>>,
    axis: usize,
    epsilon: f64,
}

impl<const S: usize> RmsNorm<S> {
    pub fn load(weights: &Weights<'_>, scale: &str, axis: usize, epsilon: f32) -> Self {
        Self { scale: weights.float(scale), axis, epsilon: epsilon.into() }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        rms_norm(x, self.scale.val(), self.axis, self.epsilon as f32)
    }
}
