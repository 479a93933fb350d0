//! Sequences of slices, splits and concatenations, shortened.

pub mod axis_slice;
pub mod cut;

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::index::gather::Gather;
use crate::ops::shape::slice::Span;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::types::Known;
use cut::{Piece, TOO_LARGE, along, cut, piece, pieces, spans, together};

pub const RULES: &[Rule] = &[
    building("slice of a slice", "Slice:outer(Slice:inner(x, ..), ..)", |m| {
        let inner = m.root().input(0).ok_or("the node has no input")?;
        let (inner, outer) = (piece(m, inner)?, spans(m, m.root())?);
        let both = outer.iter().zip(&inner.spans);
        let both = both.map(|(outer, inner)| outer.within(inner));
        let spans = both.collect::<Option<_>>().ok_or(TOO_LARGE)?;
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
    building("concatenation of concatenations", "Concat:outer(..)", |m| {
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
    building("concatenation of adjacent slices", "Concat:join(..)", rejoined)
        .law("[x[..a], x[a..b]] = x[..b]")
        .example(
            "(float[N, 8] x) => (float[N, 8] z) {
            a, b = Split <axis = 1, num_outputs = 2> (x) y = Concat <axis = 1> (a, b) z = Exp (y)
        }",
        ),
    building("slice of a concatenation", "Slice:cut(Concat:join(..), ..)", |m| {
        let (join, cut) = (m.node("join")?, spans(m, m.root())?);
        let axis = along(m, join)?;
        let span = cut.get(axis).filter(|span| span.step == 1);
        let span = span.ok_or("the step of the slice is not 1")?;
        let end = span.end().ok_or(TOO_LARGE)?;
        let (input, start) = covering_input(m, join, axis, |start, end_of_input| {
            at_most(start, &span.start) && at_most(&end, end_of_input)
        })?;
        let start = span.start.sub(&start).ok_or(TOO_LARGE)?;
        let moved = Span { start, ..span.clone() };
        let mut spans = cut.clone();
        spans.splice(axis..=axis, [moved]);
        let sources = [&join.inputs[..], &m.root().inputs[..]].concat();
        let sources = sources.into_iter().flatten().collect();
        cut::cut(m, &Piece { of: input, spans, sources })
    })
    .shared()
    .law("[x, y][a..b] = x[a..b] if b is at most the size of x")
    .example(
        "(float[N, 2] x, float[N, 3] y) => (float[N, 2] z)
        <int64[1] a = {3}, int64[1] b = {9}, int64[1] one = {1}> {
            w = Concat <axis = 1> (x, y) z = Slice (w, a, b, one)
        }",
    ),
    building("element of a concatenation", "Gather:take(Concat:join(..), i)", |m| {
        let (join, node) = (m.node("join")?, m.root());
        let axis = along(m, join)?;
        let rank = m.tensor_of(node.input(0).ok_or("the node has no input")?)?.rank();
        if m.operator::<Gather>("take")?.along(rank) != Some(axis) {
            return Err("the gathered axis is not the concatenated axis");
        }
        let ty = m.tensor("i")?.clone();
        let indices = m.ints(node, 1).ok_or("the indices are known only at run time")?;
        let (Some(&least), Some(&most)) = (indices.iter().min(), indices.iter().max()) else {
            return Err("there are no indices");
        };
        if least < 0 {
            return Err("an index is negative");
        }
        let (input, start) = covering_input(m, join, axis, |start, end_of_input| {
            at_most(start, &least.into())
                && most.checked_add(1).is_some_and(|end| at_most(&end.into(), end_of_input))
        })?;
        let start = start.number().ok_or("the offset of the input is known only at run time")?;
        let indices = indices.iter().map(|index| Dim::from(index - start)).collect();
        let indices = m.constant(ty.dtype, ty.shape, Known::Ints(indices));
        m.made(node.clone(), &[Some(input), Some(indices)])
    })
    .shared()
    .law("[x, y][i] = x[i] if i is less than the size of x")
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
    .law("equal elements stay equal when they are moved")
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
            return Err("the slices have other consumers");
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
    contains: impl Fn(&Dim, &Dim) -> bool,
) -> Result<(ValueId, Dim), Miss> {
    let mut start = Dim::default();
    for &input in join.inputs.iter().flatten() {
        let size = m.tensor_of(input)?.shape.get(axis).cloned().unwrap_or_default();
        let end = start.add(&size).ok_or(TOO_LARGE)?;
        if contains(&start, &end) {
            return Ok((input, start));
        }
        start = end;
    }
    Err("the range is not within one input")
}

fn at_most(small: &Dim, large: &Dim) -> bool {
    small.compare(large).is_some_and(|order| order.is_le())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, nodes, shown};

    #[test]
    fn slices_and_concatenations_are_merged() {
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
            concatenation of concatenations
              float32[N, 5] w = Concat <axis: 1> (x, y)
              float32[N, 7] z = Concat <axis: -1> (w, x)
              =>
              float32[N, 7] z = Concat <axis: -1> (x, y, x)
            concatenation of adjacent slices
              float32[N, 4] a, float32[N, 4] b = Split <axis: 1, uneven: true> (x)
              float32[N, 8] y = Concat <axis: 1> (a, b)
              float32[N, 8] z = Exp (y)
              =>
              float32[N, 8] z = Exp (x)
            slice of a concatenation
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
            element of a concatenation
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

    /// Returns the nodes of a concatenation of parts of `x` and `w`, and the reasons why they are not joined.
    fn joined(parts: &str, outputs: &str) -> (String, Vec<&'static str>) {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 25]>
            g (float[N, 8] x, float[N, 8] w, float[D] v) => (float[N, M] y{outputs})
            <int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] one = {{1}}> {{
                a, b, c, d = Split <axis = 1, num_outputs = 4> (x)
                e, f, g, h = Split <axis = 1, num_outputs = 4> (w)
                i = Slice (x, zero, two, one) s = Shape (v) j = Slice (x, two, s, one)
                y = Concat <axis = 1> ({parts})
            }}"
        );
        let (text, report) = graph(&text, super::RULES);
        (
            nodes(&text).collect::<Vec<_>>().join("\n"),
            report.missed.iter().map(|event| event.reason).collect(),
        )
    }

    #[test]
    fn parts_of_different_values_are_not_joined() {
        expect![[r#"
            float32[N, 2] a, _, _, _ = Split <axis: 1, uneven: true> (x)
            _, float32[N, 2] f, _, _ = Split <axis: 1, uneven: true> (w)
            float32[N, 4] y = Concat <axis: 1> (a, f)"#]]
        .assert_eq(&joined("a, f", "").0);
    }

    #[test]
    fn parts_that_others_need_are_not_joined_unless_nothing_else_remains() {
        expect![[r#"
            float32[N, 2] e, _, _, _ = Split <axis: 1, uneven: true> (w)
            float32[N, 4] %21 = Slice (x, %18, %19, %20)
            float32[N, 6] y = Concat <axis: 1> (%21, e)"#]]
        .assert_eq(&joined("a, b, e", "").0);
        expect![[r#"
            float32[N, 2] a, _, _, _ = Split <axis: 1, uneven: true> (x)
            float32[N, 4] y = Slice (x, %18, %19, %20)"#]]
        .assert_eq(&joined("a, b", ", float[N, 2] a").0);
        expect![[r#"
            float32[N, 2] a, _, _, _ = Split <axis: 1, uneven: true> (x)
            float32[N, 2] e, _, _, _ = Split <axis: 1, uneven: true> (w)
            float32[N, 10] y = Concat <axis: 1> (x, e)"#]]
        .assert_eq(&joined("a, b, c, d, e", ", float[N, 2] a").0);
        for parts in ["a, b, e", "a, b, e, f"] {
            let (_, missed) = joined(parts, ", float[N, 2] a");
            assert_eq!(missed, ["the slices have other consumers"]);
        }
    }

    #[test]
    fn joined_parts_have_sizes_of_both() {
        expect!["float32[N, max(min(D, 8) - 2, 0) + 2] y = Slice (x, %18, %19, %20)"]
            .assert_eq(&joined("i, j", "").0);
    }
}
