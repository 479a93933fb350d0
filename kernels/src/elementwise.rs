//! Elementwise functions.

pub mod activation;
pub mod arithmetic;
pub mod bit_cast;
pub mod cast;
pub mod elementary;
pub mod extreme;
mod power;
pub mod wrapping;
