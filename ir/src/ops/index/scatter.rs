//! ScatterElements, ScatterND and their older versions.

use std::rc::Rc;

use proc_macro2::{Ident, Literal};
use quote::format_ident;

use super::gather::{indices, is_within, tuple, within};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};

pub const ROWS: &[Row] = &[
    row("Scatter", &[9], elements).removed(11, "ScatterElements").arity("rrr", "r"),
    row("ScatterElements", &[11, 13, 16, 18], elements).arity("rrr", "r"),
    row("ScatterND", &[11, 13, 16, 18], |a| Ok(Rc::new(ScatterTuples(reduction(a)?)))).arity("rrr", "r"),
];

/// Combination of an element and its update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    Assign,
    Add,
    Mul,
    Min,
    Max,
}

attributes!(
    enum Reduction {
        Assign,
        Add,
        Mul,
        Min,
        Max,
    }
);

/// Updates at their own positions, except along the axis, where the position is the index.
#[derive(Debug)]
struct ScatterElements {
    axis: i64,
    reduction: Reduction,
}

attributes!(struct ScatterElements { axis, reduction });

/// Slices at tuples of indices.
#[derive(Debug)]
struct ScatterTuples(Reduction);

attributes!(struct ScatterTuples(inner));

fn elements(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let axis = a.int_or("axis", 0)?;
    let reduction = reduction(a)?;
    Ok(Rc::new(ScatterElements { axis, reduction }))
}

fn reduction(a: &Attributes<'_>) -> Result<Reduction, Problem> {
    if a.version() < 16 {
        return Ok(Reduction::Assign);
    }
    let reductions = [
        ("none", Reduction::Assign),
        ("add", Reduction::Add),
        ("mul", Reduction::Mul),
        // Introduced in version 18. Exporters also write them for version 16, and ONNX Runtime accepts this.
        ("min", Reduction::Min),
        ("max", Reduction::Max),
    ];
    a.choice("reduction", "none", &reductions)
}

impl Reduction {
    /// Returns the variant of Burn's `IndexingUpdateOp`.
    fn variant(self) -> Ident {
        format_ident!("{self:?}")
    }
}

impl Operator for ScatterElements {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices) = (cx.tensor(0)?, indices(cx)?);
        let updates = updates(cx, &x, self.reduction)?;
        let axis = axis(self.axis, x.rank())?;
        within(&indices, &x, axis)?;
        sizes::shaped("`updates`", &updates, &indices.shape)?;
        let known = written(cx, self.reduction, |numbers| {
            let (to, from) = (broadcast::fixed(&x.shape)?, broadcast::fixed(&indices.shape)?);
            let mut offsets = Vec::new();
            for (at, &index) in numbers.iter().enumerate() {
                let (mut rest, mut offset, mut stride) = (at, 0, 1);
                for (along, (&size, &count)) in to.iter().zip(&from).enumerate().rev() {
                    let own = rest.checked_rem(count)?;
                    rest = rest.checked_div(count)?;
                    offset += stride * if along == axis { wrapped(index, size)? } else { own };
                    stride *= size;
                }
                offsets.push(offset);
            }
            Some(offsets)
        });
        cx.output(0, x.dtype, x.shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let along = axis(self.axis, operand.rank())?;
        let same = cx.tensor_type(1)?.shape == cx.tensor_type(2)?.shape;
        if !same || !is_within(cx, &operand, along) {
            cx.may_fail();
        }
        let (along, reduction) = (Literal::usize_unsuffixed(along), self.reduction.variant());
        let (x, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        Ok(code! {
            ops::scatter::scatter_elements(
                #x, #along, #indices, #updates, burn::tensor::IndexingUpdateOp::#reduction
            )
        })
    }

    fn moves(&self) -> bool {
        true
    }
}

impl Operator for ScatterTuples {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices) = (cx.tensor(0)?, indices(cx)?);
        let length = tuple(&x, &indices, 0)?;
        let updates = updates(cx, &x, self.0)?;
        let slices = indices.shape.iter().take(indices.rank().saturating_sub(1));
        let slices: Vec<Dim> = slices.chain(x.shape.iter().skip(length)).cloned().collect();
        sizes::shaped("`updates`", &updates, &slices)?;
        let known = written(cx, self.0, |numbers| {
            let sizes = broadcast::fixed(&x.shape)?;
            let inner = sizes.get(length..)?.iter().product::<usize>();
            let mut offsets = Vec::new();
            for tuple in numbers.chunks(length) {
                let mut offset = 0;
                for (&index, &size) in tuple.iter().zip(&sizes) {
                    offset = offset * size + wrapped(index, size)?;
                }
                offsets.extend(offset * inner..(offset + 1) * inner);
            }
            Some(offsets)
        });
        cx.output(0, x.dtype, x.shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let reduction = self.0.variant();
        cx.may_fail();
        let (x, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        Ok(code! {
            ops::scatter::scatter_nd(
                #x, #indices, #updates, burn::tensor::IndexingUpdateOp::#reduction
            )
        })
    }

    fn moves(&self) -> bool {
        true
    }
}

