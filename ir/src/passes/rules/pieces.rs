//! Slices, splits and joins in fewer steps.

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::concat::Concat;
use crate::ops::gather::Gather;
use crate::ops::slice::{Slice, Stretch};
use crate::ops::split::Split;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::types::Known;

pub const RULES: &[Rule] = &[
    building("slice of a slice", "Slice:outer(Slice:inner(x, ..), ..)", |m| {
        let inner = m.root().input(0).ok_or("nothing is sliced")?;
        let (inner, outer) = (piece(m, inner)?, stretches(m, m.root())?);
        let both = outer.iter().zip(&inner.stretches);
        let both = both.map(|(outer, inner)| outer.within(inner));
        let stretches = both.collect::<Option<_>>().ok_or("the bounds grow too large")?;
        let given = [inner.given, m.root().inputs.iter().flatten().copied().collect()].concat();
        cut(m, &Piece { stretches, given, ..inner })
    })
    .shared()
    .law("x[a..b][c..d] = x[a + c..a + d], steps multiplied")
    .example(
        "(float[N, 8] x) => (float[N, 2] z)
        <int64[1] a = {1}, int64[1] b = {7}, int64[1] c = {3}, int64[1] d = {5}, int64[1] one = {1}> {
            y = Slice (x, a, b, one) z = Slice (y, c, d, one)
        }",
    ),
    building("join of joins", "Concat:outer(..)", |m| {
        let axis = along(m, m.root())?;
        let mut inputs = Vec::new();
        for &input in m.root().inputs.iter().flatten() {
            let inner = m.maker(input).filter(|node| along(m, node) == Ok(axis));
            match inner.filter(|_| m.uses(input) == 1) {
                Some(inner) => inputs.extend(inner.inputs.iter().copied()),
                None => inputs.push(Some(input)),
            }
        }
        match inputs.len() > m.root().inputs.len() {
            true => m.made(m.root().clone(), &inputs),
            false => Err(""),
        }
    })
    .law("[[a, b], c] = [a, b, c] along one axis")
    .example(
        "(float[N, 2] x, float[N, 3] y) => (float[N, 7] z) {
            w = Concat <axis = 1> (x, y) z = Concat <axis = -1> (w, x)
        }",
    ),
    building("join of neighbours", "Concat:join(..)", rejoined)
    .law("[x[..a], x[a..b]] = x[..b]")
    .example(
        "(float[N, 8] x) => (float[N, 8] z) {
            a, b = Split <axis = 1, num_outputs = 2> (x) y = Concat <axis = 1> (a, b) z = Exp (y)
        }",
    ),
    building("slice of a join", "Slice:cut(Concat:join(..), ..)", |m| {
        let (join, cut) = (m.node("join")?, stretches(m, m.root())?);
        let axis = along(m, join)?;
        let taken = cut.get(axis).filter(|taken| taken.step == 1);
        let taken = taken.ok_or("it takes not every element")?;
        let end = taken.end().ok_or("the bounds grow too large")?;
        let (input, start) = held(m, join, axis, |start, behind| {
            at_most(start, &taken.start) && at_most(&end, behind)
        })?;
        let start = taken.start.sub(&start).ok_or("the bounds grow too large")?;
        let moved = Stretch { start, ..taken.clone() };
        let mut stretches = cut.clone();
        stretches.splice(axis..=axis, [moved]);
        let given = [&join.inputs[..], &m.root().inputs[..]].concat();
        let given = given.into_iter().flatten().collect();
        self::cut(m, &Piece { of: input, stretches, given })
    })
    .shared()
    .law("[x, y][a..b] = x[a..b] where b is at most the size of x")
    .example(
        "(float[N, 2] x, float[N, 3] y) => (float[N, 2] z)
        <int64[1] a = {3}, int64[1] b = {9}, int64[1] one = {1}> {
            w = Concat <axis = 1> (x, y) z = Slice (w, a, b, one)
        }",
    ),
    building("element of a join", "Gather:take(Concat:join(..), i)", |m| {
        let (join, node) = (m.node("join")?, m.root());
        let axis = along(m, join)?;
        let rank = m.tensor_of(node.input(0).ok_or("nothing is gathered")?)?.rank();
        if m.operator::<Gather>("take")?.along(rank) != Some(axis) {
            return Err("it is gathered along another axis than joined");
        }
        let ty = m.tensor("i")?.clone();
        let indices = m.ints(node, 1).ok_or("only the run tells the indices")?;
        let (Some(&least), Some(&most)) = (indices.iter().min(), indices.iter().max()) else {
            return Err("nothing is gathered");
        };
        if least < 0 {
            return Err("indices are counted from the end");
        }
        let (input, start) = held(m, join, axis, |start, behind| {
            at_most(start, &least.into()) && most.checked_add(1).is_some_and(|end| at_most(&end.into(), behind))
        })?;
        let start = start.number().ok_or("only the run tells where it starts")?;
        let indices = indices.iter().map(|index| Dim::from(index - start)).collect();
        let indices = m.constant(ty.dtype, ty.shape, Known::Ints(indices));
        m.made(node.clone(), &[Some(input), Some(indices)])
    })
    .shared()
    .law("[x, y][i] = x[i] where i is less than the size of x")
    .example(
        "(float[N, 2] x, float[N, 3] y) => (float[N] z) <int64 i = {3}> {
            w = Concat <axis = 1> (x, y) z = Gather <axis = 1> (w, i)
        }",
    ),
    building(
        "part of a filled tensor",
        "Slice|Reshape|Flatten|Squeeze|Unsqueeze|Transpose|Expand|Tile:move(ConstantOfShape:fill(s), ..)",
        |m| {
            let shape = m.result()?.shape.clone();
            let fill = m.node("fill")?.clone();
            let given: Vec<ValueId> = m.root().inputs.iter().flatten().copied().collect();
            let given = [vec![m.value("s")?], given.get(1..).unwrap_or_default().to_vec()].concat();
            let sizes = m.sizes(&shape, &given)?;
            m.made(fill, &[Some(sizes)])
        },
    )
    .shared()
    .law("the same element everywhere, wherever it is moved")
    .example(
        "(float[N, 2] x) => (float[1, N] z) <int64[1] two = {2}, int64[1] a = {0}, int64[1] b = {1}> {
            n = Shape <start = 0, end = 1> (x) s = Concat <axis = 0> (two, n)
            f = ConstantOfShape (s) z = Slice (f, a, b)
        }",
    ),
];

