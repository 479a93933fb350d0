//! Normalizations with their weights.

pub mod batch;
pub mod group;
pub mod layer;
