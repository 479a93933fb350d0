//! Tensors created from sizes and numbers.

pub mod constant;
pub mod fill;
pub mod range;

super::families![constant, fill, range];
