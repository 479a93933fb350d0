//! Sequences of tensors.

mod split;

pub use split::{chunks, parts, unbind};
