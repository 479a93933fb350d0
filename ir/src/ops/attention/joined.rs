//! Attention that is assembled from separate nodes.

use std::rc::Rc;

use quote::format_ident;

use super::heads::{self, agree, sizes, split};
use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::sizes::same_type;
use crate::ops::{Facts, Operator, Width, broadcast};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::Shape;

/// Index of the first mask, after queries, keys and values.
pub const MASKS: usize = 3;

/// Name of the operator, which ONNX lacks: for queries whose keys are all masked, `Attention` returns 0, and this
/// operator the result of the softmax.
pub const KIND: &str = "JoinedAttention";

pub const FACTS: Facts = Facts { width: Width::Operands, independent: (MASKS, usize::MAX), ..Facts::NONE };

/// `Softmax(q * transpose(k) * scale, masked) * v`. An operand of rank 3 packs its heads into its last axis.
#[derive(Clone, Debug)]
pub struct JoinedAttention {
    pub query_heads: Option<usize>,
    pub key_heads: Option<usize>,
    /// Whether the heads of the result are packed.
    pub packed: bool,
    /// Sizes of the result except for the last, on as many axes as the original nodes had, if masks determine them more
    /// precisely than queries do.
    pub result_sizes: Option<Shape>,
    pub scale: f64,
    /// Score of masked keys, for each mask of type bool.
    pub fills: Vec<Option<f64>>,
    /// Whether probabilities that are NaN become 0.
    pub undefined_as_zero: bool,
}

attributes!(struct JoinedAttention {
    query_heads, key_heads, packed, result_sizes, scale, fills, undefined_as_zero
});

impl JoinedAttention {
    pub fn shared(self) -> Rc<dyn Operator> {
        Rc::new(self)
    }
}

impl JoinedAttention {
    /// Returns `true` if operands and masks cannot contradict each other in any run.
    fn fits(&self, cx: &Emit<'_, '_>) -> Result<bool, Problem> {
        let [query, key, value] = [
            heads::known(cx.tensor_type(0)?, self.query_heads),
            heads::known(cx.tensor_type(1)?, self.key_heads),
            heads::known(cx.tensor_type(2)?, self.key_heads),
        ];
        let (Some(query), Some(key), Some(value)) = (query, key, value) else {
            return Ok(false);
        };
        let mut fits = heads::fit([&query, &key, &value]);
        let [batch, count, queries, _] = query;
        let scores: Shape = vec![batch, count, queries, key[2].clone()];
        for at in 0..self.fills.len() {
            let mask = &cx.tensor_type(at.saturating_add(MASKS))?.shape;
            fits &= broadcast::agree(&[&scores, mask]);
        }
        Ok(fits)
    }
}

