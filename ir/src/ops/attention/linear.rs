//! LinearAttention: a state that each token updates.

use std::rc::Rc;

use proc_macro2::Literal;

use super::heads::{self, agree, dim, floats, shared, unpacked};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("LinearAttention", &[27], read).arity("rrrooo", "rr"),
    row("LinearAttention", &[1], microsoft).arity("rrrooo", "rr").of(MICROSOFT),
];

const STATE: usize = 3;
const DECAY: usize = 4;
const BETA: usize = 5;

#[derive(Debug)]
struct LinearAttention {
    query_heads: usize,
    key_heads: usize,
    scale: Option<f32>,
    /// Whether the state decays.
    gated: bool,
    /// Whether a token replaces the value that the state returns for its key.
    delta: bool,
}

attributes!(struct LinearAttention { query_heads, key_heads, scale, gated, delta });

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let operator = attributes(a)?;
    shared(&dim(operator.query_heads), &dim(operator.key_heads))?;
    Ok(Rc::new(operator))
}

/// Reads the operator of com.microsoft, whose key heads may also share query heads.
fn microsoft(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let window = a.int_or("state_window", 0)?;
    if window != 0 {
        return Err(Problem::expected("`state_window`", window, "0"));
    }
    let operator = attributes(a)?;
    let LinearAttention { query_heads, key_heads, .. } = operator;
    if query_heads < key_heads && key_heads % query_heads != 0 {
        let expected = format_args!("a divisor of {key_heads}, the number of key heads");
        return Err(Problem::expected("the number of query heads", query_heads, expected));
    }
    if query_heads >= key_heads {
        shared(&dim(query_heads), &dim(key_heads))?;
    }
    Ok(Rc::new(operator))
}

fn attributes(a: &Attributes<'_>) -> Result<LinearAttention, Problem> {
    // The number of tokens that are computed together does not affect the result.
    a.ignore(&["chunk_size"]);
    let rules = [
        ("linear", (false, false)),
        ("gated", (true, false)),
        ("delta", (false, true)),
        ("gated_delta", (true, true)),
    ];
    let (gated, delta) = a.choice("update_rule", "gated_delta", &rules)?;
    Ok(LinearAttention {
        query_heads: a.positive("q_num_heads")?,
        key_heads: a.positive("kv_num_heads")?,
        scale: a.float("scale")?.filter(|&scale| scale != 0.0),
        gated,
        delta,
    })
}

