//! CausalConvWithState: a depthwise convolution that continues a sequence.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("CausalConvWithState", &[27], |a| Ok(Rc::new(CausalConv::read(a)?))).arity("rroo", "rr"),
    row("CausalConvWithState", &[1], microsoft).arity("rroo", "rro").of(MICROSOFT),
];

const BIAS: usize = 2;
const STATE: usize = 3;

#[derive(Debug)]
struct CausalConv {
    /// Whether results are multiplied by their sigmoid.
    gated: bool,
    /// Number of elements from an element that the kernel sees to the next.
    dilation: usize,
    /// Whether the channels are the axes after the sequence, instead of the axis before it.
    channels_last: bool,
}

attributes!(struct CausalConv { gated, dilation, channels_last });

/// Reads the operator of com.microsoft. What only ONNX Runtime's CUDA provider computes is refused.
fn microsoft(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let fixed = [
        ("ndim", 1),
        ("state_window", 0),
        ("state_length", 0),
        ("state_channels_last", -1),
        ("state_update_capacity", 0),
        ("input_channel_offset", 0),
        ("input_channels", 0),
    ];
    for (name, value) in fixed {
        let found = a.int_or(name, value)?;
        if found != value {
            return Err(Problem::expected(format_args!("`{name}`"), found, value));
        }
    }
    let dilation = match a.int("dilation")? {
        None => 1,
        Some(_) => a.positive("dilation")?,
    };
    if dilation >= 1 << 31 {
        return Err(Problem::expected("`dilation`", dilation, "an integer below 2147483648"));
    }
    let channels_last = a.flag("channels_last", false)?;
    Ok(Rc::new(CausalConv { dilation, channels_last, ..CausalConv::read(a)? }))
}

impl CausalConv {
    fn read(a: &Attributes<'_>) -> Result<Self, Problem> {
        let activations = [("none", false), ("silu", true), ("swish", true)];
        let gated = a.choice("activation", "none", &activations)?;
        Ok(CausalConv { gated, dilation: 1, channels_last: false })
    }
}

impl Operator for CausalConv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, weight) = (cx.tensor(0)?, cx.tensor_of_rank(1, 3)?);
        if x.rank() != 3 && !(self.channels_last && x.rank() > 3) {
            let expected = if self.channels_last { "rank 3 or more" } else { "rank 3" };
            return Err(Problem::expected("the input", x, expected));
        }
        let channels = match self.channels_last {
            true => cx.dim_or_fresh(Dim::product(x.shape.get(2..).unwrap_or_default()), "channels"),
            false => x.shape.get(1).cloned().unwrap_or_default(),
        };
        let size = weight.shape.last().cloned().unwrap_or_default();
        if size.is(0) {
            return Err(Problem::expected("the weight", weight, "a kernel size of at least 1"));
        }
        let dilation = Dim::from(i64::try_from(self.dilation).unwrap_or(i64::MAX));
        let before = size.sub(&Dim::from(1)).and_then(|before| before.mul(&dilation));
        let before = cx.dim_or_fresh(before, "state");
        let mut state = x.shape.clone();
        if let Some(length) = state.get_mut(if self.channels_last { 1 } else { 2 }) {
            *length = before;
        }
        check(cx, 1, &x, &[channels.clone(), Dim::from(1), size])?;
        if cx.has(BIAS) {
            check(cx, BIAS, &x, &[channels])?;
        }
        if cx.has(STATE) {
            check(cx, STATE, &x, &state)?;
        }
        if cx.wants(2) {
            return Err(Problem::new("output 2, the state updates, is not supported")
                .help("export the model for decoding without speculation"));
        }
        cx.output(0, x.dtype, x.shape);
        cx.output(1, x.dtype, state);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let (x, weight, gated) = (cx.tensor(0)?, cx.tensor(1)?, self.gated);
        let (bias, state) = (cx.optional(BIAS)?, cx.optional(STATE)?);
        let dilation = Literal::usize_unsuffixed(self.dilation);
        let function = if self.channels_last { code!(causal_conv_last) } else { code!(causal_conv) };
        let result = code! {
            ops::causal_conv::#function(#x, #weight, #bias, #state, #dilation, #gated)
        };
        Ok(match cx.outputs() {
            1 => code!(#result.0),
            2 => result,
            _ => code!({
                let (y, state) = #result;
                (y, state, ())
            }),
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

    use crate::testing::{check, problems};

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
                    float32[n, 4, t] y, float32[n, 4, 2] state = CausalConvWithState <gated: true, dilation: 1> (x, w)
                }
            "#]],
        );
    }

    #[test]
    fn the_sequence_of_microsoft_may_come_first() {
        check(
            r#"<ir_version: 13, opset_import: ["": 21, "com.microsoft": 1]>
            g (float[n, t, 2, 3] x, float[6, 1, 3] w, float[n, 4, 2, 3] s) => (float[n, t, 2, 3] y, float[n, k, 2, 3] z) {
                y, z = com.microsoft.CausalConvWithState <channels_last = 1, dilation = 2> (x, w, , s)
            }"#,
            expect![[r#"
                g (float32[n, t, 2, 3] x, float32[6, 1, 3] w, float32[n, 4, 2, 3] s) => (float32[n, t, 2, 3] y, float32[n, 4, 2, 3] z)
                {
                    float32[n, t, 2, 3] y, float32[n, 4, 2, 3] z = com.microsoft.CausalConvWithState <dilation: 2, channels_last: true> (x, w, , s)
                }
            "#]],
        );
        let graph = |attributes: &str| {
            format!(
                "(float[n, 6, t] x, float[6, 1, 3] w) => (float[n, 6, t] y, float[n, 6, k] z) \
                 {{ y, z = com.microsoft.CausalConvWithState <{attributes}> (x, w) }}"
            )
        };
        let graphs = [
            r#"ndim = 2"#,
            r#"dilation = 0"#,
            r#"state_window = 1"#,
            r#"activation = "relu""#,
            r#"channels_last = 1"#,
            r#"input_channels = 3"#,
        ]
        .map(graph);
        problems(
            &graphs.each_ref().map(String::as_str),
            expect![[r#"
            `ndim` is 2, expected 1
            `dilation` is 0, expected a positive integer
            `state_window` is 1, expected 0
            `activation` is `relu`, expected `none`, `silu` or `swish`
            output `z` is declared as float32[n, 6, k], but has type float32[n, 2, t]
            `input_channels` is 3, expected 0
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
