//! Operators on single elements or pairs of them.

pub mod activation;
pub mod arithmetic;
pub mod bias_gelu;
pub mod bit_cast;
pub mod cast;
pub mod clip;
pub mod power;
pub mod swiglu;
pub mod unary;

super::families![arithmetic, bias_gelu, bit_cast, cast, clip, power, swiglu, unary];
