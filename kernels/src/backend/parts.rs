//! Tensors that are joined.

use super::burn;
use alloc::vec::Vec;
use burn::backend::{Backend, Dispatch, ExtensionType};
use burn::tensor::{Tensor, kind::Basic};

use super::{Operand, Optional, Routed};

/// Some tensors of one kind and dtype, and none behind them.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Parts<B: Backend> {
    #[extension_type]
    pub first: Optional<B>,
    #[extension_type]
    pub second: Optional<B>,
    #[extension_type]
    pub third: Optional<B>,
    #[extension_type]
    pub fourth: Optional<B>,
    #[extension_type]
    pub fifth: Optional<B>,
    #[extension_type]
    pub sixth: Optional<B>,
}

impl<B: Backend> Parts<B> {
    /// With the result, and the sizes, as many buffers as every device lets a kernel have.
    pub const MOST: usize = 6;

    #[cfg(feature = "cube")]
    pub fn all(self) -> [Optional<B>; 6] {
        let Self {
            first,
            second,
            third,
            fourth,
            fifth,
            sixth,
        } = self;
        [first, second, third, fourth, fifth, sixth]
    }
}

#[cfg(feature = "cube")]
impl PartsMetadata {
    pub fn all(&self) -> [&super::OptionalMetadata; 6] {
        [
            &self.first,
            &self.second,
            &self.third,
            &self.fourth,
            &self.fifth,
            &self.sixth,
        ]
    }
}

impl<const D: usize, K: Basic> Operand for Vec<Tensor<D, K>> {
    type Primitive = Parts<Dispatch>;

    fn into_primitive(self) -> Parts<Dispatch> {
        let mut parts = self.into_iter();
        let mut next = || parts.next().into_primitive();
        Parts {
            first: next(),
            second: next(),
            third: next(),
            fourth: next(),
            fifth: next(),
            sixth: next(),
        }
    }
}

impl Routed for Parts<Dispatch> {
    fn has_body(&self, method: &str) -> bool {
        let all = [
            &self.first,
            &self.second,
            &self.third,
            &self.fourth,
            &self.fifth,
            &self.sixth,
        ];
        all.iter().all(|part| part.has_body(method))
    }
}
