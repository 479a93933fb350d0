//! Operations for which devices have kernels, and their dispatch.
//!
//! An operator's function checks its operands and calls an operation of the [`table`] through [`call!`]. If the device of the
//! operands has no kernel for it, or if a tensor records gradients, which flow through primitives only, Burn's primitives run, or
//! the operation declines and the operator's function computes the result by other operations.

// Only routing to an enabled backend uses the operands.
#![cfg_attr(not(any(feature = "cube", feature = "flex")), allow(unused_variables))]

mod burn;
mod byte_product;
mod call;
mod coded_product;
mod declare;
mod device;
#[cfg(feature = "cube")]
mod metadata;
mod operand;
mod parts;
pub mod primitives;
mod recurrence;
#[cfg_attr(not(feature = "std"), path = "backend/switches/bare.rs")]
pub mod switches;
mod table;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use burn::backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn::backend::{Backend, backend_extension};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};
use burn::tensor::{DType, Shape};

pub use self::byte_product::ByteProduct;
#[cfg(feature = "cube")]
use crate::spec;
use crate::spec::{
    arithmetic::Arithmetic,
    bits::{BitMatrix, Blocks},
    boxes::{BoxForm, Limits},
    dft::Dft,
    epilogue::{Activation, Epilogue},
    function::Function,
    indices::Axis,
    normalize::Lrn,
    packed::Packed,
    pool::Slide,
    quantize::{Affine, Integers, Mean, Pair, Unary},
    ranking::Top,
    recurrent::{Cell, Sizes},
    regions::RoiAlign,
    scan::Scan,
    scores::Scores,
    small::Small,
    window::Window,
};
#[cfg(feature = "cube")]
pub use byte_product::ByteProductMetadata;
pub(crate) use call::call;
pub use coded_product::CodedProduct;
pub use device::{Runtime, most_bytes, runs_cubes};
#[cfg(feature = "cube")]
use metadata::*;
#[cfg(any(feature = "cube", feature = "flex"))]
pub use operand::Maybe;
pub use operand::{Any, Declined, Given, Operand, Outcome, Routed};
#[cfg(feature = "cube")]
pub use operand::{AnyMetadata, GivenMetadata, OutcomeMetadata};
#[cfg(feature = "flex")]
pub use operand::{of_flex, on_flex};
pub use parts::Parts;
#[cfg(feature = "cube")]
pub use parts::PartsMetadata;
#[cfg(feature = "cube")]
pub use recurrence::RecurrenceMetadata;
pub use recurrence::{Matrices, Recurrence};

#[cfg(any(feature = "cube", feature = "flex"))]
use declare::bit;
#[cfg(any(feature = "cube", feature = "flex"))]
pub(crate) use declare::implement;
use declare::{declare, operation};
pub(crate) use table::operations;

/// The traits of the operations, each in a module of its name.
pub mod operation {
    use super::*;
    // Without this import, `burn` would be ambiguous between the glob and the prelude.
    use super::burn;

    operations! { declare }
}

pub use operation::Operation;