impl Operator for JoinedAttention {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let query = sizes(cx, 0, ("queries", self.query_heads))?;
        let key = sizes(cx, 1, ("keys", self.key_heads))?;
        let value = sizes(cx, 2, ("keys", self.key_heads))?;
        for (what, at) in [("the batch size", 0), ("the head size", 3)] {
            agree(what, &query[at], &key[at])?;
        }
        for (what, at) in [("the batch size", 0), ("the number of heads", 1), ("the sequence length", 2)] {
            agree(what, &key[at], &value[at])?;
        }
        heads::shared(&query[1], &key[1])?;
        let dtype = cx.tensor(0)?.dtype;
        for (what, input) in [("the key", 1), ("the value", 2)] {
            same_type((what, &cx.tensor(input)?), ("the query", &cx.tensor(0)?))?;
        }
        for (at, fill) in self.fills.iter().enumerate() {
            let mask = cx.tensor(at.saturating_add(MASKS))?;
            let (kind, expected) = match fill {
                Some(_) => (ElementClass::Bool, "booleans of rank 4 or less"),
                None => (ElementClass::Float, "floats of rank 4 or less"),
            };
            if mask.rank() > 4 || mask.dtype.kind() != kind {
                return Err(Problem::expected("the mask", mask, expected));
            }
        }
        let [mut batch, mut count, mut length, _] = query;
        match self.result_sizes.as_deref() {
            Some([b, l]) => (batch, length) = (b.clone(), l.clone()),
            Some([b, h, l]) => (batch, count, length) = (b.clone(), h.clone(), l.clone()),
            _ => {}
        }
        let result = if self.packed {
            let operand = cx.tensor(2)?;
            let hidden = match (operand.rank(), count == value[1]) {
                (3, true) => operand.shape.last().cloned(),
                _ => count.mul(&value[3]),
            };
            vec![batch, length, cx.dim_or_fresh(hidden, "hidden")]
        } else {
            vec![batch, count, length, value[3].clone()]
        };
        cx.output(0, dtype, result);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let dtype = cx.tensor_type(0)?.dtype;
        let query = split(cx, 0, self.query_heads)?;
        let [key, value] = [split(cx, 1, self.key_heads)?, split(cx, 2, self.key_heads)?];
        if !self.fits(cx)? {
            cx.may_fail();
        }
        let mut masks = Vec::new();
        for (at, fill) in self.fills.iter().enumerate() {
            let mask = cx.tensor_of_rank(at.saturating_add(MASKS), 4)?;
            masks.push(match fill {
                None => code!(ops::attention::ScoreMask::Added(#mask)),
                Some(fill) => {
                    let fill = literal(*fill, dtype);
                    code!(ops::attention::ScoreMask::Seen(#mask, #fill))
                }
            });
        }
        let scale = literal(self.scale, dtype);
        let masks = if masks.is_empty() { code!(Vec::new()) } else { code!(vec![#(#masks),*]) };
        let safe = format_ident!("{}", self.undefined_as_zero);
        let result = code! {
            ops::attention::joined_attention(
                #query, #key, #value, #masks,
                ops::attention::JoinedAttention {
                    scale: #scale,
                    undefined_as_zero: #safe,
                },
            )
        };
        Ok(if self.packed { code!(ops::attention::merge_heads(#result)) } else { result })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let operands = (0..MASKS).all(|input| rows.axis(input) == Some(0));
        let masks = (MASKS..rows.inputs()).all(|input| rows.broadcasts(input, 0, 4));
        (operands && masks).then(|| vec![0])
    }
}

/// Returns a number as an `f64` literal, with the digits of a number of this type.
fn literal(number: f64, dtype: DType) -> Code {
    let narrow = (number as f32).is_finite() && dtype != DType::F64;
    float_literal(number, if narrow { DType::F32 } else { DType::F64 })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prost::Message;

    use crate::options::Options;
    use crate::print;

    /// Prints the graph that rules create from the nodes of an attention.
    fn check(inputs: &str, body: &str, expected: Expect) {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["": 21]> g ({inputs}) => (float[a, b, c, d] y) {{ {body} }}"#
        );
        let model = crate::text::model(&text).unwrap().encode_to_vec();
        let model = crate::load_bytes(model.into(), &Options::default());
        let model = model.unwrap_or_else(|problems| panic!("{}", problems.report("model")));
        expected.assert_eq(&print::graph(&model.graph));
    }

    #[test]
    fn the_result_has_the_length_of_queries_and_the_size_of_values() {
        check(
            "float[n, 2, l, 8] q, float[n, 2, m, 8] k, float[n, 2, m, 6] v, float[n, 1, l, m] b",
            "t = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (q, t) f = Constant <value_float = 0.25> ()
                r = Mul (s, f) u = Add (r, b) p = Softmax (u) y = MatMul (p, v)",
            expect![[r#"
                g (float32[n, 2, l, 8] q, float32[n, 2, m, 8] k, float32[n, 2, m, 6] v, float32[n, 1, l, m] b) => (float32[n, 2, l, 6] y)
                {
                    float32[n, 2, l, 6] y = JoinedAttention <scale: 0.25, fills: [none]> (q, k, v, b)
                }
            "#]],
        );
    }

    #[test]
    fn hidden_scores_are_filled() {
        check(
            "float[1, 2, 4, 8] q, float[1, 2, 6, 8] k, float[1, 2, 6, 8] v, bool[4, 6] m",
            "t = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (q, t) f = Constant <value_float = -10000.0> ()
                u = Where (m, s, f) p = Softmax (u) y = MatMul (p, v)",
            expect![[r#"
                g (float32[1, 2, 4, 8] q, float32[1, 2, 6, 8] k, float32[1, 2, 6, 8] v, bool[4, 6] m) => (float32[1, 2, 4, 8] y)
                {
                    float32[1, 2, 4, 8] y = JoinedAttention <scale: 1.0, fills: [-10000.0]> (q, k, v, m)
                }
            "#]],
        );
    }
}
