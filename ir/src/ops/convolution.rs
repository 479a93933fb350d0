//! Convolutions and their inverses.

pub mod causal_conv;
pub mod col2im;
pub mod conv;
pub mod conv_transpose;
pub mod deform_conv;
pub mod window;

super::families![causal_conv, col2im, conv, conv_transpose, deform_conv];
