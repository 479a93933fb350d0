//! Attention and its kin, over heads of features.

pub mod dot_product;
mod flexible;
pub mod heads;
pub mod joined;
mod linear;
pub mod rotary;

use super::{PREVIEW, Row, row};

pub const ROWS: &[Row] = &[
    row("Attention", &[23, 24, 25], dot_product::read).arity(7, 4).before(&[(24, 6, 4)]),
    row("FlexAttention", &[1], flexible::read).arity(3, 1).of(PREVIEW),
    row("LinearAttention", &[27], linear::read).arity(6, 2),
    row("RotaryEmbedding", &[23], rotary::read).arity(4, 1),
];
