//! SwiGLU: a tensor gated by another one.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("SwiGLU", &[28], read).follows().arity("rr", "r")];

#[derive(Debug)]
struct SwiGlu {
    alpha: f32,
}

attributes!(struct SwiGlu { alpha });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(SwiGlu { alpha: a.float_or("alpha", 1.0)? }))
}

impl Operator for SwiGlu {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
        let mut pairs = a.shape.iter().zip(&b.shape);
        let same = |(a, b): (&Dim, &Dim)| a == b || a.number().is_none() || b.number().is_none();
        if a.dtype != b.dtype || !a.dtype.is_float() || a.rank() != b.rank() || !pairs.all(same) {
            return Err(Problem::new(format!(
                "the inputs are {a} and {b}, expected floats of the same type and shape"
            )));
        }
        let shape = a.shape.into_iter().zip(b.shape);
        let shape = shape.map(|(a, b)| if b.number().is_some() { b } else { a });
        cx.output(0, a.dtype, shape.collect());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
        let alpha = float_literal(f64::from(self.alpha), DType::F32);
        Ok(code!(ops::activation::swiglu(#a, #b, #alpha)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn nothing_is_broadcast() {
        check(
            r#"<ir_version: 13, opset_import: ["": 28]>
            g (float[n, 3] a, float[1, 1] b) => (float[n, 3] y) { y = SwiGLU (a, b) }"#,
            expect![[r#"
                cannot compile `model`

                  the inputs are float32[n, 3] and float32[1, 1], expected floats of the same type and shape
                    at node `y` (SwiGLU version 28)

                  model: IR version 13, ai.onnx 28"#]],
        );
    }

    #[test]
    fn a_size_may_be_known_of_either() {
        check(
            r#"<ir_version: 13, opset_import: ["": 28]>
            g (float[n, 3] a, float[2, m] b) => (float[k, l] y) { y = SwiGLU <alpha = 2.0> (a, b) }"#,
            expect![[r#"
                g (float32[n, 3] a, float32[2, m] b) => (float32[2, 3] y)
                {
                    float32[2, 3] y = SwiGLU <alpha: 2.0> (a, b)
                }
            "#]],
        );
    }
}
