//! Batch normalization with its weights.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use onnx_embed_kernels::normalize::batch_norm;

use crate::weights::Weights;

/// Batch normalization with the statistics of training.
#[derive(Module, Debug)]
pub struct BatchNorm {
    pub scale: Param<Tensor<1>>,
    pub bias: Param<Tensor<1>>,
    pub mean: Param<Tensor<1>>,
    pub variance: Param<Tensor<1>>,
    epsilon: f64,
}

impl BatchNorm {
    /// Loads the weights `scale`, `bias`, `mean` and `variance`.
    pub fn load(weights: &Weights<'_>, [scale, bias, mean, variance]: [&str; 4], epsilon: f32) -> Self {
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
