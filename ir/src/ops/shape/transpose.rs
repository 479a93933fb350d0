//! Transpose: permutation of axes.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, broadcast, row};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] =
    &[row("Transpose", &[1, 13, 21, 23, 24, 25], |a| Ok(Rc::new(Transpose { axes: a.ints("perm")? })))
        .hoisted()
        .view()
        .follows()];

/// Axis `i` of the result is axis `axes[i]` of the input. Without `axes`, their order is reversed.
#[derive(Debug)]
pub struct Transpose {
    axes: Option<Vec<i64>>,
}

attributes!(struct Transpose { axes });

impl Operator for Transpose {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let axes = self.axes(x.rank())?;
        let shape = axes.iter().filter_map(|&axis| x.shape.get(axis).cloned());
        let shape = shape.collect();
        let known = cx.folded(0).and_then(|known| {
            let from = broadcast::fixed(&x.shape)?;
            transposed(known, &from, &axes)
        });
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let axes = self.axes(rank)?;
        let moved: Vec<usize> = (0..rank).filter(|&at| axes.get(at) != Some(&at)).collect();
        if moved.is_empty() {
            return cx.value(0);
        }
        let literals = |axes: &[usize]| {
            let axes = axes.iter().map(|&axis| Literal::usize_unsuffixed(axis));
            code!(#(#axes),*)
        };
        if cx.on_host() {
            let (x, axes) = (cx.host(0)?, literals(&axes));
            return Ok(code!(host::transpose(#x, &[#axes])));
        }
        let x = cx.tensor(0)?;
        Ok(match moved.as_slice() {
            [_, _] if rank == 2 => code!(#x.transpose()),
            [_, _] => {
                let moved = literals(&moved);
                code!(#x.swap_dims(#moved))
            }
            _ => {
                let axes = literals(&axes);
                code!(#x.permute([#axes]))
            }
        })
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let from = rows.alone()?;
        let axes = self.axes(rows.tensor(0)?.rank()).ok()?;
        Some(vec![axes.iter().position(|&axis| axis == from)?])
    }
}

impl Transpose {
    /// Returns the axis of the input for each axis of the result.
    pub fn axes(&self, rank: usize) -> Result<Vec<usize>, Problem> {
        let Some(perm) = &self.axes else {
            return Ok((0..rank).rev().collect());
        };
        let axes = perm.iter().map(|&at| axis(at, rank));
        let axes: Vec<usize> = axes.collect::<Result<_, _>>()?;
        if axes.len() == rank && (0..rank).all(|axis| axes.contains(&axis)) {
            Ok(axes)
        } else {
            let expected = format_args!("a permutation of the axes of rank {rank}");
            Err(Problem::expected("`perm`", format_args!("{perm:?}"), expected))
        }
    }
}

fn transposed(known: &Known, from: &[usize], axes: &[usize]) -> Option<Known> {
    let stride = |axis: usize| from.iter().skip(axis + 1).product::<usize>();
    let mut offsets = vec![0];
    for &axis in axes {
        let (size, stride) = (*from.get(axis)?, stride(axis));
        if offsets.len().checked_mul(size)? > broadcast::MAX_KNOWN_ELEMENTS {
            return None;
        }
        let within = |offset: usize| (0..size).map(move |at| offset + at * stride);
        offsets = offsets.into_iter().flat_map(within).collect();
    }
    known.pick(&offsets)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn known_elements_are_transposed() {
        check(
            "g () => (int64[a, b] y) <int64[2, 3] p = {1, 2, 3, 4, 5, 6}> { y = Transpose(p) }",
            expect![[r#"
                g () => (int64[3, 2] y)
                <
                    int64[3, 2] y = {1, 4, 2, 5, 3, 6}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn axes_that_are_no_permutation_are_refused() {
        check(
            "g (float[a, b] x) => (float[c, d] y) { y = Transpose<perm: ints = [1, 1]>(x) }",
            expect![[r#"
                cannot compile `model`

                  `perm` is [1, 1], expected a permutation of the axes of rank 2
                    at node `y` (Transpose version 21)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
