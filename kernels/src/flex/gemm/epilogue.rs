//! Epilogues of products.

use crate::spec::epilogue::Activation;

/// Epilogue of a product: bias, residual input, activation.
#[derive(Clone, Copy)]
pub struct ProductEpilogue<'a> {
    /// An element for each column.
    pub bias: Option<&'a [f32]>,
    /// Residual input, in the layout of the product.
    pub addend: Option<&'a [f32]>,
    pub activation: Activation,
}

impl ProductEpilogue<'_> {
    pub const NONE: Self = Self { bias: None, addend: None, activation: Activation::Identity };
}
