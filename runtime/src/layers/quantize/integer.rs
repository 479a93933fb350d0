//! Integer weights of matrix products and convolutions.

use burn::module::Module;
use burn::tensor::{Int, Tensor};
use onnx_embed_kernels::epilogue::Packed;
use onnx_embed_kernels::quantize::Weight;

/// An integer weight, and the packed form that the device creates.
#[derive(Module, Debug)]
pub struct QuantizedWeight<const D: usize> {
    pub values: Tensor<D, Int>,
    #[module(skip)]
    packed: Packed,
}

impl<const D: usize> QuantizedWeight<D> {
    pub fn new(values: Tensor<D, Int>) -> Self {
        Self { values, packed: Packed::default() }
    }

    /// Creates the weight of a convolution, in the layout that the device reads.
    pub fn filters(values: Tensor<D, Int>) -> Self {
        Self::new(Weight::filters(values))
    }

    /// Returns the weight as an operand.
    pub fn weight(&self) -> Weight<D> {
        Weight::packed(self.values.clone(), self.packed.clone())
    }
}

impl QuantizedWeight<2> {
    /// Creates operand B of a matrix product, with its axes in the order of the product, and packs it.
    pub fn matrix(values: Tensor<2, Int>) -> Self {
        let layer = Self::new(values);
        layer.weight().pack_matrix();
        layer
    }
}
