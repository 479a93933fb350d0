//! Embeddings of words, positions and segments.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::quote;

use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};

pub const ROWS: &[Row] = &[row("EmbedLayerNormalization", &[1], |a| {
    // It speaks of the type of output 1, which says whether it is there.
    a.ignore(&["mask_index_type"]);
    Ok(Rc::new(Embed {
        epsilon: a.float_or("epsilon", 1e-12)?,
    }))
}).arity(9, 3)
.of(MICROSOFT)];

/// Their sum normalised over the last axis, how many words a mask keeps, and the sum.
#[derive(Debug)]
struct Embed {
    epsilon: f32,
}

impl Operator for Embed {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let ids = cx.tensor_of_rank(0, 2)?;
        let words = cx.tensor_of_rank(2, 2)?;
        if !ids.dtype.is_int() || !words.dtype.is_float() {
            return Err(Problem::new(format!("the words are {ids} of {words}")));
        }
        for (input, rank) in [(1, 2), (3, 2), (4, 2), (5, 1), (6, 1), (7, 2), (8, 2)] {
            if cx.has(input) || matches!(input, 3 | 5 | 6) {
                cx.tensor_of_rank(input, rank)?;
            }
        }
        if cx.has(1) != cx.has(4) {
            return Err(Problem::new("segments need both their numbers and their embedding"));
        }
        let mut shape = ids.shape.clone();
        shape.extend(words.shape.last().cloned());
        cx.output(0, words.dtype, shape.clone());
        cx.output(1, DType::I32, ids.shape.into_iter().take(1).collect());
        cx.output(2, words.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let epsilon = float_literal(f64::from(self.epsilon), DType::F32);
        let (ids, words, positions) = (cx.tensor(0)?, cx.tensor(2)?, cx.tensor(3)?);
        cx.may_fail();
        let places = cx.optional(8)?;
        let segments = match cx.has(4) {
            true => {
                let (ids, segments) = (cx.tensor(1)?, cx.tensor(4)?);
                quote!(Some((#ids, #segments)))
            }
            false => quote!(None),
        };
        let (scale, shift) = (cx.tensor(5)?, cx.tensor(6)?);
        let sum = quote!(ops::embed::embeddings(#ids, #words, #positions, #places, #segments));
        let normed = |sum: TokenStream| {
            quote!(ops::normalize::layer_norm(#sum, #scale, Some(#shift), 2, #epsilon))
        };
        if cx.outputs() == 1 {
            return Ok(normed(sum));
        }
        let kept = match (cx.wants(1), cx.has(7)) {
            (false, _) => quote!(()),
            (true, true) => {
                let mask = cx.tensor(7)?;
                quote!(ops::embed::kept_words(#mask))
            }
            (true, false) => {
                let shape = cx.output_tensor(1)?.shape.clone();
                let (shape, device) = (cx.shape(&shape), cx.device());
                quote!(constant::full_int(#device, ElementType::Int32, #shape, 0))
            }
        };
        if !cx.wants(2) {
            let normed = normed(sum);
            return Ok(match cx.outputs() {
                2 => quote!((#normed, #kept)),
                _ => quote!((#normed, #kept, ())),
            });
        }
        let normed = normed(quote!(sum.clone()));
        Ok(quote!({
            let sum = #sum;
            (#normed, #kept, sum)
        }))
    }
}
