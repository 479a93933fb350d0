//! Normalisation of a sum.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::quote;

use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};

pub const ROWS: &[Row] = &[
    row("SkipLayerNormalization", &[1], |a| read(a, false)).arity(5, 4).of(MICROSOFT),
    row("SkipSimplifiedLayerNormalization", &[1], |a| read(a, true)).arity(4, 4).of(MICROSOFT),
];

/// Of the sum of the first two inputs and a bias, over the last axis.
#[derive(Debug)]
struct Skip {
    epsilon: f32,
    /// Whether the mean is left where it is.
    root_mean_square: bool,
}

fn read(a: &Attributes<'_>, root_mean_square: bool) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Skip {
        epsilon: a.float_or("epsilon", 1e-12)?,
        root_mean_square,
    }))
}

impl Operator for Skip {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, skip) = (cx.tensor(0)?, cx.tensor(1)?);
        if !x.dtype.is_float() || skip.dtype != x.dtype || skip.rank() > x.rank() || x.rank() == 0 {
            return Err(Problem::new(format!("the sum is of {x} and {skip}")));
        }
        let hidden = x.shape.last().and_then(Dim::number);
        for input in (2..cx.inputs()).filter(|&input| cx.has(input)) {
            let factor = cx.tensor_of_rank(input, 1)?;
            let size = factor.shape.first().and_then(Dim::number);
            if size.zip(hidden).is_some_and(|(size, hidden)| size != hidden) {
                let problem = format!("input {input} is {factor}, but the input is {x}");
                return Err(Problem::new(problem));
            }
        }
        if cx.wants(1) || cx.wants(2) {
            return Err(Problem::new("outputs 1 and 2, the statistics, are for training alone")
                .help("export the model for inference"));
        }
        cx.output(0, x.dtype, x.shape.clone());
        cx.output(3, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let epsilon = float_literal(f64::from(self.epsilon), DType::F32);
        let (x, skip, scale) = (cx.tensor(0)?, cx.tensor_of_rank(1, rank)?, cx.tensor(2)?);
        let both = match self.root_mean_square {
            true => {
                let bias = cx.optional(3)?;
                quote!(ops::normalize::skip_rms_norm(#x, #skip, #scale, #bias, #epsilon))
            }
            false => {
                let (shift, bias) = (cx.optional(3)?, cx.optional(4)?);
                quote!(ops::normalize::skip_layer_norm(#x, #skip, #scale, #shift, #bias, #epsilon))
            }
        };
        Ok(match cx.outputs() {
            1 => quote!(#both.0),
            2 => quote!((#both.0, ())),
            3 => quote!((#both.0, (), ())),
            _ if !cx.wants(3) => quote!((#both.0, (), (), ())),
            _ => quote!({
                let (normed, sum) = #both;
                (normed, (), (), sum)
            }),
        })
    }
}
