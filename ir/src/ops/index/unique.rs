//! Unique elements.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("Unique", &[11, 28], |a| {
        Ok(Rc::new(Unique { axis: a.int("axis")?, sorted: a.flag("sorted", true)? }))
    })
    .arity("r", "rooo"),
    row("Unique", &[1], |_| Ok(Rc::new(Distinct))).arity("r", "rrr").of(MICROSOFT),
];

/// Unique slices along an axis, or unique elements; the indices of their first occurrences, the index of the unique
/// element for each input element, and their counts.
#[derive(Debug)]
struct Unique {
    axis: Option<i64>,
    sorted: bool,
}

attributes!(struct Unique { axis, sorted });

/// Unique elements of a vector, in the order of their first occurrences; the index of the unique element for each input
/// element, and their counts.
#[derive(Debug)]
struct Distinct;

attributes!(struct Distinct);

impl Operator for Unique {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if x.dtype.kind() == ElementClass::Complex {
            return Err(Problem::expected("the input", x, "real numbers, booleans or strings"));
        }
        let size = cx.fresh("unique");
        let (shape, inverse_len) = match self.axis {
            None => (vec![size.clone()], x.elements()),
            Some(at) => {
                let at = axis(at, x.rank())?;
                let mut shape = x.shape.clone();
                let slot = shape.get_mut(at);
                let inverse_len = slot.map(|slot| std::mem::replace(slot, size.clone()));
                (shape, inverse_len)
            }
        };
        let inverse_len = cx.dim_or_fresh(inverse_len, "places");
        cx.output(0, x.dtype, shape);
        cx.output(1, DType::I64, vec![size.clone()]);
        cx.output(2, DType::I64, vec![inverse_len]);
        cx.output(3, DType::I64, vec![size]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let sorted = self.sorted;
        let unique = match self.axis {
            _ if cx.on_host() => {
                let at = match self.axis {
                    None => code!(None),
                    Some(at) => {
                        let at = Literal::usize_unsuffixed(axis(at, rank)?);
                        code!(Some(#at))
                    }
                };
                let x = cx.host(0)?;
                code!(host::unique(#x, #at, #sorted))
            }
            None => {
                let x = cx.tensor(0)?;
                code!(ops::unique::unique_flat(#x, #sorted))
            }
            Some(at) => {
                let x = cx.tensor(0)?;
                let at = Literal::usize_unsuffixed(axis(at, rank)?);
                code!(ops::unique::unique(#x, #at, #sorted))
            }
        };
        Ok(match cx.outputs() {
            1 => code!(#unique.0),
            2 => code!({ let (values, first, ..) = #unique; (values, first) }),
            3 => code!({ let (values, first, inverse, _) = #unique; (values, first, inverse) }),
            _ => unique,
        })
    }

    fn takes_strings(&self) -> bool {
        true
    }
}

impl Operator for Distinct {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 1)?;
        if matches!(x.dtype.kind(), ElementClass::String | ElementClass::Complex) {
            return Err(Problem::expected("the input", x, "real numbers or booleans"));
        }
        let size = cx.fresh("unique");
        cx.output(0, x.dtype, vec![size.clone()]);
        cx.output(1, DType::I64, x.shape);
        cx.output(2, DType::I64, vec![size]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor(0)?;
        let (values, inverse, counts) = (code!(values), code!(inverse), code!(counts));
        let wanted = match cx.outputs() {
            1 => return Ok(code!(ops::unique::unique_flat(#x, false).0)),
            2 => code!((#values, #inverse)),
            _ => code!((#values, #inverse, #counts)),
        };
        let counts = if cx.outputs() > 2 { counts } else { code!(_) };
        Ok(code!({
            let (#values, _, #inverse, #counts) = ops::unique::unique_flat(#x, false);
            #wanted
        }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn how_many_differ_has_one_name() {
        check(
            "g (float[n, 3] x) => (float[a, 3] y, int64[b] i, int64[c] j, int64[d] k) {
                y, i = Unique<axis: int = 0>(x)
                v, w, j, k = Unique(x)
            }",
            expect![[r#"
                g (float32[n, 3] x) => (float32[unique, 3] y, int64[unique] i, int64[3*n] j, int64[unique_2] k)
                {
                    float32[unique, 3] y, int64[unique] i = Unique <axis: 0, sorted: true> (x)
                    _, _, int64[3*n] j, int64[unique_2] k = Unique <sorted: true> (x)
                }
            "#]],
        );
    }
}
