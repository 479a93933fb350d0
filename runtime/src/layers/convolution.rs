//! Convolutions and transposed convolutions with their weights.

pub mod conv;
pub mod conv_transpose;
