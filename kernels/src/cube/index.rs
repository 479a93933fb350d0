//! Indices and order.

pub mod compact;
pub mod groups;
pub mod indices;
mod keys;
pub mod top_k;
