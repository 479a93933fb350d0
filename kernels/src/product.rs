//! Matrix products, determinants and inverses.

pub mod determinant;
pub mod einsum;
pub mod epilogue;
mod factors;
pub mod inverse;
pub mod matmul;
pub mod moe;
