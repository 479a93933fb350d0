//! Products with the packed weights of experts.

use alloc::vec::Vec;

use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData};
use onnx_embed_kernels::moe::{Experts, Layer, moe_by};
use onnx_embed_kernels::quantize::{BitData, BitMatrix, Blocks};
use onnx_embed_kernels::reader::{Blocking, Reader, Waiting, now};

use super::matmul_nbits::MatMulNBits;
use crate::weights::Weights;

/// Sum of the results of those experts that a router selects for each row.
#[derive(Module, Debug)]
pub struct QMoE {
    first: Vec<MatMulNBits>,
    second: Vec<MatMulNBits>,
    /// Empty if the first product computes the factor of the activation, or there is none.
    third: Vec<MatMulNBits>,
}

/// Names of the weights of one product, and their layout.
#[derive(Clone, Copy, Debug)]
pub struct PackedExperts<'a> {
    pub bytes: &'a str,
    pub scales: &'a str,
    pub zeros: Option<&'a str>,
    pub bias: Option<&'a str>,
    /// Number of experts.
    pub experts: usize,
    /// Layout of the weight of an expert.
    pub blocks: Blocks,
    /// Whether a block is a whole output; zero points are then packed for each expert instead of each output.
    pub whole: bool,
}

impl QMoE {
    pub fn load(
        weights: &Weights<'_>,
        [first, second]: [PackedExperts<'_>; 2],
        third: Option<PackedExperts<'_>>,
    ) -> Self {
        let third = third.map(|third| third.load(weights)).unwrap_or_default();
        Self { first: first.load(weights), second: second.load(weights), third }
    }

    /// Returns the sum for each row of the last axis of `x`. The host reads which experts the router selects.
    pub fn forward<const D: usize>(
        &self,
        x: Tensor<D>,
        router: Tensor<2>,
        mixing: Option<Tensor<2>>,
        experts: Experts,
    ) -> Tensor<D> {
        now(self.forward_by(x, router, mixing, experts, Blocking))
    }

    /// Async version of [`forward`](Self::forward).
    pub async fn forward_async<const D: usize>(
        &self,
        x: Tensor<D>,
        router: Tensor<2>,
        mixing: Option<Tensor<2>>,
        experts: Experts,
    ) -> Tensor<D> {
        self.forward_by(x, router, mixing, experts, Waiting).await
    }

    async fn forward_by<const D: usize>(
        &self,
        x: Tensor<D>,
        router: Tensor<2>,
        mixing: Option<Tensor<2>>,
        experts: Experts,
        reader: impl Reader,
    ) -> Tensor<D> {
        let product = |layer: Layer, expert: usize, rows: Tensor<2>| {
            let all = match layer {
                Layer::First => &self.first,
                Layer::Second => &self.second,
                Layer::Third => &self.third,
            };
            all[expert].forward(rows)
        };
        moe_by(x, router, mixing, experts, product, reader).await
    }
}

impl PackedExperts<'_> {
    fn load(&self, weights: &Weights<'_>) -> Vec<MatMulNBits> {
        let Blocks { inputs, outputs, bits, size } = self.blocks;
        let groups = inputs.div_ceil(size);
        let codes = weights.tensor_data(self.bytes);
        let scales: Vec<f32> = weights.tensor_data(self.scales).iter::<f32>().collect();
        let zeros = self.zeros.map(|name| weights.tensor_data(name));
        let bias = self.bias.map(|name| weights.tensor::<2>(name));
        let codes: Vec<u8> = codes.iter::<u8>().collect();
        let zeros: Option<Vec<u8>> = zeros.map(|zeros| zeros.iter::<u8>().collect());
        let row = groups * size * bits / 8;
        // A block of the kernels fills 32-bit words: those of a whole output are divided.
        let finest = if self.whole { 1 << inputs.trailing_zeros() } else { size };
        let repeats = size / finest;
        let one = |expert: usize| {
            let part = |of: &[u8], each: usize| TensorData::new(of[expert * each..][..each].to_vec(), [each]);
            let own = &scales[expert * outputs * groups..][..outputs * groups];
            let spread = |values: Vec<f32>| {
                let all: Vec<f32> =
                    values.into_iter().flat_map(|value| core::iter::repeat_n(value, repeats)).collect();
                let length = all.len();
                TensorData::new(all, [length])
            };
            let zeros = zeros.as_ref().map(|zeros| {
                if !self.whole {
                    return part(zeros, outputs * (groups * bits).div_ceil(8));
                }
                let each = (outputs * bits).div_ceil(8);
                let bytes = &zeros[expert * each..][..each];
                let code = |at: usize| bytes[at * bits / 8] >> (at * bits % 8) & u8::MAX >> (8 - bits);
                spread((0..outputs).map(|at| f32::from(code(at))).collect())
            });
            let data = BitData {
                codes: part(&codes, outputs * row),
                scales: spread(own.to_vec()),
                zeros,
                groups: None,
            };
            let bias = bias
                .as_ref()
                .map(|bias| Param::from_tensor(bias.clone().narrow(0, expert, 1).reshape([outputs])));
            let matrix = BitMatrix::new(Blocks { size: finest, ..self.blocks }, data);
            MatMulNBits::new(matrix, bias, weights.device())
        };
        (0..self.experts).map(one).collect()
    }
}
