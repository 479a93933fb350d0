//! Types of tensors that are still to be computed.

use burn::tensor::{DType, Shape};

/// Shape and element type of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    pub shape: Shape,
    pub dtype: DType,
}

impl TensorType {
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Self {
        Self { shape: shape.into(), dtype }
    }

    /// Returns the same shape with another element type.
    pub fn with_dtype(&self, dtype: DType) -> Self {
        Self::new(self.shape.clone(), dtype)
    }
}
