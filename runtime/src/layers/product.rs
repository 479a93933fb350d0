//! Matrix products with their weights.

pub mod linear;
pub mod matmul_nbits;
pub mod moe;
