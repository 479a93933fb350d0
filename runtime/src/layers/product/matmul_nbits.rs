//! Matrix product with packed weights and a bias.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use onnx_embed_kernels::quantize::{
    BitData, BitMatrix, Blocks, Coded, in_bytes, matmul_bits, matmul_coded, matmul_wide,
};

use crate::weights::Weights;

/// `x * weight + bias` over the last axis of `x`.
#[derive(Module, Debug)]
pub struct MatMulNBits {
    pub weight: Matrix,
    /// Packed weights in the memory of a device that has a kernel for them.
    coded: Option<Coded>,
    pub bias: Option<Param<Tensor<1>>>,
    /// Size of the blocks in which the operand is rounded to 8 bits, if it is.
    block: Option<usize>,
}

/// A weight of shape `[inputs, outputs]`.
#[derive(Module, Debug)]
pub enum Matrix {
    /// Packed weights, if the device has a kernel for them.
    Bits(Bits),
    /// Decoded weights in f32, independent of the operand's type.
    Floats(Param<Tensor<2>>),
}

/// Packed 2-, 4- or 8-bit weights. Training does not change them.
#[derive(Module, Debug)]
pub struct Bits {
    #[module(skip)]
    matrix: BitMatrix,
}

impl MatMulNBits {
    /// Loads the weights `bytes` and `scales`. Zero points are packed like the bytes, or have the type of the scales.
    pub fn load(
        weights: &Weights<'_>,
        [bytes, scales]: [&str; 2],
        zeros: Option<&str>,
        groups: Option<&str>,
        bias: Option<&str>,
        blocks: Blocks,
    ) -> Self {
        let data = BitData {
            codes: weights.tensor_data(bytes),
            scales: weights.tensor_data(scales),
            zeros: zeros.map(|name| weights.tensor_data(name)),
            groups: groups.map(|name| weights.tensor_data(name)),
        };
        let bias = bias.map(|name| weights.float(name));
        Self::new(BitMatrix::new(blocks, data), bias, weights.device())
    }

    /// Creates a layer with a packed weight.
    pub fn new(matrix: BitMatrix, bias: Option<Param<Tensor<1>>>, device: &Device) -> Self {
        let coded = Coded::new(&matrix, device);
        let weight = if BitMatrix::is_for(device) {
            Matrix::Bits(Bits { matrix: matrix.in_halves() })
        } else if coded.is_some() {
            Matrix::Bits(Bits { matrix })
        } else {
            Matrix::Floats(Param::from_tensor(matrix.floats(device)))
        };
        Self { weight, coded, bias, block: None }
    }

    /// Creates a layer with a decoded weight, `[inputs, outputs]`.
    pub fn decoded(weight: Tensor<2>) -> Self {
        Self { weight: Matrix::Floats(Param::from_tensor(weight)), coded: None, bias: None, block: None }
    }

    /// Selects rounding of the operand to 8 bits, in blocks of `size`, the block size of the weight.
    pub fn in_bytes(self, size: usize) -> Self {
        let weight = match self.weight {
            Matrix::Bits(Bits { matrix }) => Matrix::Bits(Bits { matrix: matrix.in_bytes() }),
            floats => floats,
        };
        Self { weight, block: Some(size), ..self }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        match (&self.weight, self.block) {
            (Matrix::Bits(Bits { matrix }), _) => match &self.coded {
                Some(coded) => matmul_coded(x, matrix, coded, bias),
                None => matmul_bits(x, matrix, bias),
            },
            (Matrix::Floats(weight), None) => matmul_wide(x, weight.val(), bias),
            (Matrix::Floats(weight), Some(size)) => matmul_wide(in_bytes(x, size), weight.val(), bias),
        }
    }
}
