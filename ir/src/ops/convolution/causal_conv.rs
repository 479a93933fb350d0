//! CausalConvWithState: a depthwise convolution that continues a sequence.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[row("CausalConvWithState", &[27], read).arity("rroo", "rr")];

const BIAS: usize = 2;
const STATE: usize = 3;

#[derive(Debug)]
struct CausalConv {
    /// Whether results are multiplied by their sigmoid.
    gated: bool,
}

attributes!(struct CausalConv { gated });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let activations = [("none", false), ("silu", true), ("swish", true)];
    Ok(Rc::new(CausalConv { gated: a.choice("activation", "none", &activations)? }))
}

impl Operator for CausalConv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight) = (cx.tensor_of_rank(0, 3)?, cx.tensor_of_rank(1, 3)?);
        let [batch, channels] = [0, 1].map(|at| x.shape.get(at).cloned().unwrap_or_default());
        let size = weight.shape.last().cloned().unwrap_or_default();
        if size.is(0) {
            return Err(Problem::expected("the weight", weight, "a kernel size of at least 1"));
        }
        let state = size.sub(&Dim::from(1));
        let state = vec![batch, channels.clone(), cx.dim_or_fresh(state, "state")];
        check(cx, 1, &x, &[channels.clone(), Dim::from(1), size])?;
        if cx.has(BIAS) {
            check(cx, BIAS, &x, &[channels])?;
        }
        if cx.has(STATE) {
            check(cx, STATE, &x, &state)?;
        }
        cx.output(0, x.dtype, x.shape);
        cx.output(1, x.dtype, state);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let (x, weight, gated) = (cx.tensor(0)?, cx.tensor(1)?, self.gated);
        let (bias, state) = (cx.optional(BIAS)?, cx.optional(STATE)?);
        let result = code!(ops::causal_conv::causal_conv(#x, #weight, #bias, #state, #gated));
        Ok(match cx.outputs() {
            1 => code!(#result.0),
            _ => result,
        })
    }
}

/// Checks that an input has the type of the first one, which must contain floats, and these sizes, if they are known.
fn check(cx: &Infer<'_>, input: usize, x: &TensorType, shape: &[Dim]) -> Result<(), Problem> {
    let operand = cx.tensor(input)?;
    if !x.dtype.is_float() {
        return Err(Problem::expected("the input", x, "floats"));
    }
    if sizes::shaped("", &operand, shape).is_ok() && operand.dtype == x.dtype {
        Ok(())
    } else {
        let expected = TensorType::new(x.dtype, shape.to_vec());
        Err(Problem::expected(format_args!("input {input}"), operand, expected))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_state_is_what_the_kernel_sees_before_an_element() {
        check(
            r#"<ir_version: 13, opset_import: ["": 27]>
            g (float[n, 4, t] x, float[4, 1, 3] w) => (float[n, 4, t] y, float[n, 4, s] state) {
                y, state = CausalConvWithState <activation = "silu"> (x, w)
            }"#,
            expect![[r#"
                g (float32[n, 4, t] x, float32[4, 1, 3] w) => (float32[n, 4, t] y, float32[n, 4, 2] state)
                {
                    float32[n, 4, t] y, float32[n, 4, 2] state = CausalConvWithState <gated: true> (x, w)
                }
            "#]],
        );
    }

    #[test]
    fn there_is_one_kernel_for_each_channel() {
        check(
            r#"<ir_version: 13, opset_import: ["": 27]>
            g (float[n, 4, t] x, float[2, 2, 3] w) => (float[n, 4, t] y) {
                y, state = CausalConvWithState (x, w)
            }"#,
            expect![[r#"
                cannot compile `model`

                  input 1 is float32[2, 2, 3], expected float32[4, 1, 3]
                    at node `y` (CausalConvWithState version 27)

                  model: IR version 13, ai.onnx 27"#]],
        );
    }
}
