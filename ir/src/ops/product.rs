//! Matrix products, determinants and inverses.

pub mod determinant;
pub mod einsum;
pub mod matmul;
pub mod matmul_bnb4;
pub mod matmul_nbits;
pub mod moe;

super::families![determinant, einsum, matmul, matmul_bnb4, matmul_nbits, moe];
