//! Operands of 8-bit matrix products and convolutions.

use super::burn;
use burn::backend::{Backend, Dispatch, ExtensionType, tensor::IntTensor};

use super::{Given, Operand, Routed};

/// Operands A and B, their zero points and scales, a bias of the accumulators, and the scale and zero point of the result.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct ByteProduct<B: Backend> {
    pub left: IntTensor<B>,
    pub right: IntTensor<B>,
    #[extension_type]
    pub left_zero: Given<B>,
    #[extension_type]
    pub right_zero: Given<B>,
    #[extension_type]
    pub bias: Given<B>,
    #[extension_type]
    pub left_scale: Given<B>,
    #[extension_type]
    pub right_scale: Given<B>,
    #[extension_type]
    pub scale: Given<B>,
    #[extension_type]
    pub zero: Given<B>,
}

impl Operand for ByteProduct<Dispatch> {
    type Primitive = Self;

    fn into_primitive(self) -> Self {
        self
    }
}

impl Routed for ByteProduct<Dispatch> {
    fn kernels(&self) -> u128 {
        let optional = [
            &self.left_zero,
            &self.right_zero,
            &self.bias,
            &self.left_scale,
            &self.right_scale,
            &self.scale,
            &self.zero,
        ];
        [&self.left, &self.right].kernels() & optional.kernels()
    }
}
