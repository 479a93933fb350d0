//! Products of matrices, and what else belongs to matrices.

pub mod determinant;
pub mod epilogue;
mod factors;
pub mod inverse;
pub mod matmul;

/// The most rows of a matrix that a device eliminates: one cube has it, which goes through all of it at each step.
pub(crate) const LARGEST: usize = 512;
