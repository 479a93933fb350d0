//! Normalisation by statistics.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::quote;

use super::{Operator, Row, row};
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;

pub const ROWS: &[Row] = &[row("BatchNormalization", &[1, 6, 7, 9, 14, 15], batch)];

#[derive(Debug)]
struct Batch {
    epsilon: f32,
}

fn batch(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    a.ignore(&["momentum", "consumed_inputs"]);
    if a.version() < 9 {
        if !a.flag("spatial", true)? {
            return Err(Problem::new("`spatial` is 0: statistics per element are not supported")
                .help("export the model for opset 9 or newer"));
        }
        a.ignore(&["is_test"]);
    }
    if a.flag("training_mode", false)? {
        return Err(Problem::new("the normalisation is in training mode")
            .help("export the model in evaluation mode (`model.eval()` in PyTorch)"));
    }
    Ok(Rc::new(Batch {
        epsilon: a.float_or("epsilon", 1e-5)?,
    }))
}

impl Operator for Batch {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if x.rank() < 2 {
            return Err(Problem::new(format!("the input is {x}, which has no channels")));
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let epsilon = float_literal(f64::from(self.epsilon), DType::F32);
        if let (Some(scale), Some(bias), Some(mean), Some(variance)) =
            (cx.weight(1), cx.weight(2), cx.weight(3), cx.weight(4))
        {
            let (hint, x) = (cx.layer_hint(1), cx.tensor(0)?);
            let load = quote! {
                layers::BatchNorm::load(weights, [#scale, #bias, #mean, #variance], #epsilon)
            };
            let layer = cx.layer(&hint, quote!(layers::BatchNorm), load);
            return Ok(quote!(#layer.forward(#x)));
        }
        let (x, scale, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let (mean, variance) = (cx.tensor(3)?, cx.tensor(4)?);
        Ok(quote!(ops::normalize::batch_norm(#x, #scale, #bias, #mean, #variance, #epsilon)))
    }
}
