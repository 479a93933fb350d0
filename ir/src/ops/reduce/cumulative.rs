//! Cumulative sums and products.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::elementwise::cast::stays;
use crate::ops::{Operator, Row, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};

pub const ROWS: &[Row] = &[
    row("CumSum", &[11, 14], |a| read(a, "cumsum")).arity("rr", "r"),
    row("CumProd", &[26], |a| read(a, "cumprod")).arity("rr", "r"),
];

/// Cumulative sum or product along the axis in input 1.
#[derive(Debug)]
struct Cumulative {
    function: &'static str,
    /// Whether each element is excluded from its own result.
    exclusive: bool,
    /// Whether it starts at the end.
    reverse: bool,
}

attributes!(struct Cumulative { function, exclusive, reverse });

fn read(a: &Attributes<'_>, function: &'static str) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Cumulative {
        function,
        exclusive: a.flag("exclusive", false)?,
        reverse: a.flag("reverse", false)?,
    }))
}

impl Operator for Cumulative {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if !(x.dtype.is_float() || x.dtype.is_int()) || x.rank() == 0 {
            return Err(Problem::expected("the input", x, "floats or integers of rank 1 or more"));
        }
        cx.tensor(1)?;
        let along = match cx.numbers(1).as_deref() {
            Some([at]) => Some(axis(*at, x.rank())?),
            Some(axes) => {
                sizes::length("`axis`", axes.len(), 1)?;
                None
            }
            None => None,
        };
        let known = along.and_then(|along| self.known(cx.folded(0)?, &x, along));
        cx.output(0, x.dtype, x.shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let along = match cx.numbers(1).as_deref() {
            Some([at]) => {
                let along = Literal::usize_unsuffixed(axis(*at, rank)?);
                code!(#along)
            }
            _ => {
                let (at, rank) = (cx.host_int(1)?, Literal::usize_unsuffixed(rank));
                code!(host::axis(#at, #rank))
            }
        };
        let (function, exclusive, reverse) =
            (format_ident!("{}", self.function), self.exclusive, self.reverse);
        if cx.on_host() {
            let x = cx.host(0)?;
            return Ok(code!(host::#function(#x, #along, #exclusive, #reverse)));
        }
        let x = cx.tensor(0)?;
        Ok(code!(ops::cumulative::#function(#x, #along, #exclusive, #reverse)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn runs_on_host(&self) -> bool {
        self.function == "cumsum"
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (at, rank) = (rows.alone()?, rows.tensor(0)?.rank());
        match *rows.numbers(1)? {
            [along] if axis(along, rank).ok()? != at => Some(vec![at]),
            _ => None,
        }
    }
}

impl Cumulative {
    /// Returns known elements of integers. The order in which floats are added depends on the device.
    fn known(&self, known: &Known, x: &TensorType, along: usize) -> Option<Known> {
        let Known::Ints(dims) = known else {
            return None;
        };
        let inner = x.shape.get(along.checked_add(1)?..)?;
        let inner = inner.iter().try_fold(1usize, |count, dim| count.checked_mul(dim.fixed()?))?;
        let size = x.shape.get(along)?.fixed()?;
        let neutral = Dim::from(i64::from(self.function == "cumprod"));
        let join = if self.function == "cumprod" { Dim::mul } else { Dim::add };
        let mut results = vec![Dim::default(); dims.len()];
        for start in 0..dims.len().checked_div(size).unwrap_or(0) {
            let outer = start.checked_div(inner)?.checked_mul(inner)?.checked_mul(size)?;
            let first = outer.checked_add(start.checked_rem(inner)?)?;
            let mut total = neutral.clone();
            for step in 0..size {
                let step = if self.reverse { size - 1 - step } else { step };
                let at = first.checked_add(step.checked_mul(inner)?)?;
                let next = join(&total, dims.get(at)?)?;
                let result = if self.exclusive { &total } else { &next };
                if !stays(result, x.dtype) {
                    return None;
                }
                *results.get_mut(at)? = result.clone();
                total = next;
            }
        }
        Some(Known::Ints(results))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn known_integers_are_summed_along_the_axis() {
        check(
            r#"
            main () => (int64[2, 3] a, int64[2, 3] b)
            <int64[2, 3] x = {1, 2, 3, 4, 5, 6}, int32 rows = {0}, int64 columns = {-1}> {
                a = CumSum (x, rows)
                b = CumSum <exclusive = 1, reverse = 1> (x, columns)
            }
            "#,
            expect![[r#"
                main () => (int64[2, 3] a, int64[2, 3] b)
                <
                    int64[2, 3] a = {1, 2, 3, 5, 7, 9},
                    int64[2, 3] b = {5, 3, 0, 11, 6, 0}
                >
                {
                }
            "#]],
        );
    }
}