impl Operator for LinearAttention {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (query, key_size) = operand(cx, 0, self.query_heads)?;
        let (key, own_size) = operand(cx, 1, self.key_heads)?;
        let (value, value_size) = operand(cx, 2, self.key_heads)?;
        agree("the head size", &key_size, &own_size)?;
        self.check(cx, DECAY, ("decay", self.gated), [&query, &key])?;
        self.check(cx, BETA, ("beta", self.delta), [&query, &key])?;
        for (what, other) in [("the key", &key), ("the value", &value)] {
            sizes::same_type((what, other), ("the query", &query))?;
        }
        for (what, at) in [("the batch size", 0), ("the sequence length", 1)] {
            for other in [&key, &value] {
                if let (Some(one), Some(other)) = (query.shape.get(at), other.shape.get(at)) {
                    agree(what, one, other)?;
                }
            }
        }
        let [batch, length] = [0, 1].map(|at| query.shape.get(at).cloned().unwrap_or_default());
        let state = vec![batch.clone(), dim(self.key_heads), key_size, value_size.clone()];
        let mut state_dtype = query.dtype;
        if cx.has(STATE) {
            let past = cx.tensor_of_rank(STATE, 4)?;
            state_dtype = floats(cx, STATE)?.dtype;
            sizes::shaped("the state", &past, &state)?;
        }
        let hidden = if self.query_heads <= self.key_heads {
            value.shape.last().cloned()
        } else {
            value_size.mul(&dim(self.query_heads))
        };
        let hidden = cx.dim_or_fresh(hidden, "hidden");
        cx.output(0, query.dtype, vec![batch, length, hidden]);
        cx.output(1, state_dtype, state);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if !self.fits(cx)? {
            cx.may_fail();
        }
        let (query, key, value) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let [state, decay, beta] = [cx.optional(STATE)?, cx.optional(DECAY)?, cx.optional(BETA)?];
        let heads = [self.query_heads, self.key_heads].map(Literal::usize_unsuffixed);
        let [query_heads, key_heads] = heads;
        let scale = match self.scale {
            Some(scale) => {
                let scale = float_literal(f64::from(scale), DType::F32);
                code!(Some(#scale))
            }
            None => code!(None),
        };
        let result = code! {
            ops::linear_attention::linear_attention(
                #query, #key, #value, #state, #decay, #beta,
                ops::linear_attention::LinearAttention {
                    query_heads: #query_heads,
                    key_heads: #key_heads,
                    scale: #scale,
                },
            )
        };
        Ok(match cx.outputs() {
            1 => code!(#result.0),
            _ => result,
        })
    }
}

impl LinearAttention {
    /// Returns `true` if operands cannot contradict each other in any run.
    fn fits(&self, cx: &Emit<'_, '_>) -> Result<bool, Problem> {
        let known =
            |input: usize, heads: usize| Ok::<_, Problem>(heads::known(cx.tensor_type(input)?, Some(heads)));
        let operands = [known(0, self.query_heads)?, known(1, self.key_heads)?, known(2, self.key_heads)?];
        let [Some(query), Some(key), Some(value)] = operands else {
            return Ok(false);
        };
        let tokens = |shape: &[Dim]| shape.first() == Some(&query[0]) && shape.get(1) == Some(&query[2]);
        let mut fits = heads::fit([&query, &key, &value]) && query[2] == key[2];
        if cx.has(STATE) {
            let state = [&query[0], &key[1], &key[3], &value[3]];
            fits &= cx.tensor_type(STATE)?.shape.iter().eq(state);
        }
        for input in [DECAY, BETA] {
            if cx.has(input) {
                let shape = &cx.tensor_type(input)?.shape;
                fits &= tokens(shape) && shape.last().is_some_and(|last| last.number().is_some());
            }
        }
        Ok(fits)
    }

    /// Checks an input that some update rules require and others do not have.
    fn check(
        &self,
        cx: &Infer<'_>,
        input: usize,
        (name, needed): (&str, bool),
        [query, key]: [&TensorType; 2],
    ) -> Result<(), Problem> {
        if cx.has(input) != needed {
            let rule = match (self.gated, self.delta) {
                (false, false) => "linear",
                (true, false) => "gated",
                (false, true) => "delta",
                (true, true) => "gated_delta",
            };
            return Err(Problem::new(match needed {
                true => format!("input `{name}` is missing, which update rule `{rule}` requires"),
                false => format!("update rule `{rule}` does not accept input `{name}`"),
            }));
        }
        if !needed {
            return Ok(());
        }
        let tensor = cx.tensor_of_rank(input, 3)?;
        let last = tensor.shape.last().and_then(Dim::number);
        let hidden = key.shape.last().cloned().unwrap_or_default();
        let other = if input == BETA { Dim::from(1) } else { hidden };
        let fits = last.is_none_or(|last| {
            dim(self.key_heads).is(last) || other.number().is_none_or(|other| other == last)
        });
        let what = format!("`{name}`");
        if !fits {
            let expected = format!("a last axis of size {} or {other}", self.key_heads);
            return Err(Problem::expected(what, tensor, expected));
        }
        sizes::same_type((&what, &tensor), ("the query", query))
    }
}

/// Returns an input with heads packed into its last axis, and the size of a head.
fn operand(cx: &mut Infer<'_>, input: usize, heads: usize) -> Result<(TensorType, Dim), Problem> {
    floats(cx, input)?;
    let tensor = cx.tensor_of_rank(input, 3)?;
    let hidden = tensor.shape.last().cloned().unwrap_or_default();
    let size = unpacked(cx, &hidden, heads)?;
    Ok((tensor, size))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_state_is_of_the_type_of_the_past() {
        check(
            r#"<ir_version: 13, opset_import: ["": 27]>
            g (float16[b, t, 32] q, float16[b, t, 16] k, float16[b, t, 8] v, float[b, 2, 8, 4] s)
            => (float16[b, t, 16] y, float[b, 2, 8, 4] n) {
                y, n = LinearAttention <update_rule = "linear", q_num_heads = 4, kv_num_heads = 2> (q, k, v, s)
            }"#,
            expect![[r#"
                g (float16[b, t, 32] q, float16[b, t, 16] k, float16[b, t, 8] v, float32[b, 2, 8, 4] s) => (float16[b, t, 16] y, float32[b, 2, 8, 4] n)
                {
                    float16[b, t, 16] y, float32[b, 2, 8, 4] n = LinearAttention <query_heads: 4, key_heads: 2> (q, k, v, s)
                }
            "#]],
        );
    }

    #[test]
    fn key_heads_of_microsoft_may_share_query_heads() {
        let graph = |domain: &str, [queries, keys]: [usize; 2], more: &str| {
            let (q, k, v) = (queries * 4, keys * 4, keys * 6);
            format!(
                r#"<ir_version: 13, opset_import: ["": 27, "com.microsoft": 1]>
                g (float[b, t, {q}] q, float[b, t, {k}] k, float[b, t, {v}] v) => (float[b, t, h] y, float[b, {keys}, 4, 6] n) {{
                    y, n = {domain}LinearAttention <update_rule = "linear", q_num_heads = {queries}, kv_num_heads = {keys}{more}> (q, k, v)
                }}"#
            )
        };
        check(
            &graph("com.microsoft.", [2, 4], ""),
            expect![[r#"
            g (float32[b, t, 8] q, float32[b, t, 16] k, float32[b, t, 24] v) => (float32[b, t, 24] y, float32[b, 4, 4, 6] n)
            {
                float32[b, t, 24] y, float32[b, 4, 4, 6] n = com.microsoft.LinearAttention <query_heads: 2, key_heads: 4> (q, k, v)
            }
        "#]],
        );
        check(
            &graph("", [2, 4], ""),
            expect![[r#"
            cannot compile `model`

              the number of query heads is 2, expected a multiple of 4, the number of key heads
                at node `y` (LinearAttention opset 27)

              model: IR version 13, ai.onnx 27, com.microsoft 1"#]],
        );
        check(
            &graph("com.microsoft.", [3, 4], ""),
            expect![[r#"
            cannot compile `model`

              the number of query heads is 3, expected a divisor of 4, the number of key heads
                at node `y` (com.microsoft.LinearAttention opset 1)

              model: IR version 13, ai.onnx 27, com.microsoft 1"#]],
        );
        check(
            &graph("com.microsoft.", [2, 2], ", state_window = 2"),
            expect![[r#"
            cannot compile `model`

              `state_window` is 2, expected 0
                at node `y` (com.microsoft.LinearAttention opset 1)

              model: IR version 13, ai.onnx 27, com.microsoft 1"#]],
        );
    }

    #[test]
    fn rules_have_the_inputs_they_need() {
        check(
            r#"<ir_version: 13, opset_import: ["": 27]>
            g (float[b, t, 16] q, float[b, t, 16] k, float[b, t, 8] v) => (float[b, t, 8] y) {
                y, state = LinearAttention <update_rule = "delta", q_num_heads = 2, kv_num_heads = 2> (q, k, v)
            }"#,
            expect![[r#"
                cannot compile `model`

                  input `beta` is missing, which update rule `delta` requires
                    at node `y` (LinearAttention version 27)

                  model: IR version 13, ai.onnx 27"#]],
        );
    }
}