fn updates(cx: &Infer<'_>, x: &TensorType, reduction: Reduction) -> Result<TensorType, Problem> {
    let updates = cx.tensor(2)?;
    sizes::same_type(("`updates`", &updates), ("the input", x))?;
    if x.dtype == DType::String && reduction != Reduction::Assign {
        return Err(
            Problem::new("`reduction` is not supported for strings").help("set `reduction` to `none`")
        );
    }
    Ok(updates)
}

/// Returns the elements after known updates are written at known offsets.
fn written(
    cx: &Infer<'_>,
    reduction: Reduction,
    offsets: impl FnOnce(&[i64]) -> Option<Vec<usize>>,
) -> Option<Known> {
    let (x, updates) = (cx.folded(0)?, cx.folded(2)?);
    if reduction != Reduction::Assign {
        return None;
    }
    let count = x.len();
    let mut sources: Vec<usize> = (0..count).collect();
    for (at, offset) in offsets(&cx.numbers(1)?)?.into_iter().enumerate() {
        *sources.get_mut(offset)? = count + at;
    }
    x.clone().followed_by(updates.clone())?.pick(&sources)
}

/// Returns an index within an axis. Negative indices count from the end.
fn wrapped(index: i64, size: usize) -> Option<usize> {
    let signed = i64::try_from(size).ok()?;
    let index = if index < 0 { index.checked_add(signed)? } else { index };
    usize::try_from(index).ok().filter(|&index| index < size)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn a_size_in_a_shape_is_replaced() {
        check(
            "g (float[1, n] x) => (float[a, b] y, float[c, d] z)
            <int64[1, 1] first = {0}, int64[1] last = {-1}, int64[1] four = {4}> {
                s = Shape(x)
                t = ScatterND(s, first, four)
                y = Expand(x, t)
                u = ScatterElements(t, last, last)
                z = Reshape(x, u)
            }",
            expect![[r#"
                g (float32[1, n] x) => (float32[4, n] y, float32[4, floor((n) / (4))] z)
                <
                    int64[2] t = {4, n},
                    int64[2] u = {4, -1}
                >
                {
                    float32[4, n] y = Expand (x, t)
                    float32[4, floor((n) / (4))] z = Reshape (x, u)
                }
            "#]],
        );
    }

    #[test]
    fn updates_must_fit_the_tuples() {
        check(
            "g (float[n, m] x, int64[k, 1] i, float[k] u) => (float[a, b] y) {
                y = ScatterND(x, i, u)
            }",
            expect![[r#"
                cannot compile `model`

                  `updates` is float32[k], expected shape [k, m]
                    at node `y` (ScatterND version 18)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn updates_and_indices_must_fit() {
        problems(
            &[
                r#"(float[4, 3] x, int64[2, 3] i, float[2, 2] u) => (float[4, 3] y) { y = ScatterElements (x, i, u) }"#,
                r#"(float[4, 3] x, int64[2, 5] i, float[2, 5] u) => (float[4, 3] y) { y = ScatterElements (x, i, u) }"#,
                r#"(float[4, 3] x, int64[6, 2] i, float[6, 2] u) => (float[4, 3] y) { y = ScatterElements (x, i, u) }"#,
                r#"(float[4, 3] x, int64[2, 1] i, float[2, 4] u) => (float[4, 3] y) { y = ScatterND (x, i, u) }"#,
                r#"(float[4, 3] x, int64[2, 1] i, float[3, 3] u) => (float[4, 3] y) { y = ScatterND (x, i, u) }"#,
            ],
            expect![[r#"
                `updates` is float32[2, 2], expected shape [2, 3]
                `indices` has 5 elements along axis 1, but the input has only 3 elements along axis 1
                fine
                `updates` is float32[2, 4], expected shape [2, 3]
                `updates` is float32[3, 3], expected shape [2, 3]
            "#]],
        );
    }
}
