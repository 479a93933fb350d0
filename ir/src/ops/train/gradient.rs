//! Gradient, and operators that express derivatives.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::ElementClass;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, TRAINING, row};
use crate::rust::{Code, code};
use crate::types::{Known, Shape};

pub const ROWS: &[Row] = &[row("Gradient", &[1], gradient)
    .arity("+", "+")
    .of(TRAINING)
    .noted("expanded at compile time; every operator between `xs` and `y` must have a differentiation rule")];

/// Operators that do not occur in files.
pub const WRITTEN: &[Row] = &[
    row("SumTo", &[1], |_| Ok(Rc::new(SumTo))).arity("*", "r").of(DERIVATIVES),
    row("Number", &[1], number).arity("*", "r").of(DERIVATIVES),
];

/// Domain of [`WRITTEN`].
pub const DERIVATIVES: &str = "onnx-embed.derivatives";

/// Names of the tensors of a gradient in the graph.
#[derive(Debug)]
pub struct Named {
    /// Tensors with respect to which `y` is differentiated.
    pub xs: Vec<String>,
    /// Other inputs.
    pub zs: Vec<String>,
    pub y: String,
}

impl Named {
    pub fn read(a: &Attributes<'_>) -> Result<Named, Problem> {
        Ok(Named {
            xs: a.required("xs", Attributes::strings)?,
            zs: a.strings("zs")?.unwrap_or_default(),
            y: a.required("y", Attributes::string)?,
        })
    }
}

/// Reports a node that was not replaced. Reading replaces gradients, because only it sees the graph that is
/// differentiated.
fn gradient(_: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Err(Problem::new("a gradient is supported only in a graph"))
}

/// Reverse of broadcasting: input 0 summed to the sizes of input 1.
#[derive(Debug)]
struct SumTo;

attributes!(struct SumTo);

/// A scalar of the element type of input 0.
#[derive(Debug)]
struct Number {
    value: f64,
}

attributes!(struct Number { value });

fn number(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let text = a.string_or("value", "0")?;
    let value = text.parse();
    let value = value.map_err(|_| Problem::expected("`value`", format_args!("`{text}`"), "a number"))?;
    Ok(Rc::new(Number { value }))
}

impl Operator for SumTo {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (from, to) = (cx.tensor(0)?, cx.tensor(1)?);
        if !from.dtype.is_float() || from.rank() < to.rank() {
            let expected = format_args!("floats of rank {} or more", to.rank());
            return Err(Problem::expected("the gradient", from, expected));
        }
        cx.output(0, from.dtype, to.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor(0)?;
        let to = cx.output_tensor(0)?.shape.clone();
        if cx.tensor_type(0)?.shape == to {
            return Ok(x);
        }
        let shape = cx.shape(&to);
        Ok(code!(ops::expand::sum_to(#x, #shape)))
    }
}

impl Operator for Number {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let like = cx.tensor(0)?;
        let known = match like.dtype.kind() {
            ElementClass::Float => Known::Floats(vec![self.value]),
            ElementClass::Int => Known::Ints(vec![(self.value as i64).into()]),
            _ => return Err(Problem::new(format!("{like} has no derivative"))),
        };
        cx.output(0, like.dtype, Shape::new());
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, _: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        Err(Problem::defect("a constant number is computed at compile time"))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn gradients_have_the_sizes_of_what_they_are_of() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview.training": 1]> g (float[n, 3] x, float[3] b) => (float[3] g) { z = Add (x, b) g = ai.onnx.preview.training.Gradient <xs = ["b"], y = "z"> (b) }"#,
            expect![[r#"
                g (float32[n, 3] x, float32[3] b) => (float32[3] g/d1.4)
                <
                    float32[] g/n.1 = {1},
                    int64[2] g/s.2 = {n, 3}
                >
                {
                    float32[n, 3] g/filled.3 = Expand (g/n.1, g/s.2)
                    float32[3] g/d1.4 = onnx-embed.derivatives.SumTo (g/filled.3, b)
                }
            "#]],
        );
    }

    #[test]
    fn a_gradient_names_its_tensors() {
        problems(
            &[
                r#"(float[3] x) => (float[3] g) { z = Neg (x) g = ai.onnx.preview.training.Gradient <y = "z"> (x) }"#,
                r#"(float[3] x) => (float[3] g) { z = Neg (x) g = ai.onnx.preview.training.Gradient <xs = ["x"]> (x) }"#,
                r#"(float[3] x) => (float[3] g) { z = Neg (x) g = ai.onnx.preview.training.Gradient <xs = ["x"], y = "w"> (x) }"#,
            ],
            expect![[r#"
                attribute `xs` is missing
                attribute `y` is missing
                no node of the graph produces `w`
            "#]],
        );
    }
}