/// A part of a value.
struct Piece {
    of: ValueId,
    /// What it takes of each axis.
    stretches: Vec<Stretch>,
    /// Values that tell the sizes in them.
    given: Vec<ValueId>,
}

/// What a value is a part of.
fn piece(m: &Match<'_, '_>, id: ValueId) -> Result<Piece, Miss> {
    let (node, output) = m.source(id).ok_or("")?;
    let of = node.input(0).ok_or("")?;
    let stretches = match node.operator_as::<Split>() {
        None => stretches(m, node)?,
        Some(split) => {
            let shape = &m.tensor_of(of)?.shape;
            let parts = split.parts(node.outputs.len(), m.known(node, 1), shape);
            let (axis, parts) = parts.ok_or("only the run tells the sizes of parts")?;
            let mut before = parts.iter().take(output);
            let start = before.try_fold(Dim::default(), |sum, part| sum.add(part));
            let mut all: Vec<Stretch> = shape.iter().map(Stretch::whole).collect();
            if let (Some(slot), Some(start), Some(part)) =
                (all.get_mut(axis), start, parts.get(output))
            {
                *slot = Stretch {
                    start,
                    length: part.clone(),
                    step: 1,
                };
            }
            all
        }
    };
    let given = node.inputs.iter().flatten().copied().collect();
    Ok(Piece {
        of,
        stretches,
        given,
    })
}

