//! Gather, GatherElements and GatherND.

mod offsets;

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};
use offsets::{Run, offsets};

pub const ROWS: &[Row] = &[
    row("Gather", &[1, 11, 13], |a| Ok(Rc::new(Gather { axis: a.int_or("axis", 0)? })))
        .hoisted()
        .follows()
        .arity("rr", "r"),
    row("GatherElements", &[11, 13], |a| Ok(Rc::new(GatherElements { axis: a.int_or("axis", 0)? })))
        .follows()
        .arity("rr", "r"),
    row("GatherND", &[11, 12, 13], tuples).follows().arity("rr", "r"),
    row("GatherND", &[1], tuples).follows().arity("rr", "r").of(MICROSOFT),
];

/// Slices along an axis, which is replaced by the axes of the indices.
#[derive(Debug)]
pub struct Gather {
    axis: i64,
}

attributes!(struct Gather { axis });

impl Gather {
    /// Returns the gathered axis of a tensor of this rank.
    pub fn along(&self, rank: usize) -> Option<usize> {
        axis(self.axis, rank).ok()
    }
}

/// Elements whose position equals that of an index, except along the axis, where it is the index.
#[derive(Debug)]
struct GatherElements {
    axis: i64,
}

attributes!(struct GatherElements { axis });

/// Slices at tuples of indices.
#[derive(Debug)]
struct GatherTuples {
    batch: usize,
}

attributes!(struct GatherTuples { batch });

fn tuples(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let batch = match a.version() {
        ..12 => 0,
        _ => a.int_or("batch_dims", 0)?,
    };
    let batch = usize::try_from(batch)
        .map_err(|_| Problem::expected("`batch_dims`", batch, "a non-negative integer"))?;
    Ok(Rc::new(GatherTuples { batch }))
}

