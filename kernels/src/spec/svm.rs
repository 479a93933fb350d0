//! Support vector machines.

use burn::tensor::DType;

use super::types::TensorType;

/// Kernel function of a row and a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kernel {
    #[default]
    Linear,
    Poly,
    Rbf,
    Sigmoid,
}

/// Parameters of a support vector machine on a device.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    pub kernel: Kernel,
    pub gamma: f32,
    pub coef0: f32,
    pub degree: f32,
    /// Number of sums of a row over the vectors of each class; `None` for the products themselves.
    pub sums: Option<usize>,
    pub classes: usize,
}

/// Minimum distance of the probability of one of two classes from 0 and 1.
pub const NEAREST: f64 = 1e-7;
/// Error at which the iteration for the probabilities of classes ends, times their number.
pub const TOLERANCE: f64 = 0.005;
/// Maximum number of its steps.
pub const STEPS: usize = 100;

impl Comparison {
    /// Returns the type of the products or sums of rows with vectors, `[features, count]`.
    pub fn result(&self, rows: &TensorType, vectors: &TensorType) -> TensorType {
        let width = self.sums.map_or(vectors.shape[1], |sums| sums * self.classes);
        TensorType::new([rows.shape[0], width], DType::F32)
    }
}

/// Returns the type of the probabilities of classes for each row.
pub fn coupled(rows: &TensorType, classes: usize) -> TensorType {
    TensorType::new([rows.shape[0], classes], DType::F32)
}
