//! Operands of recurrent operators.

use super::burn;
use burn::backend::{Backend, Dispatch, ExtensionType, tensor::FloatTensor};

use super::{Given, Routed};

/// Weights of all directions, and their scale and zero point if they are quantized.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Matrices<B: Backend> {
    #[extension_type]
    pub weight: Given<B>,
    #[extension_type]
    pub scale: Given<B>,
    #[extension_type]
    pub zero: Given<B>,
}

/// Tensors of a recurrent operator.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Recurrence<B: Backend> {
    pub x: FloatTensor<B>,
    #[extension_type]
    pub input: Matrices<B>,
    #[extension_type]
    pub recurrent: Matrices<B>,
    #[extension_type]
    pub bias: Given<B>,
    #[extension_type]
    pub peepholes: Given<B>,
    #[extension_type]
    pub lengths: Given<B>,
    #[extension_type]
    pub hidden: Given<B>,
    #[extension_type]
    pub cell: Given<B>,
}

impl Routed for Recurrence<Dispatch> {
    fn kernels(&self) -> u128 {
        let optional = [&self.bias, &self.peepholes, &self.lengths, &self.hidden, &self.cell];
        let matrices = [&self.input, &self.recurrent];
        let matrices =
            matrices.into_iter().flat_map(|matrices| [&matrices.weight, &matrices.scale, &matrices.zero]);
        let matrices = matrices.fold(u128::MAX, |kernels, tensor| kernels & tensor.kernels());
        self.x.kernels() & optional.kernels() & matrices
    }
}