/// What a slice takes of each axis.
fn stretches(m: &Match<'_, '_>, node: &Node) -> Result<Vec<Stretch>, Miss> {
    let slice = node.operator_as::<Slice>().ok_or("")?;
    let shape = &m
        .tensor_of(node.input(0).ok_or("nothing is sliced")?)?
        .shape;
    let stretches = slice.stretches(|at| m.known(node, at), shape);
    stretches.ok_or("bounds go backward, or only the run tells them")
}

/// The slice that takes a piece, or the whole value.
fn cut(m: &mut Match<'_, '_>, piece: &Piece) -> Result<ValueId, Miss> {
    let shape = m.tensor_of(piece.of)?.shape.clone();
    let axes = piece.stretches.iter().zip(&shape).zip(0i64..);
    let cut: Vec<_> = axes
        .filter(|((taken, size), _)| **taken != Stretch::whole(size))
        .collect();
    if cut.is_empty() {
        return Ok(piece.of);
    }
    let starts: Vec<Dim> = cut
        .iter()
        .map(|((taken, _), _)| taken.start.clone())
        .collect();
    let ends = cut.iter().map(|((taken, _), _)| taken.end());
    let ends = ends
        .collect::<Option<Vec<Dim>>>()
        .ok_or("the bounds grow too large")?;
    let axes: Vec<Dim> = cut.iter().map(|(_, axis)| Dim::from(*axis)).collect();
    let steps: Vec<Dim> = cut
        .iter()
        .map(|((taken, _), _)| taken.step.into())
        .collect();
    let (starts, ends) = (
        m.sizes(&starts, &piece.given)?,
        m.sizes(&ends, &piece.given)?,
    );
    let axes = m.integers(axes);
    let steps = match steps.iter().all(|step| step.is(1)) {
        true => None,
        false => Some(m.integers(steps)),
    };
    m.call(
        "Slice",
        &[],
        &[Some(piece.of), Some(starts), Some(ends), Some(axes), steps],
    )
}

/// The axis along which a node joins.
fn along(m: &Match<'_, '_>, node: &Node) -> Result<usize, Miss> {
    let join = node.operator_as::<Concat>().ok_or("nothing is joined")?;
    let first = node.input(0).ok_or("nothing is joined")?;
    join.along(m.tensor_of(first)?.rank())
        .ok_or("the axis is none of it")
}

/// Joins again what was apart, so far as it stands side by side.
fn rejoined(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let axis = along(m, m.root())?;
    let mut all: Vec<(ValueId, Option<Piece>)> = Vec::new();
    for &input in m.root().inputs.iter().flatten() {
        let next = piece(m, input).ok();
        let joined = match (all.last().and_then(|(_, piece)| piece.as_ref()), &next) {
            (Some(piece), Some(next)) => together(piece, next, axis),
            _ => None,
        };
        match (joined, all.last_mut()) {
            (Some(joined), Some(last)) => last.1 = Some(joined),
            _ => all.push((input, next)),
        }
    }
    let before = m.root().inputs.len();
    if all.len() == before {
        return Err("");
    }
    let mut inputs = Vec::new();
    for (input, piece) in &all {
        let longer = piece.as_ref().filter(|piece| {
            let own = self::piece(m, *input).ok();
            own.is_some_and(|own| own.stretches != piece.stretches)
        });
        inputs.push(Some(match longer {
            Some(piece) => cut(m, piece)?,
            None => *input,
        }));
        let whole = longer.is_none_or(|piece| inputs.last() == Some(&Some(piece.of)));
        if !whole && m.root().inputs.iter().flatten().any(|&id| m.uses(id) > 1) {
            return Err("the parts are used elsewhere too");
        }
    }
    match inputs.as_slice() {
        [Some(whole)] => Ok(*whole),
        inputs => m.made(m.root().clone(), inputs),
    }
}

