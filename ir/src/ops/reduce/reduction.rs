//! Reductions over axes.

mod fold;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row};
use crate::rows::{Rows, reduced};
use crate::rust::{Code, code};
use crate::types::TensorType;
use fold::{Fold, L1, L2, LOG_SUM, LOG_SUM_EXP, MAX, MEAN, MIN, PROD, SUM, SUM_SQUARE};

pub const ROWS: &[Row] = &[
    row("ReduceSum", &[1, 11, 13], |a| read(a, &SUM, 13))
        .hoisted()
        .arity("ro", "r")
        .before(&[(13, "r", "r")]),
    row("ReduceMean", &[1, 11, 13, 18], |a| read(a, &MEAN, 18))
        .hoisted()
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
    row("ReduceMax", &[1, 11, 12, 13, 18, 20], |a| read(a, &MAX, 18))
        .hoisted()
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
    row("ReduceMin", &[1, 11, 12, 13, 18, 20], |a| read(a, &MIN, 18))
        .hoisted()
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
    row("ReduceProd", &[1, 11, 13, 18], |a| read(a, &PROD, 18)).arity("ro", "r").before(&[(18, "r", "r")]),
    row("ReduceL1", &[1, 11, 13, 18], |a| read(a, &L1, 18))
        .nonnegative()
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
    row("ReduceL2", &[1, 11, 13, 18], |a| read(a, &L2, 18))
        .nonnegative()
        .hoisted()
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
    row("ReduceLogSum", &[1, 11, 13, 18, 28], |a| read(a, &LOG_SUM, 18))
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
    row("ReduceLogSumExp", &[1, 11, 13, 18, 28], |a| read(a, &LOG_SUM_EXP, 18))
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
    row("ReduceSumSquare", &[1, 11, 13, 18], |a| read(a, &SUM_SQUARE, 18))
        .hoisted()
        .arity("ro", "r")
        .before(&[(18, "r", "r")]),
];

/// A reduction, over all axes if `axes` and input 1 are empty.
#[derive(Debug)]
pub struct Reduction {
    fold: &'static Fold,
    axes: Option<Vec<i64>>,
    keep: bool,
    /// Whether an empty list of axes reduces none instead of all.
    none_is_none: bool,
}

attributes!(struct Reduction { fold, axes, keep, none_is_none });

fn read(a: &Attributes<'_>, fold: &'static Fold, axes_are_input: i64) -> Result<Rc<dyn Operator>, Problem> {
    let attribute = a.version() < axes_are_input;
    Ok(Rc::new(Reduction {
        fold,
        axes: if attribute { a.ints("axes")? } else { None },
        keep: a.flag("keepdims", true)?,
        none_is_none: !attribute && a.flag("noop_with_empty_axes", false)?,
    }))
}

