//! Attention and its kin, over heads of features.

pub mod dot_product;
mod flexible;
pub mod heads;
pub mod joined;
mod linear;
pub mod rotary;

use super::{PREVIEW, Row, row};

pub const ROWS: &[Row] = &[
    row("Attention", &[23, 24, 25], dot_product::read),
    row("FlexAttention", &[1], flexible::read).of(PREVIEW),
    row("LinearAttention", &[27], linear::read),
    row("RotaryEmbedding", &[23], rotary::read),
];
