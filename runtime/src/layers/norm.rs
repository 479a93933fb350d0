//! Normalisation with its weights.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::normalize::{batch_norm, group_norm, instance_norm, layer_norm, rms_norm};

use crate::weights::Weights;

/// Batch normalisation by the statistics of training.
#[derive(Module, Debug)]
pub struct BatchNorm {
    pub scale: Param<Tensor<1>>,
    pub bias: Param<Tensor<1>>,
    pub mean: Param<Tensor<1>>,
    pub variance: Param<Tensor<1>>,
    epsilon: f64,
}

impl BatchNorm {
    /// With the weights called scale, bias, mean and variance.
    pub fn load(
        weights: &Weights<'_>,
        [scale, bias, mean, variance]: [&str; 4],
        epsilon: f32,
    ) -> Self {
        Self {
            scale: weights.float(scale),
            bias: weights.float(bias),
            mean: weights.statistic(mean),
            variance: weights.statistic(variance),
            epsilon: epsilon.into(),
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        batch_norm(
            x,
            self.scale.val(),
            self.bias.val(),
            self.mean.val(),
            self.variance.val(),
            self.epsilon as f32,
        )
    }
}

/// Normalisation of each element of the batch over the axes from one on.
#[derive(Module, Debug)]
pub struct LayerNorm<const S: usize> {
    pub scale: Param<Tensor<S>>,
    pub bias: Option<Param<Tensor<S>>>,
    axis: usize,
    epsilon: f64,
}

impl<const S: usize> LayerNorm<S> {
    pub fn load(
        weights: &Weights<'_>,
        scale: &str,
        bias: Option<&str>,
        axis: usize,
        epsilon: f32,
    ) -> Self {
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

/// Division by the root of the mean square over the axes from one on.
#[derive(Module, Debug)]
pub struct RmsNorm<const S: usize> {
    pub scale: Param<Tensor<S>>,
    axis: usize,
    epsilon: f64,
}

impl<const S: usize> RmsNorm<S> {
    pub fn load(weights: &Weights<'_>, scale: &str, axis: usize, epsilon: f32) -> Self {
        Self {
            scale: weights.float(scale),
            axis,
            epsilon: epsilon.into(),
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        rms_norm(x, self.scale.val(), self.axis, self.epsilon as f32)
    }
}

/// Normalisation of each channel of each element of the batch.
#[derive(Module, Debug)]
pub struct InstanceNorm {
    pub scale: Param<Tensor<1>>,
    pub bias: Param<Tensor<1>>,
    epsilon: f64,
}

impl InstanceNorm {
    pub fn load(weights: &Weights<'_>, scale: &str, bias: &str, epsilon: f32) -> Self {
        Self {
            scale: weights.float(scale),
            bias: weights.float(bias),
            epsilon: epsilon.into(),
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        instance_norm(x, self.scale.val(), self.bias.val(), self.epsilon as f32)
    }
}

/// Normalisation of groups of adjacent channels of each element of the batch.
#[derive(Module, Debug)]
pub struct GroupNorm {
    pub scale: Param<Tensor<1>>,
    pub bias: Param<Tensor<1>>,
    groups: usize,
    epsilon: f64,
}

impl GroupNorm {
    pub fn load(
        weights: &Weights<'_>,
        scale: &str,
        bias: &str,
        groups: usize,
        epsilon: f32,
    ) -> Self {
        Self {
            scale: weights.float(scale),
            bias: weights.float(bias),
            groups,
            epsilon: epsilon.into(),
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let (scale, bias) = (self.scale.val(), self.bias.val());
        group_norm(x, scale, bias, self.groups, self.epsilon as f32)
    }
}
