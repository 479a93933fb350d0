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

/// The packed form of an integer weight that another part of the model contains.
#[derive(Module, Debug, Default)]
pub struct SharedQuantizedWeight {
    #[module(skip)]
    packed: Packed,
}

impl SharedQuantizedWeight {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the weight as an operand. It is packed again if it is not the weight of the last call.
    pub fn weight<const D: usize>(&self, values: Tensor<D, Int>) -> Weight<D> {
        Weight::packed(values, self.packed.clone())
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

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};
    use onnx_embed_kernels::quantize::matmul_integer;

    use super::*;

    #[test]
    fn a_shared_weight_may_change_between_calls() {
        let device = Device::flex();
        let bytes = |values: [[i8; 2]; 2]| {
            Tensor::<2, Int>::from_data(TensorData::from(values), (&device, DType::I8))
        };
        let layer = SharedQuantizedWeight::new();
        for (weight, expected) in
            [([[1, 2], [3, 4]], [[7i32, 10], [15, 22]]), ([[0, 1], [1, 0]], [[2, 1], [4, 3]])]
        {
            let weight = bytes(weight);
            for _ in 0..2 {
                let x = bytes([[1, 2], [3, 4]]);
                let y: Tensor<2, Int> =
                    matmul_integer(x, layer.weight(weight.clone().transpose()), (None, None));
                let transposed: Tensor<2, Int> =
                    matmul_integer(bytes([[1, 2], [3, 4]]), weight.clone().transpose(), (None, None));
                assert_eq!(y.into_data(), transposed.into_data());
                let y: Tensor<2, Int> =
                    matmul_integer(bytes([[1, 2], [3, 4]]), layer.weight(weight.clone()), (None, None));
                assert_eq!(y.into_data(), TensorData::from(expected));
            }
        }
    }
}
