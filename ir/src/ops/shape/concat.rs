//! Concatenation of tensors.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, Shape, TensorType};

pub const ROWS: &[Row] = &[row("Concat", &[1, 4, 11, 13], concat).hoisted().follows().arity("+", "r")];

/// Concatenation of all inputs along an axis.
#[derive(Debug)]
pub struct Concat {
    axis: i64,
}

attributes!(struct Concat { axis });

impl Concat {
    /// Returns the concatenated axis of tensors of this rank.
    pub fn along(&self, rank: usize) -> Option<usize> {
        axis(self.axis, rank).ok()
    }
}

fn concat(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let axis = match a.version() {
        ..4 => a.int_or("axis", 1)?,
        _ => a.required("axis", Attributes::int)?,
    };
    Ok(Rc::new(Concat { axis }))
}

impl Operator for Concat {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let types = (0..cx.inputs()).map(|at| cx.tensor(at));
        let types: Vec<TensorType> = types.collect::<Result<_, _>>()?;
        let Some(first) = types.first() else {
            return Err(Problem::missing("input 0"));
        };
        let axis = axis(self.axis, first.rank())?;
        for (at, other) in types.iter().enumerate() {
            let what = format!("input {at}");
            sizes::same_type((&what, other), ("input 0", first))?;
            if other.rank() != first.rank() {
                return Err(Problem::expected(what, other, format_args!("rank {}", first.rank())));
            }
        }
        let shapes: Vec<&Shape> = types.iter().map(|tensor| &tensor.shape).collect();
        let shape = shape(cx, &shapes, axis)?;
        let parts: Option<Vec<&Known>> = (0..shapes.len()).map(|at| cx.folded(at)).collect();
        let known = parts.and_then(|parts| known(&parts, &shapes, axis));
        cx.output(0, first.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if cx.inputs() == 1 {
            return cx.value(0);
        }
        let at = axis(self.axis, cx.output_tensor(0)?.rank())?;
        let shapes = (0..cx.inputs()).map(|at| Ok(cx.tensor_type(at)?.shape.clone()));
        let shapes: Vec<Shape> = shapes.collect::<Result<_, Problem>>()?;
        let proven = agree(&shapes, at);
        if !proven {
            cx.may_fail();
        }
        let at = Literal::usize_unsuffixed(at);
        if cx.on_host() {
            let parts = (0..cx.inputs()).map(|at| cx.host(at));
            let parts: Vec<Code> = parts.collect::<Result<_, _>>()?;
            return Ok(code!(host::concat(&[#(#parts),*], #at)));
        }
        let parts = (0..cx.inputs()).map(|at| cx.tensor(at));
        let parts: Vec<Code> = parts.collect::<Result<_, _>>()?;
        match parts.as_slice() {
            [cache, new] if cx.grows_cache() => Ok(code!(ops::append::append(#cache, #new, #at))),
            _ => Ok(code!(ops::stack::concat(vec![#(#parts),*], #at))),
        }
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (first, joined) = (rows.axis(0)?, axis(self.axis, rows.output(0)?.rank()).ok()?);
        let agree = (0..rows.inputs()).all(|input| rows.axis(input) == Some(first));
        (agree && first != joined).then(|| vec![first])
    }
}

/// Returns `true` if all sizes are known to be equal, except along the concatenated axis.
fn agree(shapes: &[Shape], along: usize) -> bool {
    let Some((first, others)) = shapes.split_first() else {
        return true;
    };
    let same = |(axis, (a, b)): (usize, (&Dim, &Dim))| axis == along || a == b;
    let mut others = others.iter();
    others.all(|shape| first.iter().zip(shape).enumerate().all(same))
}

/// Returns the shape of the result. Sizes along `along` are added; the others are equal, and numbers take precedence
/// over symbols.
pub fn shape(cx: &mut Infer<'_>, shapes: &[&Shape], along: usize) -> Result<Shape, Problem> {
    let rank = shapes.first().map_or(0, |shape| shape.len());
    let mut joined = Vec::new();
    for axis in 0..rank {
        let mut sizes = shapes.iter().filter_map(|shape| shape.get(axis));
        if axis == along {
            let sum = sizes.try_fold(Dim::default(), |sum, size| sum.add(size));
            joined.push(cx.dim_or_fresh(sum, "concat"));
            continue;
        }
        let mut size: Option<&Dim> = None;
        for other in sizes {
            match (size.and_then(Dim::number), other.number()) {
                (Some(a), Some(b)) if a != b => {
                    return Err(Problem::new(format!(
                        "the inputs have sizes {a} and {b} on axis {axis}, expected equal sizes except on \
                         axis {along}"
                    )));
                }
                (Some(_), _) => {}
                (None, Some(_)) => size = Some(other),
                (None, None) => size = size.or(Some(other)),
            }
        }
        joined.extend(size.cloned());
    }
    Ok(joined)
}

/// Concatenates the rows of each input in turn. A row contains the elements at one index of the outer axes.
pub(in crate::ops) fn known(known: &[&Known], shapes: &[&Shape], axis: usize) -> Option<Known> {
    let size = |dims: &[Dim]| Some(broadcast::fixed(dims)?.iter().product::<usize>());
    let rows = size(shapes.first()?.get(..axis)?)?;
    if rows > broadcast::MAX_KNOWN_ELEMENTS {
        return None;
    }
    let mut joined: Option<Known> = None;
    for row in 0..rows {
        for (values, shape) in known.iter().zip(shapes) {
            let length = size(shape.get(axis..)?)?;
            let indices: Vec<usize> = (row * length..(row + 1) * length).collect();
            let part = values.pick(&indices)?;
            joined = Some(match joined {
                None => part,
                Some(joined) => joined.followed_by(part)?,
            });
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn sizes_are_joined_while_compiling() {
        check(
            "g (float[n, m] x) => (int64[k] y, float[a, b] z) {
                s = Shape(x)
                c = Constant<value_ints: ints = [4]>()
                y = Concat<axis: int = 0>(s, c)
                z = Concat<axis: int = -1>(x, x)
            }",
            expect![[r#"
                g (float32[n, m] x) => (int64[3] y, float32[n, 2*m] z)
                <
                    int64[3] y = {n, m, 4}
                >
                {
                    float32[n, 2*m] z = Concat <axis: -1> (x, x)
                }
            "#]],
        );
    }

    #[test]
    fn matrices_are_joined_row_by_row() {
        check(
            "g () => (int64[a, b] y) <int64[2, 1] p = {1, 4}, int64[2, 2] q = {2, 3, 5, 6}> {
                y = Concat<axis: int = 1>(p, q)
            }",
            expect![[r#"
                g () => (int64[2, 3] y)
                <
                    int64[2, 3] y = {1, 2, 3, 4, 5, 6}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn other_sizes_must_be_equal() {
        check(
            "g (float[2, 3] x, float[4, 4] y) => (float[a, b] z) {
                z = Concat<axis: int = 0>(x, y)
            }",
            expect![[r#"
                cannot compile `model`

                  the inputs have sizes 3 and 4 on axis 1, expected equal sizes except on axis 0
                    at node `z` (Concat version 13)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
