//! Products and convolutions of integers with what follows them, in one launch.
//!
//! Sums are of 32 bits, or of floats where these hold them exactly. Numbers of a whole result, its rows or its columns are read
//! where they lie.

mod conv;
mod ends;
mod product;

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeBackend;
use burn_fusion::custom::TensorSpec;

pub use conv::{conv, described as described_conv};
pub use product::{described as described_product, product};

use crate::backend::{ByteProduct, ByteProductMetadata, Optional, OptionalMetadata};
use crate::spec::quantize::Ending;

/// Which operands are less zero points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Zeros {
    pub left: bool,
    pub right: bool,
}

/// The shapes that decide whether there is a body.
struct Shapes {
    left: Shape,
    right: Shape,
    left_zero: Option<Shape>,
    right_zero: Option<Shape>,
    /// Of the bias, the scales, and the zero point of the result.
    ends: Vec<Shape>,
}

impl Shapes {
    fn of(operands: &ByteProduct<CubeBackend>) -> Self {
        let shape = |tensor: &Optional<CubeBackend>| match tensor {
            Optional::None => None,
            Optional::Float(x) | Optional::Int(x) | Optional::Bool(x) => Some(x.shape()),
        };
        let ends = [
            &operands.bias,
            &operands.left_scale,
            &operands.right_scale,
            &operands.scale,
            &operands.zero,
        ];
        Self {
            left: operands.left.shape(),
            right: operands.right.shape(),
            left_zero: shape(&operands.left_zero),
            right_zero: shape(&operands.right_zero),
            ends: ends.into_iter().filter_map(shape).collect(),
        }
    }

    fn described(operands: &ByteProductMetadata) -> Self {
        let shape = |tensor: &OptionalMetadata| match tensor {
            OptionalMetadata::None => None,
            OptionalMetadata::Float(x) | OptionalMetadata::Int(x) | OptionalMetadata::Bool(x) => {
                Some(x.shape.clone())
            }
        };
        let ends = [
            &operands.bias,
            &operands.left_scale,
            &operands.right_scale,
            &operands.scale,
            &operands.zero,
        ];
        Self {
            left: operands.left.shape.clone(),
            right: operands.right.shape.clone(),
            left_zero: shape(&operands.left_zero),
            right_zero: shape(&operands.right_zero),
            ends: ends.into_iter().filter_map(shape).collect(),
        }
    }
}

/// A result of a shape, before it is there.
fn described(shape: Option<Shape>, ending: Ending) -> OptionalMetadata {
    let Some(shape) = shape else {
        return OptionalMetadata::None;
    };
    let spec = TensorSpec::new(shape, dtype(ending));
    match ending {
        Ending::Floats => OptionalMetadata::Float(spec),
        Ending::Sums | Ending::Quantized { .. } => OptionalMetadata::Int(spec),
    }
}

/// The dtype of a result.
fn dtype(ending: Ending) -> DType {
    match ending {
        Ending::Sums => DType::I32,
        Ending::Floats => DType::F32,
        Ending::Quantized { dtype, .. } => dtype,
    }
}

/// The dtype of sums of so many products of bytes.
fn summed(terms: usize) -> DType {
    const LARGEST: usize = 255 * 255;
    if terms.saturating_mul(LARGEST) <= 1 << f32::MANTISSA_DIGITS {
        DType::F32
    } else {
        DType::I32
    }
}
