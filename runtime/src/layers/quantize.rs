//! Quantized weights.

pub mod integer;
