//! Convolutions, and the windows that they share with pools.

pub mod causal_conv;
pub mod col2im;
pub mod conv;
pub mod conv_transpose;
pub mod deform_conv;

pub use crate::spec::window;
