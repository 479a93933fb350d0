//! Normalization by mean, variance, norm or adjacent elements.
//!
//! Statistics of f16 and bf16 inputs are computed in f32.

use burn::tensor::{Tensor, module};

mod batch;
pub mod embed;
mod group;
mod layer;
mod lrn;
mod skip;
mod skip_group;
pub mod softmax;
mod vector;

pub use batch::{
    BatchNormTrained, batch_norm, batch_norm_elements, batch_norm_factors, batch_norm_train, scale_channels,
};
pub use group::{group_norm, group_norm_by_group, instance_norm};
pub use layer::{LayerNormed, layer_norm, layer_norm_with_statistics, rms_norm, rms_norm_with_statistics};
pub use lrn::{Lrn, lrn};
pub use skip::{skip_layer_norm, skip_rms_norm};
pub use skip_group::{ImageGroups, image_group_norm, skip_image_group_norm};
pub use vector::{lp_normalize, mean_variance_normalize};

/// Returns each row minus its mean, divided by its standard deviation.
fn standardized(rows: Tensor<2>, epsilon: f32) -> Tensor<2> {
    let ones = Tensor::ones([rows.dims()[1]], (&rows.device(), rows.dtype()));
    module::layer_norm(rows, ones, None, f64::from(epsilon))
}
