//! Operands of support vector machines.

use super::burn;
use burn::backend::{
    Backend, Dispatch, ExtensionType,
    tensor::{FloatTensor, IntTensor},
};

use super::{Any, Operand, Routed};

/// Rows of features, and the parameters in `classical::svm::Tables`.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Machine<B: Backend> {
    #[extension_type]
    pub rows: Any<B>,
    pub vectors: FloatTensor<B>,
    pub coefficients: FloatTensor<B>,
    pub starts: IntTensor<B>,
}

impl Operand for Machine<Dispatch> {
    type Primitive = Self;

    fn into_primitive(self) -> Self {
        self
    }
}

impl Routed for Machine<Dispatch> {
    fn kernels(&self) -> u128 {
        let tables = [&self.vectors, &self.coefficients, &self.starts];
        self.rows.kernels() & tables.kernels()
    }
}
