//! TensorScatter: a cache that is updated from an index on.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("TensorScatter", &[24], read).arity("rro", "r")];

const STARTS: usize = 2;

#[derive(Debug)]
struct TensorScatter {
    axis: i64,
    circular: bool,
}

attributes!(struct TensorScatter { axis, circular });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let circular = a.choice("mode", "linear", &[("linear", false), ("circular", true)])?;
    Ok(Rc::new(TensorScatter { axis: a.int_or("axis", -2)?, circular }))
}

impl Operator for TensorScatter {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (cache, update) = (cx.tensor(0)?, cx.tensor(1)?);
        let along = axis(self.axis, cache.rank())?;
        if along == 0 {
            return Err(Problem::expected("`axis`", self.axis, "an axis other than the batch axis"));
        }
        let fits = |(at, (size, whole)): (usize, (&Dim, &Dim))| match (size.number(), whole.number()) {
            (Some(size), Some(whole)) if at == along => size <= whole,
            (Some(size), Some(whole)) => size == whole,
            _ => true,
        };
        let mut pairs = update.shape.iter().zip(&cache.shape).enumerate();
        if cache.dtype != update.dtype || cache.rank() != update.rank() || !pairs.all(fits) {
            let expected = format_args!("a tensor that fits into the cache {cache}");
            return Err(Problem::expected("`update`", update, expected));
        }
        if cx.has(STARTS) {
            let starts = cx.tensor_of_rank(STARTS, 1)?;
            if starts.dtype != DType::I64 {
                return Err(Problem::expected("`write_indices`", starts, "int64"));
            }
            if let (Some(count), Some(batch)) = (starts.shape.first(), cache.shape.first()) {
                sizes::equal(("`write_indices`", count, "elements"), ("the cache", batch, "batch elements"))?;
            }
        }
        cx.output(0, cache.dtype, cache.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let along = axis(self.axis, cx.tensor_type(0)?.rank())?;
        if cx.has(STARTS) {
            cx.may_fail();
        }
        let (along, circular) = (Literal::usize_unsuffixed(along), self.circular);
        if cx.on_host() {
            let (cache, update) = (cx.host(0)?, cx.host(1)?);
            let starts = if cx.has(STARTS) { cx.host_ints(STARTS)? } else { code!(&[]) };
            return Ok(code!(host::write_cache(#cache, #along, #update, #starts, #circular)));
        }
        let (cache, update, starts) = (cx.tensor(0)?, cx.tensor(1)?, cx.optional(STARTS)?);
        Ok(code!(ops::scatter::write_cache(#cache, #along, #update, #starts, #circular)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn an_update_is_no_longer_than_its_cache() {
        check(
            r#"<ir_version: 13, opset_import: ["": 24]>
            g (float[n, 4, 8] c, float[n, 5, 8] u, int64[n] i) => (float[n, 4, 8] y) {
                y = TensorScatter (c, u, i)
            }"#,
            expect![[r#"
                cannot compile `model`

                  `update` is float32[n, 5, 8], expected a tensor that fits into the cache float32[n, 4, 8]
                    at node `y` (TensorScatter version 24)

                  model: IR version 13, ai.onnx 24"#]],
        );
    }

    #[test]
    fn the_axis_is_not_the_batch_axis() {
        check(
            r#"<ir_version: 13, opset_import: ["": 24]>
            g (float[4, 8] c, float[2, 8] u) => (float[4, 8] y) { y = TensorScatter (c, u) }"#,
            expect![[r#"
                cannot compile `model`

                  `axis` is -2, expected an axis other than the batch axis
                    at node `y` (TensorScatter version 24)

                  model: IR version 13, ai.onnx 24"#]],
        );
    }

    #[test]
    fn a_cache_keeps_its_sizes() {
        check(
            r#"<ir_version: 13, opset_import: ["": 24]>
            g (string[n, 4, 8] c, string[n, t, 8] u, int64[n] i) => (string[n, 4, 8] y) {
                y = TensorScatter <mode = "circular", axis = 1> (c, u, i)
            }"#,
            expect![[r#"
                g (host string[n, 4, 8] c, host string[n, t, 8] u, host int64[n] i) => (host string[n, 4, 8] y)
                {
                    host string[n, 4, 8] y = TensorScatter <axis: 1, circular: true> (c, u, i)
                }
            "#]],
        );
    }

    #[test]
    fn each_element_of_the_batch_has_a_start() {
        problems(
            &[
                r#"<ir_version: 13, opset_import: ["": 24]> g (float[2, 4, 8] c, float[2, 1, 8] u, int64[3] i) => (float[2, 4, 8] y) { y = TensorScatter (c, u, i) }"#,
            ],
            expect![[r#"
                `write_indices` has 3 elements, but the cache has 2 batch elements
            "#]],
        );
    }
}
