//! Normalisation by statistics of batches, rows, channels and neighbours.

pub mod batch;
pub mod channels;
pub mod rows;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Row, row};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::float_literal;
use crate::infer::Infer;
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("BatchNormalization", &[1, 6, 7, 9, 14, 15], batch::read).arity(5, 3).before(&[(14, 5, 5)]),
    row("LayerNormalization", &[17], rows::layer).arity(3, 3),
    row("RMSNormalization", &[23], rows::root_mean_square).arity(2, 1),
    row("SimplifiedLayerNormalization", &[1], rows::root_mean_square).arity(2, 2),
    row("InstanceNormalization", &[1, 6, 22], channels::instance).arity(3, 1),
    row("GroupNormalization", &[18, 21], channels::group).arity(3, 1),
    row("LRN", &[1, 13], channels::neighbours),
    row("LpNormalization", &[1, 22], rows::norm),
    row("MeanVarianceNormalization", &[9, 13], rows::mean_variance),
];

/// Input 0, when it is a float tensor of at least this rank.
fn floats(cx: &Infer<'_>, rank: usize) -> Result<TensorType, Problem> {
    let x = cx.tensor(0)?;
    match x.dtype.is_float() && x.rank() >= rank {
        true => Ok(x),
        false => Err(Problem::new(format!(
            "the input is {x}, not floats of rank {rank} or more"
        ))),
    }
}

fn number(value: f32) -> TokenStream {
    float_literal(f64::from(value), DType::F32)
}

fn integer(value: usize) -> Literal {
    Literal::usize_unsuffixed(value)
}

/// `Some("bias")`, or `None`.
fn optional(name: Option<String>) -> TokenStream {
    match name {
        Some(name) => quote!(Some(#name)),
        None => quote!(None),
    }
}
