//! What products and convolutions of bytes read.

use super::burn;
use burn::backend::{Backend, Dispatch, ExtensionType, tensor::IntTensor};

use super::{Operand, Optional, Routed};

/// Two operands, their zero points and scales, a bias of sums, and the scale and zero point of the result.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct ByteProduct<B: Backend> {
    pub left: IntTensor<B>,
    pub right: IntTensor<B>,
    #[extension_type]
    pub left_zero: Optional<B>,
    #[extension_type]
    pub right_zero: Optional<B>,
    #[extension_type]
    pub bias: Optional<B>,
    #[extension_type]
    pub left_scale: Optional<B>,
    #[extension_type]
    pub right_scale: Optional<B>,
    #[extension_type]
    pub scale: Optional<B>,
    #[extension_type]
    pub zero: Optional<B>,
}

impl Operand for ByteProduct<Dispatch> {
    type Primitive = Self;

    fn into_primitive(self) -> Self {
        self
    }
}

impl Routed for ByteProduct<Dispatch> {
    fn has_body(&self, method: &str) -> bool {
        let optional = [
            &self.left_zero,
            &self.right_zero,
            &self.bias,
            &self.left_scale,
            &self.right_scale,
            &self.scale,
            &self.zero,
        ];
        self.left.has_body(method)
            && self.right.has_body(method)
            && optional.iter().all(|tensor| tensor.has_body(method))
    }
}
