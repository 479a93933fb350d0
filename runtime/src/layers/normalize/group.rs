//! Instance and group normalization with their weights.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::normalize::{group_norm, instance_norm};

use crate::weights::Weights;

/// Normalization of each channel of each element of the batch.
#[derive(Module, Debug)]
pub struct InstanceNorm {
    pub scale: Param<Tensor<1>>,
    pub bias: Param<Tensor<1>>,
    epsilon: f64,
}

impl InstanceNorm {
    pub fn load(weights: &Weights<'_>, scale: &str, bias: &str, epsilon: f32) -> Self {
        Self { scale: weights.float(scale), bias: weights.float(bias), epsilon: epsilon.into() }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        instance_norm(x, self.scale.val(), self.bias.val(), self.epsilon as f32)
    }
}

/// Normalization of groups of adjacent channels of each element of the batch.
#[derive(Module, Debug)]
pub struct GroupNorm {
    pub scale: Param<Tensor<1>>,
    pub bias: Param<Tensor<1>>,
    groups: usize,
    epsilon: f64,
}

impl GroupNorm {
    pub fn load(weights: &Weights<'_>, scale: &str, bias: &str, groups: usize, epsilon: f32) -> Self {
        Self { scale: weights.float(scale), bias: weights.float(bias), groups, epsilon: epsilon.into() }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let (scale, bias) = (self.scale.val(), self.bias.val());
        group_norm(x, scale, bias, self.groups, self.epsilon as f32)
    }
}