impl Operator for Reduction {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let joins = matches!(self.fold.name, "reduce_max" | "reduce_min");
        if !(x.dtype.is_float() || x.dtype.is_int() || joins && x.dtype == DType::Bool) {
            let expected = if joins { "floats, integers or booleans" } else { "floats or integers" };
            return Err(Problem::expected("the input", x, expected));
        }
        let second = if cx.has(1) { Some(cx.tensor(1)?) } else { None };
        let Some(axes) = self.axes(cx.numbers(1), second.as_ref(), x.rank())? else {
            let shape = self.open_shape(cx, &x, second.and_then(|axes| axes.count()))?;
            cx.output(0, x.dtype, shape);
            return Ok(());
        };
        let size = |(at, dim): (usize, &Dim)| match (axes.contains(&at), self.keep) {
            (true, true) => Some(Dim::from(1)),
            (true, false) => None,
            (false, _) => Some(dim.clone()),
        };
        let shape = x.shape.iter().enumerate().filter_map(size).collect();
        let known = cx.folded(0).and_then(|known| self.fold.known(known, &x, &axes));
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let second = if cx.has(1) { Some(cx.tensor_type(1)?.clone()) } else { None };
        let axes = match self.axes(cx.numbers(1), second.as_ref(), x.rank())? {
            Some(axes) => {
                let axes = axes.into_iter().map(Literal::usize_unsuffixed);
                code!(&[#(#axes),*])
            }
            None => {
                cx.may_fail();
                let (axes, rank) = (cx.host_ints(1)?, Literal::usize_unsuffixed(x.rank()));
                let all = !self.none_is_none;
                code!(&host::reduced_axes(#axes, #rank, #all))
            }
        };
        let (function, keep) = (format_ident!("{}", self.fold.name), self.keep);
        if cx.on_host() && x.dtype == DType::Bool {
            let x = cx.host(0)?;
            let bits = code!(host::cast::<_, u8>(#x));
            return Ok(code!(host::cast::<_, bool>(&host::#function(&#bits, #axes, #keep))));
        }
        if cx.on_host() {
            let x = cx.host(0)?;
            return Ok(code!(host::#function(#x, #axes, #keep)));
        }
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        let tensor = cx.tensor(0)?;
        Ok(match (self.fold.fractions, x.dtype.kind()) {
            (false, _) => code!(ops::reduce::#function::<_, #rank, _>(#tensor, #axes)),
            (true, ElementClass::Int) => {
                let function = code!(ops::reduce::#function);
                code!(ops::reduce::reduce_int::<_, #rank>(#tensor, #axes, #function))
            }
            (true, _) => code!(ops::reduce::#function::<_, #rank>(#tensor, #axes)),
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn runs_on_host(&self) -> bool {
        self.fold.host
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let at = rows.alone()?;
        let axes = self.axes(rows.numbers(1), rows.tensor(1), rows.tensor(0)?.rank()).ok()??;
        reduced(at, &axes, self.keep)
    }
}

impl Reduction {
    /// Returns `true` if reduced axes are kept with size 1.
    pub fn keeps(&self) -> bool {
        self.keep
    }

    /// Returns the axes in ascending order; `None` if they are known only at run time.
    pub fn axes(
        &self,
        known: Option<Vec<i64>>,
        input: Option<&TensorType>,
        rank: usize,
    ) -> Result<Option<Vec<usize>>, Problem> {
        let axes = match (&self.axes, known, input) {
            (Some(axes), ..) => axes.clone(),
            (None, Some(axes), _) => axes,
            (None, None, Some(input)) if input.count() != Some(0) => return Ok(None),
            _ => Vec::new(),
        };
        if axes.is_empty() {
            let all = if self.none_is_none { 0 } else { rank };
            return Ok(Some((0..all).collect()));
        }
        let axes = axes.into_iter().map(|at| axis(at, rank));
        let mut axes: Vec<usize> = axes.collect::<Result<_, Problem>>()?;
        axes.sort_unstable();
        axes.dedup();
        Ok(Some(axes))
    }

    /// Returns the shape if the axes are known only at run time.
    fn open_shape(
        &self,
        cx: &mut Infer<'_>,
        x: &TensorType,
        count: Option<usize>,
    ) -> Result<Vec<Dim>, Problem> {
        if self.keep {
            let size = |dim: &Dim| {
                if dim.is(1) { dim.clone() } else { cx.fresh("reduced") }
            };
            return Ok(x.shape.iter().map(size).collect());
        }
        match count.and_then(|count| x.rank().checked_sub(count)) {
            Some(rank) => Ok((0..rank).map(|_| cx.fresh("reduced")).collect()),
            None => {
                Err(Problem::new("the rank of the result depends on axes that are unknown at compile time")
                    .help("export the model with constant axes, or with `keepdims`")
                    .about(Topic::Shape))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn axes_count_from_the_end_and_vanish_or_stay() {
        check(
            r#"
            <ir_version: 8, opset_import: ["": 17]>
            main (float[N, 2, 3] x) => (float[N, 2] a, float[1, 2, 1] b, float c) {
                a = ReduceMax <axes = [-1], keepdims = 0> (x)
                b = ReduceL2 <axes = [2, 0]> (x)
                c = ReduceMean <keepdims = 0> (x)
            }
            "#,
            expect![[r#"
                main (float32[N, 2, 3] x) => (float32[N, 2] a, float32[1, 2, 1] b, float32[] c)
                {
                    float32[N, 2] a = ReduceMax <axes: [-1]> (x)
                    float32[1, 2, 1] b = ReduceL2 <axes: [2, 0], keep: true> (x)
                    float32[] c = ReduceMean (x)
                }
            "#]],
        );
    }

    #[test]
    fn without_axes_the_attribute_decides() {
        check(
            r#"
            main (float[N, 2] x, int64[k] axes) => (float[1, 1] a, float[N, 2] b, float[u, v] c) {
                a = ReduceSum (x)
                b = ReduceSum <noop_with_empty_axes = 1> (x)
                c = ReduceSum (x, axes)
            }
            "#,
            expect![[r#"
                main (float32[N, 2] x, host int64[k] axes) => (float32[1, 1] a, float32[N, 2] b, float32[reduced, reduced_2] c)
                {
                    float32[1, 1] a = ReduceSum <keep: true> (x)
                    float32[N, 2] b = ReduceSum <keep: true, none_is_none: true> (x)
                    float32[reduced, reduced_2] c = ReduceSum <keep: true> (x, axes)
                }
            "#]],
        );
    }

    #[test]
    fn unknown_axes_leave_no_rank() {
        check(
            r#"
            main (float[N, 2] x, int64[k] axes) => (float[u] y) {
                y = ReduceSum <keepdims = 0> (x, axes)
            }
            "#,
            expect![[r#"
                cannot compile `model`

                  the rank of the result depends on axes that are unknown at compile time
                    at node `y` (ReduceSum version 13)
                    help: export the model with constant axes, or with `keepdims`

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn known_elements_are_reduced() {
        check(
            r#"
            main () => (int64 a, int64[1] b, float[1] c, float d)
            <int64[3] i = {-7, 2, 2}, float[3] f = {1, 2, 0.5}> {
                a = ReduceMean <keepdims = 0> (i)
                b = ReduceProd (i)
                c = ReduceMax (f)
                d = ReduceSum <keepdims = 0> (f)
            }
            "#,
            expect![[r#"
                main () => (int64[] a, int64[1] b, float32[1] c, float32[] d)
                <
                    float32[3] f = {1, 2, 0.5},
                    int64[] a = {-1},
                    int64[1] b = {-28},
                    float32[1] c = {2}
                >
                {
                    float32[] d = ReduceSum (f)
                }
            "#]],
        );
    }
}
