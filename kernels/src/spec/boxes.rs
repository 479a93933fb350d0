//! Boxes of NonMaxSuppression.

use burn::tensor::DType;

use super::types::TensorType;

/// Meaning of the four numbers of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoxForm {
    /// y and x of any two opposite corners.
    Corners,
    /// x and y of the center, width and height.
    Center,
}

/// Limits of NonMaxSuppression.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of boxes of one class in one batch.
    pub most: i64,
    /// Maximum intersection over union of two boxes of a class.
    pub overlap: f64,
    /// The score that a box must exceed.
    pub score: Option<f64>,
}

impl Limits {
    /// Returns the maximum number of boxes that are selected from `count`.
    pub fn most_of(&self, count: usize) -> usize {
        usize::try_from(self.most).unwrap_or(0).min(count)
    }
}

/// Returns the type of the selected boxes, `[batch, classes, most]`; `None` if the operands are not f32.
pub fn kept(boxes: &TensorType, scores: &TensorType, limits: &Limits) -> Option<TensorType> {
    (boxes.dtype == DType::F32 && scores.dtype == DType::F32).then(|| {
        let mut shape = scores.shape.clone();
        shape[2] = limits.most_of(shape[2]);
        TensorType::new(shape, DType::I32)
    })
}
