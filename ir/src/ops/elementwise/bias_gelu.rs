//! Sums of an input and a bias, and Gelu of them.

use std::rc::Rc;

use quote::format_ident;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("BiasGelu", &[1], |_| Ok(Rc::new(Gelu("bias_gelu")))).follows().arity("rr", "r").of(MICROSOFT),
    row("FastGelu", &[1], |_| Ok(Rc::new(Gelu("fast_gelu")))).follows().arity("ro", "r").of(MICROSOFT),
    row("BiasAdd", &[1], |_| Ok(Rc::new(BiasAdd))).follows().arity("rrr", "r").of(MICROSOFT),
    row("BiasSplitGelu", &[1], |_| Ok(Rc::new(BiasSplitGelu))).follows().arity("rr", "r").of(MICROSOFT),
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

/// Sum of an input `[N, S, C]`, a bias of the channels and a residual.
#[derive(Debug)]
struct BiasAdd;

attributes!(struct BiasAdd);

impl Operator for BiasAdd {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = channels(cx)?;
        sizes::shaped("`skip`", &cx.tensor(2)?, &x.shape)?;
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let (x, bias, skip) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        Ok(code!(ops::activation::bias_add(#x, #bias, #skip)))
    }
}

/// First half of the channels of an input `[N, S, C]` with a bias, times Gelu of the second half.
#[derive(Debug)]
struct BiasSplitGelu;

attributes!(struct BiasSplitGelu);

impl Operator for BiasSplitGelu {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let TensorType { dtype, mut shape } = channels(cx)?;
        if let Some(size) = shape.last_mut() {
            sizes::multiple(("the input", size, "channels"), (2, "halves"))?;
            let half = size.div(&Dim::from(2));
            *size = cx.dim_or_fresh(half, "half");
        }
        cx.output(0, dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        if cx.tensor_type(0)?.shape.last().is_none_or(|size| size.number().is_none()) {
            cx.may_fail();
        }
        let (x, bias) = (cx.tensor(0)?, cx.tensor(1)?);
        Ok(code!(ops::activation::bias_split_gelu(#x, #bias)))
    }
}

/// Returns the type of the input, `[N, S, C]`, whose bias has `C` elements.
fn channels(cx: &Infer<'_>) -> Result<TensorType, Problem> {
    let (x, bias) = (cx.tensor_of_rank(0, 3)?, cx.tensor(1)?);
    sizes::shaped("the bias", &bias, x.shape.get(2..).unwrap_or_default())?;
    Ok(x)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn channels_have_a_bias_and_two_halves() {
        problems(
            &[
                r#"(float[2, 5, 8] x, float[8] b, float[2, 5, 8] s) => (float[2, 5, 8] y) { y = com.microsoft.BiasAdd (x, b, s) }"#,
                r#"(float[2, 5, 8] x, float[8] b, float[1, 5, 8] s) => (float[2, 5, 8] y) { y = com.microsoft.BiasAdd (x, b, s) }"#,
                r#"(float[2, 5, 8] x, float[7] b, float[2, 5, 8] s) => (float[2, 5, 8] y) { y = com.microsoft.BiasAdd (x, b, s) }"#,
                r#"(float[5, 8] x, float[8] b, float[5, 8] s) => (float[5, 8] y) { y = com.microsoft.BiasAdd (x, b, s) }"#,
                r#"(float[n, m, 8] x, float[8] b) => (float[n, m, 4] y) { y = com.microsoft.BiasSplitGelu (x, b) }"#,
                r#"(float[n, m, 7] x, float[7] b) => (float[n, m, c] y) { y = com.microsoft.BiasSplitGelu (x, b) }"#,
                r#"(double[n, m, 8] x, double[8] b) => (double[n, m, 4] y) { y = com.microsoft.BiasSplitGelu (x, b) }"#,
            ],
            expect![[r#"
                fine
                `skip` is float32[1, 5, 8], expected shape [2, 5, 8]
                the bias is float32[7], expected shape [8]
                input 0 is float32[5, 8], expected rank 3
                fine
                the input has 7 channels, expected a multiple of 2, the number of halves
                input 0 (`X`) is float64[n, m, 8], expected float32 or float16
            "#]],
        );
    }

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
