//! Reductions over axes, and cumulative sums and products.

pub mod arg_max;
pub mod cumulative;
pub mod reduction;

super::families![arg_max, cumulative, reduction];
