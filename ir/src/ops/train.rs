//! Training: losses, gradients, optimizers and dropout.

pub mod dropout;
pub mod gradient;
pub mod loss;
pub mod optimizer;

super::families![dropout, gradient, loss, optimizer];
