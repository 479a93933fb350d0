//! Convolution.

use std::rc::Rc;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::window::{Resolved, Window};
use super::{Operator, Row, row};
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::types::TensorType;

pub const ROWS: &[Row] = &[row("Conv", &[1, 11, 22], conv)];

#[derive(Debug)]
struct Conv {
    window: Window,
    groups: i64,
}

fn conv(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Conv {
        window: Window::read(a)?,
        groups: a.int_or("group", 1)?,
    }))
}

impl Operator for Conv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight) = (cx.tensor(0)?, cx.tensor(1)?);
        let window = self.resolve(&x, &weight)?;
        let channels = weight.shape.first().cloned().unwrap_or_default();
        let positions = window.positions(x.shape.get(2..).unwrap_or_default());
        let mut shape = vec![x.shape.first().cloned().unwrap_or_default(), channels];
        match positions {
            Some(positions) => shape.extend(positions),
            None => shape.extend((2..x.rank()).map(|_| cx.fresh("conv"))),
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let (x, weight) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let window = self.resolve(&x, &weight)?;
        let spatial = x.shape.get(2..).unwrap_or_default().to_vec();
        let window = window.emit(cx, &spatial);
        let groups = Literal::i64_unsuffixed(self.groups);
        let function = quote::format_ident!("conv{}d", spatial.len());
        let name = quote::format_ident!("Conv{}d", spatial.len());
        let hint = cx.layer_hint(1);
        let bias = match cx.has(2) {
            true => cx.weight(2).map(|name| quote!(Some(#name))),
            false => Some(quote!(None)),
        };
        if let (Some(weight), Some(bias)) = (cx.weight(1), bias) {
            // A window that depends on sizes is given at each call.
            let input = cx.tensor(0)?;
            if !self.resolve(&x, cx.tensor_type(1)?)?.keeps_sizes() {
                let layer = cx.layer(
                    &hint,
                    quote!(layers::#name),
                    quote!(layers::#name::load(weights, #weight, #bias, #window, #groups)),
                );
                return Ok(quote!(#layer.forward(#input)));
            }
        }
        let (input, weight, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(2)?);
        Ok(quote!(ops::conv::#function(#input, #weight, #bias, #window, #groups)))
    }
}

impl Conv {
    fn resolve(&self, x: &TensorType, weight: &TensorType) -> Result<Resolved, Problem> {
        if !(3..=5).contains(&x.rank()) || weight.rank() != x.rank() {
            return Err(Problem::new(format!(
                "the input is {x} and the weight {weight}; convolution has 1 to 3 spatial axes"
            )));
        }
        let kernel: Option<Vec<i64>> =
            weight.shape.iter().skip(2).map(Dim::number).collect();
        self.window.resolve(x.rank() - 2, kernel)
    }
}
