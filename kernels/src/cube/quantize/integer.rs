//! Products and convolutions of integers with their epilogue, in one launch.
//!
//! Sums are of 32 bits, or of floats if these hold them exactly. Scales, zero points and biases are read in place, for
//! the whole result, its rows or its columns.

mod conv;
mod epilogue;
mod product;

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;

pub use conv::conv;
pub use product::product;

use crate::cube::type_of_given;
use crate::{
    backend::{ByteProduct, Given},
    spec::integer::ByteShapes,
};

/// Shapes of the operands.
fn shapes(operands: &ByteProduct<CubeBackend>) -> ByteShapes {
    let shape = |x: &Given<CubeBackend>| type_of_given(x).map(|ty| ty.shape);
    let ends = [&operands.bias, &operands.left_scale, &operands.right_scale, &operands.scale, &operands.zero];
    ByteShapes {
        left: operands.left.shape(),
        right: operands.right.shape(),
        left_zero: shape(&operands.left_zero),
        right_zero: shape(&operands.right_zero),
        ends: ends.into_iter().filter_map(shape).collect(),
    }
}

/// Returns the dtype of sums of `terms` products of bytes.
fn summed(terms: usize) -> DType {
    const LARGEST: usize = 255 * 255;
    if terms.saturating_mul(LARGEST) <= 1 << f32::MANTISSA_DIGITS { DType::F32 } else { DType::I32 }
}
