//! Products of matrices, and what else belongs to matrices.

pub mod determinant;
pub mod inverse;
pub mod matmul;
