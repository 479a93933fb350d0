//! Sequences of slices, splits and concatenations, shortened.

pub mod cut;
pub mod part;

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::index::gather::Gather;
use crate::ops::shape::slice::Span;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::types::Known;
use cut::{Piece, along, cut, piece, pieces, spans, together};

pub const RULES: &[Rule] = &[
    building("slice of a slice", "Slice:outer(Slice:inner(x, ..), ..)", |m| {
        let inner = m.root().input(0).ok_or("nothing is sliced")?;
        let (inner, outer) = (piece(m, inner)?, spans(m, m.root())?);
        let both = outer.iter().zip(&inner.spans);
        let both = both.map(|(outer, inner)| outer.within(inner));
        let spans = both.collect::<Option<_>>().ok_or("the bounds grow too large")?;
        let sources = [inner.sources, m.root().inputs.iter().flatten().copied().collect()].concat();
        cut(m, &Piece { spans, sources, ..inner })
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
        if inputs.len() > m.root().inputs.len() { m.made(m.root().clone(), &inputs) } else { Err("") }
    })
    .law("[[a, b], c] = [a, b, c] along one axis")
    .example(
        "(float[N, 2] x, float[N, 3] y) => (float[N, 7] z) {
            w = Concat <axis = 1> (x, y) z = Concat <axis = -1> (w, x)
        }",
    ),
    building("join of neighbours", "Concat:join(..)", rejoined).law("[x[..a], x[a..b]] = x[..b]").example(
        "(float[N, 8] x) => (float[N, 8] z) {
            a, b = Split <axis = 1, num_outputs = 2> (x) y = Concat <axis = 1> (a, b) z = Exp (y)
        }",
    ),
    building("slice of a join", "Slice:cut(Concat:join(..), ..)", |m| {
        let (join, cut) = (m.node("join")?, spans(m, m.root())?);
        let axis = along(m, join)?;
        let span = cut.get(axis).filter(|span| span.step == 1);
        let span = span.ok_or("it takes not every element")?;
        let end = span.end().ok_or("the bounds grow too large")?;
        let (input, start) = covering_input(m, join, axis, |start, behind| {
            at_most(start, &span.start) && at_most(&end, behind)
        })?;
        let start = span.start.sub(&start).ok_or("the bounds grow too large")?;
        let moved = Span { start, ..span.clone() };
        let mut spans = cut.clone();
        spans.splice(axis..=axis, [moved]);
        let sources = [&join.inputs[..], &m.root().inputs[..]].concat();
        let sources = sources.into_iter().flatten().collect();
        cut::cut(m, &Piece { of: input, spans, sources })
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
        let indices = m.ints(node, 1).ok_or("the indices are known only at run time")?;
        let (Some(&least), Some(&most)) = (indices.iter().min(), indices.iter().max()) else {
            return Err("nothing is gathered");
        };
        if least < 0 {
            return Err("indices are counted from the end");
        }
        let (input, start) = covering_input(m, join, axis, |start, behind| {
            at_most(start, &least.into())
                && most.checked_add(1).is_some_and(|end| at_most(&end.into(), behind))
        })?;
        let start = start.number().ok_or("where it starts is known only at run time")?;
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
        "Slice|Reshape|Flatten|Squeeze|Unsqueeze|Transpose|Expand|Tile:move(ConstantOfShape:fill(s), \
             ..)",
        |m| {
            let shape = m.result()?.shape.clone();
            let fill = m.node("fill")?.clone();
            let sources: Vec<ValueId> = m.root().inputs.iter().flatten().copied().collect();
            let sources = [vec![m.value("s")?], sources.get(1..).unwrap_or_default().to_vec()].concat();
            let sizes = m.sizes(&shape, &sources)?;
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

/// Replaces adjacent parts of a value in a concatenation by one.
fn rejoined(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let axis = along(m, m.root())?;
    let own = pieces(m, &m.root().inputs);
    let mut all: Vec<(usize, Option<Piece>)> = Vec::new();
    for (at, next) in own.iter().enumerate() {
        let joined = match (all.last().and_then(|(_, piece)| piece.as_ref()), &next) {
            (Some(piece), Some(next)) => together(piece, next, axis),
            _ => None,
        };
        match (joined, all.last_mut()) {
            (Some(joined), Some(last)) => last.1 = Some(joined),
            _ => all.push((at, next.clone())),
        }
    }
    let before = m.root().inputs.len();
    if all.len() == before {
        return Err("");
    }
    let mut inputs = Vec::new();
    for (at, piece) in &all {
        let alone = m.root().input(*at);
        let longer = piece.as_ref().filter(|piece| {
            let own = own.get(*at).and_then(Option::as_ref);
            own.is_some_and(|own| own.spans != piece.spans)
        });
        inputs.push(match longer {
            Some(piece) => Some(cut(m, piece)?),
            None => alone,
        });
        let whole = longer.is_none_or(|piece| inputs.last() == Some(&Some(piece.of)));
        let shared = m.root().inputs.iter().flatten().any(|&id| m.uses(id) > 1);
        if !whole && shared && all.len() > 1 {
            return Err("the parts are used elsewhere too");
        }
    }
    match inputs.as_slice() {
        [Some(whole)] => Ok(*whole),
        inputs => m.made(m.root().clone(), inputs),
    }
}

/// Returns the input of a concatenation that contains a whole range, and the index at which it starts.
fn covering_input(
    m: &Match<'_, '_>,
    join: &Node,
    axis: usize,
    holds: impl Fn(&Dim, &Dim) -> bool,
) -> Result<(ValueId, Dim), Miss> {
    let mut start = Dim::default();
    for &input in join.inputs.iter().flatten() {
        let size = m.tensor_of(input)?.shape.get(axis).cloned().unwrap_or_default();
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
