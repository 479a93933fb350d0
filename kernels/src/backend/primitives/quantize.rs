//! What several primitives do, in the functions of the operators.

use burn::backend::{
    Backend,
    tensor::{FloatTensor, IntTensor},
};
use burn::tensor::DType;

use crate::backend::Optional;
use crate::spec::window::Window;
use crate::spec::{
    bits::BitMatrix,
    quantize::{Affine, Mean, Pair, Unary},
};

pub fn quantize<B: Backend>(_: FloatTensor<B>, _: Affine) -> Optional<B> {
    Optional::None
}

pub fn quantize_along<B: Backend>(
    _: FloatTensor<B>,
    _: FloatTensor<B>,
    _: Optional<B>,
    _: DType,
    _: u32,
) -> Optional<B> {
    Optional::None
}

pub fn quantize_dynamic<B: Backend>(
    _: FloatTensor<B>,
    _: DType,
) -> (Optional<B>, Optional<B>, Optional<B>) {
    (Optional::None, Optional::None, Optional::None)
}

pub fn dequantize<B: Backend>(_: IntTensor<B>, _: Affine) -> Optional<B> {
    Optional::None
}

pub fn dequantize_along<B: Backend>(
    _: IntTensor<B>,
    _: FloatTensor<B>,
    _: Optional<B>,
) -> Optional<B> {
    Optional::None
}

pub fn max_pool_int<B: Backend>(_: IntTensor<B>, _: Window<2>, _: [usize; 2]) -> Optional<B> {
    Optional::None
}

pub fn quantized_pair<B: Backend>(_: IntTensor<B>, _: IntTensor<B>, _: Pair) -> Optional<B> {
    Optional::None
}

pub fn quantized_unary<B: Backend>(_: IntTensor<B>, _: Optional<B>, _: Unary) -> Optional<B> {
    Optional::None
}

pub fn quantized_mean<B: Backend>(_: IntTensor<B>, _: Mean) -> Optional<B> {
    Optional::None
}

pub fn matmul_bits<B: Backend>(_: FloatTensor<B>, _: Optional<B>, _: BitMatrix) -> Optional<B> {
    Optional::None
}
