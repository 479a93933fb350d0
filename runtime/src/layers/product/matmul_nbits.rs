//! Matrix product with a weight of few bits, and its bias.

use burn::module::{Module, Param};
use burn::tensor::{DType, Tensor};
use onnx_embed_kernels::quantize::{Blocks, Zeros, in_bytes, matmul_wide};

use crate::weights::Weights;

/// `x * weight + bias` over the last axis of `x`. The weight is unpacked when it is loaded.
#[derive(Module, Debug)]
pub struct MatMulNBits {
    /// `[inputs, outputs]`, in f32 whatever the type of `x`.
    pub weight: Param<Tensor<2>>,
    pub bias: Option<Param<Tensor<1>>>,
    /// As many elements of the operand at a time are rounded to 8 bits.
    block: Option<usize>,
}

impl MatMulNBits {
    /// With the weights called bytes and scales; zero points are packed like the bytes, or of the
    /// type of the scales.
    pub fn load(
        weights: &Weights<'_>,
        [bytes, scales]: [&str; 2],
        zeros: Option<&str>,
        groups: Option<&str>,
        bias: Option<&str>,
        blocks: Blocks,
    ) -> Self {
        let zeros = match zeros {
            None => Zeros::Middle,
            Some(name) if weights.dtype(name) == DType::U8 => Zeros::Packed(weights.flat_int(name)),
            Some(name) => Zeros::Plain(weights.flat(name)),
        };
        let groups = groups.map(|name| weights.int(name));
        let (bytes, scales) = (weights.flat_int(bytes), weights.flat(scales));
        Self {
            weight: Param::from_tensor(blocks.matrix(bytes, scales, zeros, groups)),
            bias: bias.map(|name| weights.float(name)),
            block: None,
        }
    }

    /// Rounds the operand to 8 bits, in blocks of `size`.
    pub fn in_bytes(self, size: usize) -> Self {
        Self {
            block: Some(size),
            ..self
        }
    }

    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        let x = match self.block {
            Some(size) => in_bytes(x, size),
            None => x,
        };
        matmul_wide(x, self.weight.val(), bias)
    }
}
