//! Epilogues of products.

use crate::spec::epilogue::Activation;

/// Epilogue of a product: bias, residual input, activation.
#[derive(Clone, Copy)]
pub struct End<'a> {
    /// An element for each column.
    pub bias: Option<&'a [f32]>,
    /// Residual input, in the layout of the product.
    pub sum: Option<&'a [f32]>,
    pub activation: Activation,
}

impl End<'_> {
    pub const NONE: Self = Self {
        bias: None,
        sum: None,
        activation: Activation::Identity,
    };
}
