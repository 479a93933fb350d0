//! Determinants.

use std::rc::Rc;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Operator, Row, row};
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::infer::Infer;

pub const ROWS: &[Row] = &[row("Det", &[11, 22], |_| Ok(Rc::new(Determinant)))];

#[derive(Debug)]
struct Determinant;

impl Operator for Determinant {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let square = match x.shape.as_slice() {
            [.., rows, columns] => {
                let sizes = rows.number().zip(columns.number());
                sizes.is_none_or(|(rows, columns)| rows == columns)
            }
            _ => false,
        };
        if !square || !x.dtype.is_float() {
            return Err(Problem::new(format!(
                "the input is {x}, not square matrices of floats"
            )));
        }
        let outer = x.rank().saturating_sub(2);
        cx.output(0, x.dtype, x.shape.into_iter().take(outer).collect());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        let x = cx.tensor(0)?;
        Ok(quote!(ops::determinant::det::<_, #rank>(#x)))
    }
}
