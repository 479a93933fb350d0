//! OneHot: classes encoded along an axis.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] =
    &[row("OneHot", &[9, 11, 28], |a| Ok(Rc::new(OneHot { axis: a.int_or("axis", -1)? }))).arity("rrr", "r")];

/// One-hot encoding along a new axis of size `depth`: the second value at the index, otherwise the first.
#[derive(Debug)]
struct OneHot {
    axis: i64,
}

attributes!(struct OneHot { axis });

impl Operator for OneHot {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (indices, depth, values) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        if depth.rank() > 1 || depth.count().is_some_and(|count| count != 1) {
            return Err(Problem::expected("`depth`", depth, "one number"));
        }
        if values.rank() != 1 || values.count().is_some_and(|count| count != 2) {
            return Err(Problem::expected("`values`", values, "shape [2]"));
        }
        if !indices.dtype.is_int() && !indices.dtype.is_float() {
            return Err(Problem::expected("`indices`", indices, "floats or integers"));
        }
        let size = match cx.known(1) {
            Some(Known::Ints(depth)) => depth.first().cloned(),
            Some(Known::Floats(depth)) => depth.first().map(|&depth| Dim::from(depth as i64)),
            _ => None,
        };
        if let Some(size) = size.as_ref().and_then(Dim::number).filter(|&size| size < 0) {
            return Err(Problem::expected("`depth`", size, "a non-negative integer"));
        }
        let size = cx.dim_or_fresh(size, "depth");
        let mut shape = indices.shape;
        let axis = axis(self.axis, shape.len().saturating_add(1))?;
        shape.insert(axis, size);
        cx.output(0, values.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let output = cx.output_tensor(0)?.clone();
        let at = axis(self.axis, output.rank())?;
        let depth = if cx.is_known(1) {
            let depth = output.shape.get(at).cloned().unwrap_or_default();
            if depth.number().is_none() {
                cx.may_fail();
            }
            cx.size(&depth)
        } else {
            cx.may_fail();
            let depth = cx.host_int(1)?;
            code!(ops::sizes::size(#depth))
        };
        let integers = cx.tensor_type(0)?.dtype.is_int();
        let (mut indices, values) = (cx.tensor(0)?, cx.tensor(2)?);
        if !integers {
            indices = code!(ops::cast::float_to_int(#indices, DType::I64));
        }
        let (rank, at) = (Literal::usize_unsuffixed(output.rank()), Literal::usize_unsuffixed(at));
        Ok(code!(ops::select::one_hot::<_, #rank, _>(#indices, #depth, #values, #at)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn moves(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_depth_is_a_size() {
        check(
            "g (int64[n] x, int64 d) => (float[a, b] y, float[c, e] z)
            <float five = {5.0}, float[2] values = {0, 1}> {
                y = OneHot<axis: int = 0>(x, five, values)
                z = OneHot(x, d, values)
            }",
            expect![[r#"
                g (int64[n] x, host int64[] d) => (float32[5, n] y, float32[n, depth] z)
                <
                    float32[] five = {5},
                    float32[2] values = {0, 1}
                >
                {
                    float32[5, n] y = OneHot <axis: 0> (x, five, values)
                    float32[n, depth] z = OneHot <axis: -1> (x, d, values)
                }
            "#]],
        );
    }
}
