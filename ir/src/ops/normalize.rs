//! Normalization over batches, rows, channels and neighbors.

pub mod batch;
pub mod channels;
pub mod embed;
pub mod group;
pub mod layer;
pub mod skip;
pub mod skip_group;
pub mod softmax;

use proc_macro2::Literal;

use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::float_literal;
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::TensorType;

super::families![batch, embed, group, layer, skip, skip_group, softmax];

/// Returns the type of input 0, which must be a float tensor of at least this rank.
fn floats(cx: &Infer<'_>, rank: usize) -> Result<TensorType, Problem> {
    let x = cx.tensor(0)?;
    if x.dtype.is_float() && x.rank() >= rank {
        Ok(x)
    } else {
        Err(Problem::expected("the input", x, format_args!("floats of rank {rank} or more")))
    }
}

/// Reports an input, described as `what`, that is not a float tensor.
fn check_floats(what: &str, tensor: &TensorType) -> Result<(), Problem> {
    if tensor.dtype.is_float() { Ok(()) } else { Err(Problem::expected(what, tensor, "floats")) }
}

fn number(value: f32) -> Code {
    float_literal(f64::from(value), DType::F32)
}

fn integer(value: usize) -> Literal {
    Literal::usize_unsuffixed(value)
}

/// Generates `Some("bias")` or `None`.
fn optional(name: Option<Code>) -> Code {
    match name {
        Some(name) => code!(Some(#name)),
        None => code!(None),
    }
}
