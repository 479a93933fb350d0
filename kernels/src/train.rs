//! Losses and steps of training.

pub mod loss;
pub mod optimizer;