impl Operator for Gather {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices) = (cx.tensor(0)?, indices(cx)?);
        let axis = axis(self.axis, x.rank())?;
        let (before, after) = (x.shape.iter().take(axis), x.shape.iter().skip(axis + 1));
        let shape = before.chain(&indices.shape).chain(after).cloned().collect();
        let numbers = cx.numbers(1);
        if let (Some(size), Some(numbers)) = (x.shape.get(axis).and_then(Dim::number), &numbers)
            && let Some(index) = numbers.iter().find(|&&at| at >= size || at < -size)
        {
            return Err(Problem::new(format!(
                "index {index} is out of bounds for axis {axis} of size {size}"
            )));
        }
        let known = match (cx.folded(0), numbers) {
            (Some(known), Some(indices)) => {
                broadcast::fixed(&x.shape).and_then(|from| known.pick(&offsets(&from, axis, &indices)?))
            }
            _ => None,
        };
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor_type(0)?.clone();
        let indices = cx.tensor_type(1)?.clone();
        let at = axis(self.axis, x.rank())?;
        let along = Literal::usize_unsuffixed(at);
        if !is_within(cx, &x, at) {
            cx.may_fail();
        }
        if cx.on_host() {
            let (x, found) = (cx.host(0)?, cx.host(1)?);
            return Ok(match indices.dtype {
                DType::I64 => code!(host::gather(#x, #found, #along)),
                _ => code!(host::gather(#x, &host::cast::<_, i64>(#found), #along)),
            });
        }
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        let tensor = cx.tensor(0)?;
        if let (0, Some(index)) = (indices.rank(), one(cx)) {
            return Ok(match x.rank() {
                1 => code!(#tensor.slice_dim(#along, #index)),
                _ => code!(#tensor.select_dim::<#rank>(#along, #index)),
            });
        }
        let numbers = cx.numbers(1);
        let size = x.shape.get(at).and_then(Dim::fixed);
        let run = numbers.as_deref().and_then(|numbers| Run::of(numbers, size));
        if let (1, Some(Run { start, length })) = (indices.rank(), run) {
            let (start, length) = (Literal::usize_unsuffixed(start), Literal::usize_unsuffixed(length));
            return Ok(code!(#tensor.narrow(#along, #start, #length)));
        }
        let positive =
            size.is_some() && numbers.is_some_and(|numbers| numbers.iter().all(|&index| index >= 0));
        let found = cx.tensor(1)?;
        Ok(match (indices.rank(), positive) {
            (0, _) => code!(ops::gather::gather_scalar::<_, #rank, _>(#tensor, #along, #found)),
            (_, true) => {
                code!(ops::gather::gather_nonnegative::<_, _, #rank, _>(#tensor, #along, #found))
            }
            _ => code!(ops::gather::gather::<_, _, #rank, _>(#tensor, #along, #found)),
        })
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let x = rows.tensor(0)?;
        let along = axis(self.axis, x.rank()).ok()?;
        match (rows.axis(0), rows.axis(1)) {
            (None, Some(at)) if rows.is_whole(0) => Some(vec![along.checked_add(at)?]),
            (Some(at), None) if rows.is_whole(1) && at < along => Some(vec![at]),
            (Some(at), None) if rows.is_whole(1) && at > along => {
                Some(vec![at.checked_sub(1)?.checked_add(rows.tensor(1)?.rank())?])
            }
            _ => None,
        }
    }
}

/// Returns `true` if the indices of input 1 are known to be in range. If the size is unknown, these are 0 and -1, which
/// are out of range only in an empty axis.
pub fn is_within(cx: &Emit<'_, '_>, x: &TensorType, axis: usize) -> bool {
    let Some(indices) = cx.numbers(1) else {
        return false;
    };
    match x.shape.get(axis).and_then(Dim::number) {
        Some(size) => indices.iter().all(|&at| at < size && at >= -size),
        None => indices.iter().all(|&at| at == 0 || at == -1),
    }
}

/// Returns the index, if there is only one and it is known to be a number or a size.
fn one(cx: &mut Emit<'_, '_>) -> Option<Code> {
    let Some(Known::Ints(indices)) = cx.known(1) else {
        return None;
    };
    let [index] = indices.as_slice() else {
        return None;
    };
    let index = index.clone();
    match index.number() {
        Some(number) => {
            let number = Literal::i64_unsuffixed(number);
            Some(code!(#number))
        }
        None => index.is_size().then(|| cx.size(&index)),
    }
}

impl Operator for GatherElements {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices) = (cx.tensor(0)?, indices(cx)?);
        let along = axis(self.axis, x.rank())?;
        within(&indices, &x, along)?;
        cx.output(0, x.dtype, indices.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let along = axis(self.axis, operand.rank())?;
        if !is_within(cx, &operand, along) {
            cx.may_fail();
        }
        let along = Literal::usize_unsuffixed(along);
        let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        Ok(code!(ops::gather::gather_elements(#x, #along, #indices)))
    }

    fn moves(&self) -> bool {
        true
    }
}

impl Operator for GatherTuples {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices) = (cx.tensor(0)?, indices(cx)?);
        let length = tuple(&x, &indices, self.batch)?;
        for (own, all) in indices.shape.iter().zip(&x.shape).take(self.batch) {
            sizes::equal(("`indices`", own, "batch elements"), ("the input", all, "batch elements"))?;
        }
        let outer = indices.shape.iter().take(indices.rank().saturating_sub(1));
        let inner = x.shape.iter().skip(self.batch + length);
        cx.output(0, x.dtype, outer.chain(inner).cloned().collect());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        let batch = Literal::usize_unsuffixed(self.batch);
        cx.may_fail();
        let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        Ok(code!(ops::gather::gather_nd::<_, _, #rank, _>(#x, #indices, #batch)))
    }

    fn moves(&self) -> bool {
        true
    }
}

/// Reports indices whose tensor has another rank than the input, or is larger along an axis other than `along`.
pub fn within(indices: &TensorType, x: &TensorType, along: usize) -> Result<(), Problem> {
    if indices.rank() != x.rank() {
        return Err(Problem::expected(
            "`indices`",
            indices,
            format_args!("rank {} as in the input", x.rank()),
        ));
    }
    let pairs = indices.shape.iter().zip(&x.shape).enumerate();
    for (at, (own, all)) in pairs.filter(|(at, _)| *at != along) {
        let elements = format!("elements along axis {at}");
        sizes::at_most(("`indices`", own, &elements), ("the input", all, &elements))?;
    }
    Ok(())
}

/// Returns the number of indices in a tuple, which is the size of the last axis.
pub fn tuple(x: &TensorType, indices: &TensorType, batch: usize) -> Result<usize, Problem> {
    let last = indices.shape.last();
    let last = last.ok_or_else(|| Problem::expected("`indices`", indices, "rank 1 or more"))?;
    let length = last.fixed().ok_or_else(|| {
        Problem::new("the size of the last axis of `indices` is unknown at compile time")
            .help("fix the size with `dims(..)` or `inputs(..)`")
            .about(Topic::Shape)
    })?;
    if length == 0 || batch + length > x.rank() || batch >= indices.rank() {
        let expected = match batch {
            0 => format!("a last axis of size 1 to the rank of {x}"),
            _ => format!(
                "rank {} or more, and a last axis of size 1 to the number of axes of {x} except the batch axes",
                batch + 1
            ),
        };
        return Err(Problem::expected("`indices`", indices, expected));
    }
    Ok(length)
}

/// Returns the type of the indices, which are integers.
pub fn indices(cx: &Infer<'_>) -> Result<TensorType, Problem> {
    sizes::integers(cx, 1, "indices")?;
    cx.tensor(1)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn a_size_is_taken_out_of_a_shape() {
        check(
            "g (float[n, 3, m] x) => (int64 y, int64[k] z)
            <int64 last = {-1}, int64[2] both = {2, 0}> {
                s = Shape(x)
                y = Gather(s, last)
                z = Gather(s, both)
            }",
            expect![[r#"
                g (float32[n, 3, m] x) => (int64[] y, int64[2] z)
                <
                    int64[] y = {m},
                    int64[2] z = {m, n}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn the_axes_of_the_indices_replace_the_axis() {
        check(
            "g (float[a, b, c] x, int64[d, e] i, int32[f] j) => (float[p, q, r, s] y, float[t, u, v] z) {
                y = Gather<axis: int = 1>(x, i)
                z = Gather<axis: int = -1>(x, j)
            }",
            expect![[r#"
                g (float32[a, b, c] x, int64[d, e] i, int32[f] j) => (float32[a, d, e, c] y, float32[a, b, f] z)
                {
                    float32[a, d, e, c] y = Gather <axis: 1> (x, i)
                    float32[a, b, f] z = Gather <axis: -1> (x, j)
                }
            "#]],
        );
    }

    #[test]
    fn tuples_index_the_first_axes() {
        check(
            "g (float[a, b, c] x, int64[a, e, 1] i) => (float[p, q, r] y, float[k, l, m, o] z) {
                y = GatherND<batch_dims: int = 1>(x, i)
                z = GatherND(x, i)
            }",
            expect![[r#"
                g (float32[a, b, c] x, int64[a, e, 1] i) => (float32[a, e, c] y, float32[a, e, b, c] z)
                {
                    float32[a, e, c] y = GatherND <batch: 1> (x, i)
                    float32[a, e, b, c] z = GatherND <batch: 0> (x, i)
                }
            "#]],
        );
    }

    #[test]
    fn indices_must_fit() {
        problems(
            &[
                r#"(float[4, 3] x, int64[6, 4] i) => (float[6, 4] y) { y = GatherElements (x, i) }"#,
                r#"(float[2, 4, 3] x, int64[3, 5, 1] i) => (float[3, 5, 3] y) { y = GatherND <batch_dims = 1> (x, i) }"#,
            ],
            expect![[r#"
                `indices` has 4 elements along axis 1, but the input has only 3 elements along axis 1
                `indices` has 3 batch elements, but the input has 2 batch elements
            "#]],
        );
    }
}
