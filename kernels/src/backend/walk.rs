//! Operands of walks through decision trees.

use super::burn;
use burn::backend::{
    Backend, Dispatch, ExtensionType,
    tensor::{FloatTensor, IntTensor},
};

use super::{Any, Operand, Routed};

/// Rows of features, and the parameters in `classical::trees::Tables`.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Walk<B: Backend> {
    #[extension_type]
    pub rows: Any<B>,
    pub nodes: IntTensor<B>,
    pub values: FloatTensor<B>,
    pub roots: IntTensor<B>,
    pub starts: IntTensor<B>,
    pub targets: IntTensor<B>,
    pub weights: FloatTensor<B>,
}

impl Operand for Walk<Dispatch> {
    type Primitive = Self;

    fn into_primitive(self) -> Self {
        self
    }
}

impl Routed for Walk<Dispatch> {
    fn kernels(&self) -> u128 {
        let tables = [&self.nodes, &self.values, &self.roots, &self.starts, &self.targets, &self.weights];
        self.rows.kernels() & tables.kernels()
    }
}
