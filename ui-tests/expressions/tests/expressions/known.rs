//! Values of expressions that are known at compile time.

use onnx_embed_ir::dim::{Atom, Dim};
use onnx_embed_ir::options::Options;
use onnx_embed_ir::types::Known;
use onnx_embed_property_graphs::expressions::{Expression, Form, encoded, text};

/// Returns the known value of each expression.
pub fn values(expressions: &[Expression], form: &Form) -> Vec<Option<Known>> {
    let text = text(expressions, form);
    let model = onnx_embed_ir::load_bytes(encoded(&text).into(), &Options::default());
    let model = model.unwrap_or_else(|problems| panic!("{}\n{text}", problems.report("model")));
    let outputs = model.graph.body.outputs.iter();
    let known = outputs.map(|&id| model.graph.values[id].known.peek().cloned());
    known.collect()
}

/// Returns the number for these sizes of n, m and k, or `None` if it overflows or divides by 0.
pub fn substituted(dim: &Dim, shape: &[i64]) -> Option<i64> {
    let mut sum = 0i64;
    for (atoms, factor) in dim.terms() {
        let mut product = factor;
        for atom in atoms {
            let value = match atom {
                Atom::Name(name) => shape[["n", "m", "k"].iter().position(|n| **n == **name)?],
                Atom::Quotient(a, b) => {
                    let (a, b) = (substituted(a, shape)?, substituted(b, shape)?);
                    let quotient = a.checked_div(b)?;
                    quotient - i64::from(a % b != 0 && (a < 0) != (b < 0))
                }
                Atom::Min(a, b) => substituted(a, shape)?.min(substituted(b, shape)?),
                Atom::Max(a, b) => substituted(a, shape)?.max(substituted(b, shape)?),
            };
            product = product.checked_mul(value)?;
        }
        sum = sum.checked_add(product)?;
    }
    Some(sum)
}
