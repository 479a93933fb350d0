//! Gelu of the sum of an input and a bias.

use std::rc::Rc;

use quote::format_ident;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("BiasGelu", &[1], |_| Ok(Rc::new(Gelu("bias_gelu")))).follows().arity("rr", "r").of(MICROSOFT),
    row("FastGelu", &[1], |_| Ok(Rc::new(Gelu("fast_gelu")))).follows().arity("ro", "r").of(MICROSOFT),
];

/// Gelu, with the name of its kernel function.
#[derive(Debug)]
struct Gelu(&'static str);

attributes!(struct Gelu(inner));

impl Operator for Gelu {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if !x.dtype.is_float() {
            return Err(Problem::expected("the input", x, "floats"));
        }
        if cx.has(1) || self.0 == "bias_gelu" {
            let bias = cx.tensor_of_rank(1, 1)?;
            let Some(size) = x.shape.last() else {
                return Err(Problem::expected("the input", x, "rank 1 or more"));
            };
            let length = bias.shape.last().and_then(Dim::number);
            if length.zip(size.number()).is_some_and(|(length, size)| length != size) {
                return Err(Problem::expected("the bias", bias, format_args!("shape [{size}]")));
            }
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let x = cx.tensor(0)?;
        if !cx.has(1) {
            return Ok(code!(ops::activation::gelu_tanh(#x)));
        }
        let (bias, function) = (cx.tensor(1)?, format_ident!("{}", self.0));
        Ok(code!(ops::activation::#function(#x, #bias)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn the_bias_has_the_last_size_of_the_input() {
        problems(
            &[
                r#"(float[2, 3] x, float[4] b) => (float[2, 3] y) { y = com.microsoft.BiasGelu (x, b) }"#,
                r#"(float[2, 3] x, float[1, 3] b) => (float[2, 3] y) { y = com.microsoft.BiasGelu (x, b) }"#,
                r#"(float[2, 3] x) => (float[2, 3] y) { y = com.microsoft.BiasGelu (x) }"#,
                r#"(int32[3] x, int32[3] b) => (int32[3] y) { y = com.microsoft.BiasGelu (x, b) }"#,
                r#"(float[2, 3] x) => (float[2, 3] y) { y = com.microsoft.FastGelu (x) }"#,
                r#"(float[2, n] x, float[3] b) => (float[2, n] y) { y = com.microsoft.FastGelu (x, b) }"#,
            ],
            expect![[r#"
                the bias is float32[4], expected shape [3]
                input 1 is float32[1, 3], expected rank 1
                expected 2 inputs, found 1
                the input is int32[3], expected floats
                fine
                fine
            "#]],
        );
    }
}
