//! Tensors that are concatenated.

use super::burn;
use alloc::vec::Vec;
use burn::backend::{Backend, Dispatch, ExtensionType};
use burn::tensor::{Tensor, kind::Basic};

use super::{Given, Operand, Routed};

/// Tensors of one kind and dtype; those after the last are `Given::Missing`.
#[derive(ExtensionType)]
#[extension_type(fusion: cfg(feature = "cube"))]
pub struct Parts<B: Backend> {
    #[extension_type]
    pub first: Given<B>,
    #[extension_type]
    pub second: Given<B>,
    #[extension_type]
    pub third: Given<B>,
    #[extension_type]
    pub fourth: Given<B>,
    #[extension_type]
    pub fifth: Given<B>,
    #[extension_type]
    pub sixth: Given<B>,
}

impl<B: Backend> Parts<B> {
    /// Maximum number of tensors. With the result and the sizes, a kernel uses as many buffers as every device supports.
    pub const MAX_TENSORS: usize = 6;

    #[cfg(feature = "cube")]
    pub fn all(self) -> [Given<B>; 6] {
        let Self { first, second, third, fourth, fifth, sixth } = self;
        [first, second, third, fourth, fifth, sixth]
    }
}

#[cfg(feature = "cube")]
impl PartsMetadata {
    pub fn all(&self) -> [&super::GivenMetadata; 6] {
        [&self.first, &self.second, &self.third, &self.fourth, &self.fifth, &self.sixth]
    }
}

impl<const D: usize, K: Basic> Operand for Vec<Tensor<D, K>> {
    type Primitive = Parts<Dispatch>;

    fn into_primitive(self) -> Parts<Dispatch> {
        let mut parts = self.into_iter();
        let mut next = || parts.next().into_primitive();
        Parts { first: next(), second: next(), third: next(), fourth: next(), fifth: next(), sixth: next() }
    }
}

impl Routed for Parts<Dispatch> {
    fn kernels(&self) -> u128 {
        let all = [&self.first, &self.second, &self.third, &self.fourth, &self.fifth, &self.sixth];
        all.kernels()
    }
}
