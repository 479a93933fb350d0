//! Operands of products with packed 2-, 4- or 8-bit weights.

use super::burn;
use burn::backend::{
    Backend, Dispatch, ExtensionType,
    tensor::{FloatTensor, IntTensor},
};

use super::{Given, Operand, Routed};

/// Rows, and the tensors of `quantize::bits::Coded`.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct CodedProduct<B: Backend> {
    pub rows: FloatTensor<B>,
    pub codes: IntTensor<B>,
    pub scales: FloatTensor<B>,
    pub zeros: FloatTensor<B>,
    #[extension_type]
    pub bias: Given<B>,
}

impl Operand for CodedProduct<Dispatch> {
    type Primitive = Self;

    fn into_primitive(self) -> Self {
        self
    }
}

impl Routed for CodedProduct<Dispatch> {
    fn kernels(&self) -> u128 {
        let tensors = [&self.rows, &self.codes, &self.scales, &self.zeros];
        self.bias.kernels() & tensors.kernels()
    }
}
