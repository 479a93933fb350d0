//! ArgMax and ArgMin: indices of extremes along an axis.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row};
use crate::rows::{Rows, reduced};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("ArgMax", &[1, 11, 12, 13], |a| arg_reduce(a, "arg_max")),
    row("ArgMin", &[1, 11, 12, 13], |a| arg_reduce(a, "arg_min")),
];

/// The index of the maximum or minimum along an axis.
#[derive(Debug)]
struct ArgReduce {
    function: &'static str,
    axis: i64,
    keep: bool,
    /// Whether the last of equal elements is selected.
    last: bool,
}

attributes!(struct ArgReduce { function, axis, keep, last });

fn arg_reduce(a: &Attributes<'_>, function: &'static str) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(ArgReduce {
        function,
        axis: a.int_or("axis", 0)?,
        keep: a.flag("keepdims", true)?,
        last: a.version() >= 12 && a.flag("select_last_index", false)?,
    }))
}

/// Returns the type of input 0, whose elements must be ordered.
pub fn ordered(cx: &Infer<'_>) -> Result<TensorType, Problem> {
    let x = cx.tensor(0)?;
    if x.dtype.is_float() || x.dtype.is_int() {
        Ok(x)
    } else {
        Err(Problem::expected("the input", x, "floats or integers"))
    }
}

impl Operator for ArgReduce {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = ordered(cx)?;
        let along = axis(self.axis, x.rank())?;
        let size = |(at, dim): (usize, &Dim)| match (at == along, self.keep) {
            (true, true) => Some(Dim::from(1)),
            (true, false) => None,
            (false, _) => Some(dim.clone()),
        };
        let shape = x.shape.iter().enumerate().filter_map(size).collect();
        cx.output(0, DType::I64, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let along = Literal::usize_unsuffixed(axis(self.axis, cx.tensor_type(0)?.rank())?);
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        let (x, function, last) = (cx.tensor(0)?, format_ident!("{}", self.function), self.last);
        Ok(code!(ops::arg_max::#function::<_, #rank, _>(#x, #along, #last)))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let along = axis(self.axis, rows.tensor(0)?.rank()).ok()?;
        reduced(rows.alone()?, &[along], self.keep)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_axis_is_removed_or_of_size_1() {
        check(
            "main (float[N, 5] x) => (int64[1, 5] a, int64[N] b) {
                a = ArgMax (x)
                b = ArgMin <axis = -1, keepdims = 0, select_last_index = 1> (x)
            }",
            expect![[r#"
                main (float32[N, 5] x) => (int64[1, 5] a, int64[N] b)
                {
                    int64[1, 5] a = ArgMax <function: "arg_max", axis: 0, keep: true> (x)
                    int64[N] b = ArgMin <function: "arg_min", axis: -1, last: true> (x)
                }
            "#]],
        );
    }

    #[test]
    fn strings_have_no_order() {
        check(
            "main (string[4] x) => (int64[1] y) { y = ArgMax (x) }",
            expect![[r#"
                cannot compile `model`

                  the input is string[4], expected floats or integers
                    at node `y` (ArgMax version 13)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
