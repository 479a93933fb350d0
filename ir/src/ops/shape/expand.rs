//! Expand and Tile: elements repeated along axes.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, Shape, TensorType};

pub const ROWS: &[Row] = &[
    row("Expand", &[8, 13], |_| Ok(Rc::new(Expand))).hoisted().view().follows().arity("rr", "r"),
    row("Tile", &[1, 6, 13], tile).hoisted().follows().arity("rr", "r").before(&[(6, "rrr", "r")]),
];

/// Broadcasting to a shape.
#[derive(Debug)]
struct Expand;

attributes!(struct Expand);

/// Repetition along each axis. Input 1 contains the numbers of repetitions.
#[derive(Debug)]
struct Tile {
    /// Whether the version is below 6, in which one axis, input 2, is tiled.
    one_axis: bool,
}

attributes!(struct Tile { one_axis });

fn tile(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let one_axis = a.version() < 6;
    Ok(Rc::new(Tile { one_axis }))
}

impl Operator for Expand {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let shape = match cx.ints(1) {
            Some(sizes) => {
                let is_negative = |size: &&Dim| size.compare(&0.into()).is_some_and(|order| order.is_lt());
                if let Some(size) = sizes.iter().find(is_negative) {
                    return Err(Problem::new(format!(
                        "`shape` contains {size}, expected non-negative integers"
                    )));
                }
                broadcast::shape(cx, &[x.shape.clone(), sizes])?
            }
            None => unknown(cx, &x)?,
        };
        let known = cx.folded(0).and_then(|known| {
            let (from, to) = (broadcast::fixed(&x.shape)?, broadcast::fixed(&shape)?);
            let count = to.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
            (count <= broadcast::MAX_KNOWN_ELEMENTS).then(|| known.pick(&broadcast::positions(&from, &to)))?
        });
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (from, to) = (cx.tensor_type(0)?.clone(), cx.output_tensor(0)?.clone());
        // A size that only the result determines, such as that of two broadcast symbols, cannot be used to compute it.
        let known = cx.is_known(1) && !to.shape.iter().any(|size| cx.is_first_bound_here(size));
        let grows = from.shape != to.shape && to.count().is_none();
        if !known || grows || !broadcast::agree(&[&from.shape, &to.shape]) {
            cx.may_fail();
        }
        if cx.on_host() {
            let x = cx.host(0)?;
            let sizes = if known {
                let sizes = cx.shape_of(&to.shape);
                code!(&#sizes)
            } else {
                cx.host_ints(1)?
            };
            return Ok(code!(host::expand(#x, #sizes)));
        }
        let x = cx.tensor(0)?;
        if from.shape == to.shape {
            return Ok(x);
        }
        if known {
            let shape = cx.shape(&to.shape);
            return Ok(code!(ops::expand::expand(#x, #shape)));
        }
        let (sizes, rank) = (cx.host_ints(1)?, Literal::usize_unsuffixed(to.burn_rank()));
        Ok(code!(ops::expand::expand_to::<_, #rank, _>(#x, #sizes)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (axis, rank) = (rows.axis_of_output()?, rows.output(0)?.rank());
        (rows.is_fixed(1) && rows.broadcasts(0, axis, rank)).then(|| vec![axis])
    }
}

/// Returns the sizes of `x` expanded to sizes that are known only at run time.
fn unknown(cx: &mut Infer<'_>, x: &TensorType) -> Result<Shape, Problem> {
    let count = sizes::rank(cx, 1)?;
    let rank = count.max(x.rank());
    let size = |axis: usize| {
        let own = (axis + x.rank()).checked_sub(rank);
        let own = own.and_then(|axis| x.shape.get(axis));
        match own {
            Some(size) if axis + count < rank || size.number().is_some_and(|size| size != 1) => size.clone(),
            _ => cx.fresh("expand"),
        }
    };
    Ok((0..rank).map(size).collect())
}

impl Operator for Tile {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let repeats = if self.one_axis {
            Some(self.along_one(x.rank(), cx.known(1), cx.known(2))?)
        } else {
            cx.ints(1)
        };
        if let Some(repeats) = &repeats {
            sizes::length("`repeats`", repeats.len(), x.rank())?;
        }
        let mut shape = Shape::new();
        for (axis, size) in x.shape.iter().enumerate() {
            let times = repeats.as_ref().and_then(|repeats| repeats.get(axis));
            if let Some(times) = times.and_then(Dim::number).filter(|&times| times < 0) {
                let list = if self.one_axis { "tiles" } else { "repeats" };
                return Err(Problem::new(format!(
                    "`{list}` contains {times}, expected non-negative integers"
                )));
            }
            let product = times.and_then(|times| size.mul(times));
            shape.push(cx.dim_or_fresh(product, "tile"));
        }
        let known = cx.folded(0).and_then(|known| tiled(known, &x.shape, &shape));
        cx.output(0, x.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let repeats = match (self.one_axis, cx.known(1)) {
            (true, _) => Some(self.along_one(rank, cx.known(1), cx.known(2))?),
            (false, Some(Known::Ints(repeats))) => Some(repeats.clone()),
            (false, _) => None,
        };
        let kept = |repeats: &Vec<Dim>| repeats.iter().all(|times| times.is(1));
        let stays = repeats.as_ref().is_some_and(kept);
        if !stays && cx.output_tensor(0)?.count().is_none() {
            cx.may_fail();
        }
        if cx.on_host() {
            let x = cx.host(0)?;
            let repeats = match &repeats {
                Some(repeats) => {
                    let repeats = cx.shape_of(repeats);
                    code!(&#repeats)
                }
                None => cx.host_ints(1)?,
            };
            return Ok(code!(host::tile(#x, #repeats)));
        }
        let x = cx.tensor(0)?;
        let repeats = match repeats {
            Some(_) if stays => return Ok(x),
            Some(repeats) => cx.shape(&repeats),
            None => {
                let repeats = cx.host_ints(1)?;
                code!(host::sizes(#repeats))
            }
        };
        Ok(code!(ops::expand::tile(#x, #repeats)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }

    fn runs_on_host(&self) -> bool {
        !self.one_axis
    }
}

impl Tile {
    /// Returns the repetitions in the old version, which tiles one axis.
    fn along_one(
        &self,
        rank: usize,
        times: Option<&Known>,
        along: Option<&Known>,
    ) -> Result<Vec<Dim>, Problem> {
        let one = |known: Option<&Known>| match known?.whole()?.as_slice() {
            [one] => one.number(),
            _ => None,
        };
        let (Some(times), Some(along)) = (one(times), one(along)) else {
            return Err(Problem::new("`tiles` or `axis` is unknown at compile time")
                .help("export the model with opset 6 or newer"));
        };
        let along = crate::ops::axes::axis(along, rank)?;
        let times = |axis: usize| Dim::from(if axis == along { times } else { 1 });
        Ok((0..rank).map(times).collect())
    }
}

fn tiled(known: &Known, from: &[Dim], to: &[Dim]) -> Option<Known> {
    let (from, to) = (broadcast::fixed(from)?, broadcast::fixed(to)?);
    let indices = |(size, &tiled): (&usize, &usize)| {
        (0..tiled).map(|at| at.checked_rem(*size)).collect::<Option<Vec<_>>>()
    };
    if to.iter().any(|&size| size > broadcast::MAX_KNOWN_ELEMENTS) {
        return None;
    }
    let indices = from.iter().zip(&to).map(indices).collect::<Option<Vec<_>>>()?;
    known.pick(&broadcast::grid(&from, &indices)?)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn names_of_sizes_expand() {
        check(
            "g (float[n, 1] x, float[n, m] y) => (float[a, b] z, int64[c, d] r)
            <int64[2] two = {1, 2}> {
                s = Shape(y)
                z = Expand(x, s)
                t = Expand(two, two)
                r = Tile(t, two)
            }",
            expect![[r#"
                g (float32[n, 1] x, float32[n, m] y) => (float32[n, m] z, int64[1, 4] r)
                <
                    int64[2] s = {n, m},
                    int64[1, 4] r = {1, 2, 1, 2}
                >
                {
                    float32[n, m] z = Expand (x, s)
                }
            "#]],
        );
    }

    #[test]
    fn sizes_that_only_the_run_can_tell_get_names() {
        check(
            "g (float[3, n] x, int64[1] s, int64[3] t) => (float[a, b] y, float[c, d, e] z) {
                y = Expand(x, s)
                z = Expand(x, t)
            }",
            expect![[r#"
                g (float32[3, n] x, host int64[1] s, host int64[3] t) => (float32[3, expand] y, float32[expand_2, 3, expand_3] z)
                {
                    float32[3, expand] y = Expand (x, s)
                    float32[expand_2, 3, expand_3] z = Expand (x, t)
                }
            "#]],
        );
    }
}
