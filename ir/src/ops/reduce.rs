//! Reductions over axes, and running ones.

pub mod arg_max;
pub mod cumulative;
pub mod reduction;

super::families![arg_max, cumulative, reduction];
