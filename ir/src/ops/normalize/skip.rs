//! Normalization of the sum of an input and a skip connection.

use std::rc::Rc;

use super::floats;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("SkipLayerNormalization", &[1], |a| read(a, false)).arity("rrroo", "rooo").follows().of(MICROSOFT),
    row("SkipSimplifiedLayerNormalization", &[1], |a| read(a, true))
        .arity("rrro", "rooo")
        .follows()
        .of(MICROSOFT),
];

/// Normalization of the sum of the first two inputs and a bias, over the last axis.
#[derive(Debug)]
struct Skip {
    epsilon: f32,
    /// Whether the mean is not subtracted.
    root_mean_square: bool,
}

attributes!(struct Skip { epsilon, root_mean_square });

fn read(a: &Attributes<'_>, root_mean_square: bool) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Skip { epsilon: a.float_or("epsilon", 1e-12)?, root_mean_square }))
}

impl Operator for Skip {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, skip) = (floats(cx, 1)?, cx.tensor(1)?);
        sizes::same_type(("`skip`", &skip), ("the input", &x))?;
        sizes::broadcasts("`skip`", &skip, &x.shape)?;
        let hidden = x.shape.last().cloned().unwrap_or_default();
        for input in (2..cx.inputs()).filter(|&input| cx.has(input)) {
            let factor = cx.tensor_of_rank(input, 1)?;
            sizes::shaped(&format!("input {input}"), &factor, std::slice::from_ref(&hidden))?;
        }
        if cx.wants(1) || cx.wants(2) {
            return Err(Problem::new("the statistics, outputs 1 and 2, are not supported")
                .help("export the model for inference"));
        }
        cx.output(0, x.dtype, x.shape.clone());
        cx.output(3, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let rank = cx.tensor_type(0)?.rank();
        let epsilon = float_literal(f64::from(self.epsilon), DType::F32);
        let (x, skip, scale) = (cx.tensor(0)?, cx.tensor_of_rank(1, rank)?, cx.tensor(2)?);
        let both = if self.root_mean_square {
            let bias = cx.optional(3)?;
            code!(ops::normalize::skip_rms_norm(#x, #skip, #scale, #bias, #epsilon))
        } else {
            let (shift, bias) = (cx.optional(3)?, cx.optional(4)?);
            code!(ops::normalize::skip_layer_norm(#x, #skip, #scale, #shift, #bias, #epsilon))
        };
        Ok(match cx.outputs() {
            1 => code!(#both.0),
            2 => code!((#both.0, ())),
            3 => code!((#both.0, (), ())),
            _ if !cx.wants(3) => code!((#both.0, (), (), ())),
            _ => code!({
                let (normed, sum) = #both;
                (normed, (), (), sum)
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn what_is_added_must_fit() {
        problems(
            &[
                r#"(float[2, 5, 8] x, float[4, 8] s, float[8] g) => (float[2, 5, 8] y) { y = com.microsoft.SkipLayerNormalization (x, s, g) }"#,
                r#"(float[2, 5, 8] x, float[5, 8] s, float[7] g) => (float[2, 5, 8] y) { y = com.microsoft.SkipLayerNormalization (x, s, g) }"#,
            ],
            expect![[r#"
                `skip` is float32[4, 8], expected a shape that broadcasts to [2, 5, 8]
                input 2 is float32[7], expected shape [8]
            "#]],
        );
    }
}
