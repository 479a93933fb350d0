//! Weights of products of integers.

use burn::module::Module;
use burn::tensor::{Int, Tensor};
use onnx_embed_kernels::epilogue::Packed;
use onnx_embed_kernels::quantize::Weight;

/// Integers that stand for a weight, and what the device makes of them.
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

    /// The weight of a convolution, in the order in which the device reads it.
    pub fn filters(values: Tensor<D, Int>) -> Self {
        Self::new(Weight::filters(values))
    }

    /// For one product.
    pub fn weight(&self) -> Weight<D> {
        Weight::packed(self.values.clone(), self.packed.clone())
    }
}

impl QuantizedWeight<2> {
    /// The right side of products, which have it in this order of its axes, and packed.
    pub fn matrix(values: Tensor<2, Int>) -> Self {
        let layer = Self::new(values);
        layer.weight().pack_matrix();
        layer
    }
}