/// Two pieces of one value as one, if the second follows the first.
fn together(first: &Piece, second: &Piece, axis: usize) -> Option<Piece> {
    let mut stretches = first.stretches.clone();
    let (slot, next) = (stretches.get_mut(axis)?, second.stretches.get(axis)?);
    if first.of != second.of || slot.step != 1 || next.step != 1 || slot.end()? != next.start {
        return None;
    }
    slot.length = slot.length.add(&next.length)?;
    let others = first.stretches.iter().zip(&second.stretches).enumerate();
    let alike = others
        .filter(|(at, _)| *at != axis)
        .all(|(_, (a, b))| a == b);
    alike.then(|| Piece {
        of: first.of,
        stretches,
        given: [&first.given[..], &second.given[..]].concat(),
    })
}

/// The input of a join that holds all of a range, and where it starts.
fn held(
    m: &Match<'_, '_>,
    join: &Node,
    axis: usize,
    holds: impl Fn(&Dim, &Dim) -> bool,
) -> Result<(ValueId, Dim), Miss> {
    let mut start = Dim::default();
    for &input in join.inputs.iter().flatten() {
        let size = m
            .tensor_of(input)?
            .shape
            .get(axis)
            .cloned()
            .unwrap_or_default();
        let behind = start.add(&size).ok_or("the bounds grow too large")?;
        if holds(&start, &behind) {
            return Ok((input, start));
        }
        start = behind;
    }
    Err("it lies in no part alone")
}

fn at_most(small: &Dim, large: &Dim) -> bool {
    small.compare(large).is_some_and(|order| order.is_le())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::shown;

    #[test]
    fn pieces_are_cut_and_joined_once() {
        expect![[r#"
            slice of a slice
              <
              int64[1] a = {1},
              int64[1] b = {7},
              int64[1] c = {3},
              int64[1] d = {5}
              >
              float32[N, 6] y = Slice (x, a, b, a)
              float32[N, 2] z = Slice (y, c, d, a)
              =>
              <
              int64[1] %8 = {4},
              int64[1] %9 = {6},
              int64[1] %10 = {1}
              >
              float32[N, 2] z = Slice (x, %8, %9, %10)
            join of joins
              float32[N, 5] w = Concat <axis: 1> (x, y)
              float32[N, 7] z = Concat <axis: -1> (w, x)
              =>
              float32[N, 7] z = Concat <axis: -1> (x, y, x)
            join of neighbours
              float32[N, 4] a, float32[N, 4] b = Split <axis: 1, uneven: true> (x)
              float32[N, 8] y = Concat <axis: 1> (a, b)
              float32[N, 8] z = Exp (y)
              =>
              float32[N, 8] z = Exp (x)
            slice of a join
              <
              int64[1] a = {3},
              int64[1] b = {9},
              int64[1] one = {1}
              >
              float32[N, 5] w = Concat <axis: 1> (x, y)
              float32[N, 2] z = Slice (w, a, b, one)
              =>
              <
              int64[1] %7 = {1},
              int64[1] %8 = {3},
              int64[1] %9 = {1}
              >
              float32[N, 2] z = Slice (y, %7, %8, %9)
            element of a join
              <
              int64[] i = {3}
              >
              float32[N, 5] w = Concat <axis: 1> (x, y)
              float32[N] z = Gather <axis: 1> (w, i)
              =>
              <
              int64[] %5 = {1}
              >
              float32[N] z = Gather <axis: 1> (y, %5)
            part of a filled tensor
              <
              int64[1] a = {0},
              int64[1] b = {1},
              int64[2] s = {2, N}
              >
              float32[2, N] f = ConstantOfShape <dtype: F32, value: {[0.0]}> (s)
              float32[1, N] z = Slice (f, a, b)
              =>
              <
              int64[2] %8 = {1, N}
              >
              float32[1, N] z = ConstantOfShape <dtype: F32, value: {[0.0]}> (%8)
        "#]]
        .assert_eq(&shown(super::RULES));
    }
}
