//! Products of matrices, and what else belongs to matrices.

pub mod determinant;
pub mod epilogue;
mod factors;
pub mod inverse;
pub mod matmul;
