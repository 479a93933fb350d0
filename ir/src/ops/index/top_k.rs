//! TopK: the largest or smallest elements along an axis.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::reduce::arg_max::ordered;
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] = &[row("TopK", &[1, 10, 11, 24], top)
    .newer(&[("largest", 11), ("sorted", 11)])
    .arity("rr", "rr")
    .before(&[(10, "r", "rr")])];

/// The largest or smallest elements along an axis in order, and their indices. Their number is an attribute before
/// version 10, then input 1.
#[derive(Debug)]
struct Top {
    count: Option<i64>,
    axis: i64,
    largest: bool,
}

attributes!(struct Top { count, axis, largest });

fn top(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    // If no order is required, any order is valid.
    a.ignore(&["sorted"]);
    let count = match a.version() {
        ..10 => Some(a.required("k", Attributes::int)?),
        _ => None,
    };
    Ok(Rc::new(Top {
        count,
        axis: a.int_or("axis", -1)?,
        largest: a.version() < 11 || a.flag("largest", true)?,
    }))
}

impl Operator for Top {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let mut x = ordered(cx)?;
        let along = axis(self.axis, x.rank())?;
        let count = match (self.count, cx.ints(1).as_deref()) {
            (Some(count), _) => Some(Dim::from(count)),
            (None, Some([count])) => Some(count.clone()),
            (None, Some(counts)) => {
                sizes::length("`k`", counts.len(), 1)?;
                None
            }
            (None, None) => {
                cx.tensor(1)?;
                None
            }
        };
        let count = cx.dim_or_fresh(count, "top");
        if let Some(size) = x.shape.get_mut(along) {
            let more = matches!((count.number(), size.number()), (Some(k), Some(n)) if k > n);
            if more || count.number().is_some_and(|count| count < 0) {
                return Err(Problem::expected("`k`", count, format_args!("an integer from 0 to {size}")));
            }
            *size = count;
        }
        cx.output(0, x.dtype, x.shape.clone());
        cx.output(1, DType::I64, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x_type = cx.tensor_type(0)?.clone();
        let at = axis(self.axis, x_type.rank())?;
        let output = cx.output_tensor(0).or_else(|_| cx.output_tensor(1))?;
        let kept = output.shape.get(at).cloned();
        let all = x_type.shape.get(at) == kept.as_ref();
        let numbers = x_type.shape.get(at).and_then(Dim::number).zip(kept.and_then(|k| k.number()));
        if !all && numbers.is_none() {
            cx.may_fail();
        }
        let count = match (self.count, cx.known(1)) {
            (None, None) => {
                let count = cx.host_int(1)?;
                code!(#count as usize)
            }
            (None, Some(Known::Ints(dims))) => {
                let count = dims.first().cloned().unwrap_or_default();
                cx.size(&count)
            }
            (count, _) => cx.size(&Dim::from(count.unwrap_or_default())),
        };
        let (x, at, largest) = (cx.tensor(0)?, Literal::usize_unsuffixed(at), self.largest);
        let found = code!(ops::top_k::top_k(#x, #count, #at, #largest));
        Ok(match cx.outputs() {
            1 => code!(#found.0),
            _ => found,
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn counts_may_be_sizes() {
        check(
            r#"
            main (float[N, 5] x, int64[1] k) => (float[N, N] a, int64[N, N] i, float[top, 5] b) {
                s = Shape <end = 1> (x)
                a, i = TopK (x, s)
                b, j = TopK <axis = 0> (x, k)
            }
            "#,
            expect![[r#"
                main (float32[N, 5] x, host int64[1] k) => (float32[N, N] a, int64[N, N] i, float32[top, 5] b)
                <
                    int64[1] s = {N}
                >
                {
                    float32[N, N] a, int64[N, N] i = TopK <axis: -1, largest: true> (x, s)
                    float32[top, 5] b, _ = TopK <axis: 0, largest: true> (x, k)
                }
            "#]],
        );
    }

    #[test]
    fn more_than_there_are_is_a_problem() {
        check(
            "main (float[4] x) => (float[5] y) <int64[1] k = {5}> { y, i = TopK (x, k) }",
            expect![[r#"
                cannot compile `model`

                  `k` is 5, expected an integer from 0 to 4
                    at node `y` (TopK version 11)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
