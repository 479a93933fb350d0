//! What a recurrent operator reads.

use super::burn;
use burn::backend::{Backend, Dispatch, ExtensionType, tensor::FloatTensor};

use super::{Optional, Routed};

/// Weights of all directions, and the scale and zero point of such as are quantized.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Matrices<B: Backend> {
    #[extension_type]
    pub weight: Optional<B>,
    #[extension_type]
    pub scale: Optional<B>,
    #[extension_type]
    pub zero: Optional<B>,
}

/// The tensors of a recurrent operator.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Recurrence<B: Backend> {
    pub x: FloatTensor<B>,
    #[extension_type]
    pub input: Matrices<B>,
    #[extension_type]
    pub recurrent: Matrices<B>,
    #[extension_type]
    pub bias: Optional<B>,
    #[extension_type]
    pub peepholes: Optional<B>,
    #[extension_type]
    pub lengths: Optional<B>,
    #[extension_type]
    pub hidden: Optional<B>,
    #[extension_type]
    pub cell: Optional<B>,
}

impl Routed for Recurrence<Dispatch> {
    fn has_body(&self, method: &str) -> bool {
        let optional = [
            &self.bias,
            &self.peepholes,
            &self.lengths,
            &self.hidden,
            &self.cell,
        ];
        let matrices = [&self.input, &self.recurrent];
        let matrices = matrices
            .into_iter()
            .flat_map(|matrices| [&matrices.weight, &matrices.scale, &matrices.zero]);
        let mut optional = optional.into_iter().chain(matrices);
        self.x.has_body(method) && optional.all(|tensor| tensor.has_body(method))
    }
}
