//! Products of matrices, and what is computed from matrices.

pub mod determinant;
pub mod einsum;
pub mod matmul;
pub mod matmul_nbits;

super::families![determinant, einsum, matmul, matmul_nbits];
