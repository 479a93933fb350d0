//! Softmax and related operators, along one axis.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::ElementClass;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row};
use crate::rows::Rows;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("Softmax", &[1, 11, 13], |a| softmax(a, "softmax")).nonnegative().hoisted().follows(),
    row("LogSoftmax", &[1, 11, 13], |a| softmax(a, "log_softmax")),
    row("Hardmax", &[1, 11, 13], |a| softmax(a, "hardmax")),
];

#[derive(Debug)]
pub struct Softmax {
    function: &'static str,
    axis: i64,
    /// Whether the version is below 13, in which all axes from this one on are flattened.
    flat: bool,
}

attributes!(struct Softmax { function, axis, flat });

fn softmax(a: &Attributes<'_>, function: &'static str) -> Result<Rc<dyn Operator>, Problem> {
    let flat = a.version() < 13;
    Ok(Rc::new(Softmax { function, axis: a.int_or("axis", if flat { 1 } else { -1 })?, flat }))
}

impl Softmax {
    /// Returns `true` for a softmax along only the last axis of a tensor of this rank.
    pub fn is_along_last(&self, rank: usize) -> bool {
        let last = rank.checked_sub(1);
        self.function == "softmax" && last.is_some() && axis(self.axis, rank).ok() == last
    }
}

impl Operator for Softmax {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if x.dtype.kind() != ElementClass::Float {
            return Err(Problem::expected("the input", x, "floats"));
        }
        if !(x.rank() == 0 || self.flat && usize::try_from(self.axis) == Ok(x.rank())) {
            axis(self.axis, x.rank())?;
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let x = cx.tensor(0)?;
        let at = match operand.rank() {
            0 => 0,
            rank => axis(self.axis, rank).unwrap_or(rank),
        };
        let inner: Option<Vec<usize>> =
            operand.shape.iter().skip(at.saturating_add(1)).map(|dim| dim.fixed()).collect();
        let together = self.flat && inner.is_none_or(|sizes| sizes.iter().any(|&size| size != 1));
        let axis = Literal::usize_unsuffixed(at);
        let half = operand.dtype.is_half();
        if together {
            let function = format_ident!("{}_flat", self.function);
            return Ok(code!(ops::softmax::#function(#x, #axis)));
        }
        let function = format_ident!("{}", self.function);
        Ok(match self.function {
            "log_softmax" if half => {
                code!(ops::activation::in_single(#x, |x| ops::softmax::log_softmax(x, #axis)))
            }
            _ => code!(ops::softmax::#function(#x, #axis)),
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (at, rank) = (rows.alone()?, rows.tensor(0)?.rank());
        let first = axis(self.axis, rank).ok()?;
        let is_normalized = if self.flat { at >= first } else { at == first };
        (!is_normalized).then(|| vec![at])
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn the_axis_of_old_versions_is_1() {
        check(
            r#"<ir_version: 6, opset_import: ["": 12]> g (float[n, 2, 3] x) => (float[n, 2, 3] y) { y = Softmax (x) }"#,
            expect![[r#"
                g (float32[n, 2, 3] x) => (float32[n, 2, 3] y)
                {
                    float32[n, 2, 3] y = Softmax <function: "softmax", axis: 1, flat: true> (x)
                }
            "#]],
        );
    }

    #[test]
    fn the_axis_is_one_of_the_input() {
        problems(
            &[
                r#"(float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 2> (x) }"#,
                r#"(float[2, 3] x) => (float[2, 3] y) { y = LogSoftmax <axis = -3> (x) }"#,
                r#"<ir_version: 6, opset_import: ["": 12]> g (float[2, 3] x) => (float[2, 3] y) { y = Hardmax <axis = 2> (x) }"#,
                r#"(int32[2, 3] x) => (int32[2, 3] y) { y = Softmax (x) }"#,
                r#"(float x) => (float y) { y = Softmax (x) }"#,
            ],
            expect![[r#"
                axis 2 is out of bounds for a tensor of rank 2
                axis -3 is out of bounds for a tensor of rank 2
                fine
                the input is int32[2, 3], expected floats
                fine
            "#]],
        );
    }
}
