//! FlexAttention: attention with blocks that change scores and probabilities.

use std::rc::Rc;

use quote::format_ident;

use super::dot_product::precision;
use super::heads::{self, Sizes, agree, sizes};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::graph::Flow;
use crate::infer::{Fact, Infer};
use crate::ops::sizes::same_type;
use crate::ops::{Operator, PREVIEW, Row, row};
use crate::rust::{Code, code};
use crate::types::{Placement, Type};

pub const ROWS: &[Row] = &[row("FlexAttention", &[1], read).arity("rrr", "r").of(PREVIEW)];

const SCORES: &str = "score_mod";
const PROBABILITIES: &str = "prob_mod";

#[derive(Debug)]
struct FlexAttention {
    scale: Option<f32>,
    /// The dtype of scores and probabilities.
    precision: Option<DType>,
}

attributes!(struct FlexAttention { scale, precision });

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    a.graph(SCORES)?;
    a.graph(PROBABILITIES)?;
    Ok(Rc::new(FlexAttention { scale: a.float("scale")?, precision: precision(a)? }))
}

impl Operator for FlexAttention {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        for input in 0..3 {
            cx.tensor_of_rank(input, 4)?;
        }
        let [query, key, value]: [Sizes; 3] =
            [sizes(cx, 0, ("", None))?, sizes(cx, 1, ("", None))?, sizes(cx, 2, ("", None))?];
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
        let [batch, count, length, _] = query;
        let scores = vec![batch.clone(), count.clone(), length.clone(), key[2].clone()];
        let operand = Type::tensor(self.precision(dtype), scores);
        for name in [SCORES, PROBABILITIES] {
            if cx.block(name).is_ok() {
                check(cx, name, &operand)?;
            }
        }
        let [_, _, _, size] = value;
        cx.output(0, dtype, vec![batch, count, length, size]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operands = [0, 1, 2].map(|input| {
            let tensor = cx.tensor_type(input).ok()?;
            heads::known(tensor, None)
        });
        let (mut query, mut key, mut value) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let mut checked = Code::default();
        match &operands {
            [Some(query), Some(key), Some(value)] if heads::fit([query, key, value]) => {}
            _ => {
                cx.may_fail();
                let [q, k, v] = ["query", "key", "value"].map(|hint| cx.temporary(hint));
                checked = code! {
                    let (#q, #k, #v) = ops::attention::matching_heads(#query, #key, #value);
                };
                (query, key, value) = (code!(#q), code!(#k), code!(#v));
            }
        }
        let precision = self.precision(cx.tensor_type(0)?.dtype);
        let precision = format_ident!("{}", precision.carrier());
        let scale = match self.scale {
            Some(scale) => {
                let scale = float_literal(f64::from(scale), DType::F32);
                code!(Some(#scale))
            }
            None => code!(None),
        };
        let scores = code! {
            ops::attention::attention_products(#query, #key, #scale, DType::#precision)
        };
        let (before, scores) = changed(cx, SCORES, scores)?;
        let probabilities = code!(activation::softmax(#scores, 3));
        let (between, probabilities) = changed(cx, PROBABILITIES, probabilities)?;
        let result = code!(ops::attention::attention_values(#probabilities, #value));
        Ok(if [&checked, &before, &between].iter().all(|code| code.is_empty()) {
            result
        } else {
            code!({ #checked #before #between #result })
        })
    }

    fn flow(&self) -> Option<Flow> {
        Some(Flow::Once)
    }
}

impl FlexAttention {
    fn precision(&self, dtype: DType) -> DType {
        let default = if dtype == DType::F64 { dtype } else { DType::F32 };
        self.precision.unwrap_or(default)
    }
}

/// Reports a block that changes the shape or type of its input.
fn check(cx: &mut Infer<'_>, name: &str, ty: &Type) -> Result<(), Problem> {
    let block = cx.block(name)?;
    if (block.inputs.len(), block.outputs.len()) != (1, 1) {
        return Err(Problem::new(format!(
            "the numbers of inputs and outputs of `{name}` are {} and {}, expected 1 and 1",
            block.inputs.len(),
            block.outputs.len()
        )));
    }
    let inferred = cx.infer_block(name, &[Fact::of(ty.clone())])?;
    let Some(outputs) = cx.accept(inferred) else {
        return Ok(());
    };
    let same = |fact: &Fact| match (fact.ty.as_tensor(), ty.as_tensor()) {
        (Some(a), Some(b)) => {
            let mut pairs = a.shape.iter().zip(&b.shape);
            a.dtype == b.dtype
                && a.rank() == b.rank()
                && pairs.all(|(a, b)| a.number().is_none() || b.number().is_none() || a == b)
        }
        _ => false,
    };
    match outputs.iter().find(|fact| !same(fact)) {
        None => Ok(()),
        Some(fact) => Err(Problem::new(format!("`{name}` returns {}, expected {ty}", fact.ty))),
    }
}

/// Returns the statements of a block, if any, and its result for `value`.
fn changed(cx: &mut Emit<'_, '_>, name: &str, value: Code) -> Result<(Code, Code), Problem> {
    let Ok(block) = cx.block(name) else {
        return Ok((Code::default(), value));
    };
    let wanted = block.outputs.iter().map(|&id| cx.type_of(id).cloned());
    let wanted = wanted.map(|ty| Ok((Placement::Device, ty?)));
    let wanted: Vec<(Placement, Type)> = wanted.collect::<Result<_, Problem>>()?;
    let input = block.inputs.first().copied();
    let input = input.ok_or_else(|| Problem::new(format!("`{name}` has no input, expected one")))?;
    let input = cx.variable(input, "scores");
    let inside = cx.inside(name, &wanted)?;
    let (statements, results) = (inside.statements, inside.results);
    Ok((code!(let #input = #value; #statements), code!(#(#results)*)))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn blocks_change_scores_and_probabilities() {
        check(
            r#"<ir_version: 13, opset_import: ["": 26, "ai.onnx.preview": 1]>
            g (float[b, 4, t, 8] q, float[b, 2, s, 8] k, float[b, 2, s, 6] v, float[t, s] bias)
            => (float[b, 4, t, 6] y) {
                y = ai.onnx.preview.FlexAttention (q, k, v) <
                    score_mod = m (float[B, H, L, S] x) => (float[B, H, L, S] z) {
                        n = Neg (x)
                        z = Add (n, bias)
                    }
                >
            }"#,
            expect![[r#"
                g (float32[b, 4, t, 8] q, float32[b, 2, s, 8] k, float32[b, 2, s, 6] v, float32[t, s] bias) => (float32[b, 4, t, 6] y)
                {
                    float32[b, 4, t, 6] y = ai.onnx.preview.FlexAttention (q, k, v)
                        score_mod (float32[b, 4, t, s] x) => (float32[b, 4, t, s] z)
                        {
                            float32[b, 4, t, s] n = Neg (x)
                            float32[b, 4, t, s] z = Add (n, bias)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_block_must_keep_the_type() {
        check(
            r#"<ir_version: 13, opset_import: ["": 26, "ai.onnx.preview": 1]>
            g (float[b, 4, t, 8] q, float[b, 4, s, 8] k, float[b, 4, s, 6] v) => (float[b, 4, t, 6] y) {
                y = ai.onnx.preview.FlexAttention (q, k, v) <
                    prob_mod = m (float[B, H, L, S] x) => (float16[B, H, L, S] z) {
                        z = Cast <to = 10> (x)
                    }
                >
            }"#,
            expect![[r#"
                cannot compile `model`

                  `prob_mod` returns float16[b, 4, t, s], expected float32[b, 4, t, s]
                    at node `y` (ai.onnx.preview.FlexAttention version 1)

                  model: IR version 13, ai.onnx 26, ai.onnx.preview 1"#]],
        );
    }
}
