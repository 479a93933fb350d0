//! Resolves values to slices of other values.

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::shape::concat::Concat;
use crate::ops::shape::slice::{Slice, Span};
use crate::ops::shape::split::Split;
use crate::passes::rewrite::{Match, Miss};

pub const TOO_LARGE: Miss = "the bounds are too large";

/// A slice of a value.
#[derive(Clone)]
pub struct Piece {
    pub of: ValueId,
    /// The range of each axis.
    pub spans: Vec<Span>,
    /// Values that determine the sizes in the ranges.
    pub sources: Vec<ValueId>,
}

/// Returns the piece that each value equals, `None` for an omitted value or one that is not a piece.
pub fn pieces(m: &Match<'_, '_>, ids: &[Option<ValueId>]) -> Vec<Option<Piece>> {
    let mut cut: Option<(&Node, Vec<Piece>)> = None;
    let mut all = Vec::new();
    for id in ids {
        let source = id.and_then(|id| m.source(id));
        all.push(source.and_then(|(node, output)| {
            if node.operator_as::<Split>().is_none() {
                return slice(m, node).ok();
            }
            // The parts of a split are usually requested in order.
            if cut.as_ref().is_none_or(|(split, _)| !std::ptr::eq(*split, node)) {
                cut = Some((node, split(m, node).unwrap_or_default()));
            }
            cut.as_ref().and_then(|(_, parts)| parts.get(output).cloned())
        }));
    }
    all
}

/// Returns the piece that a value equals.
pub fn piece(m: &Match<'_, '_>, id: ValueId) -> Result<Piece, Miss> {
    pieces(m, &[Some(id)])
        .pop()
        .flatten()
        .ok_or("the value is not a slice, or its bounds are known only at run time")
}

/// Returns the piece that a `Slice` node selects.
fn slice(m: &Match<'_, '_>, node: &Node) -> Result<Piece, Miss> {
    let of = node.input(0).ok_or("the node has no input")?;
    let sources = node.inputs.iter().flatten().copied().collect();
    Ok(Piece { of, spans: spans(m, node)?, sources })
}

/// Returns the piece in each output of a `Split` node.
fn split(m: &Match<'_, '_>, node: &Node) -> Result<Vec<Piece>, Miss> {
    let of = node.input(0).ok_or("the node has no input")?;
    let shape = &m.tensor_of(of)?.shape;
    let parts = node
        .operator_as::<Split>()
        .and_then(|split| split.parts(node.outputs.len(), m.known(node, 1), shape));
    let (axis, parts) = parts.ok_or("the sizes of the parts are known only at run time")?;
    let sources: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
    let whole: Vec<Span> = shape.iter().map(Span::whole).collect();
    let mut start = Dim::default();
    let mut all = Vec::new();
    for length in parts {
        let end = start.add(&length).ok_or(TOO_LARGE)?;
        let mut spans = whole.clone();
        spans.splice(axis..=axis, [Span { start, length, step: 1 }]);
        all.push(Piece { of, spans, sources: sources.clone() });
        start = end;
    }
    Ok(all)
}

/// Returns the range of each axis that a `Slice` node selects.
pub fn spans(m: &Match<'_, '_>, node: &Node) -> Result<Vec<Span>, Miss> {
    let slice = node.operator_as::<Slice>().ok_or("")?;
    let shape = &m.tensor_of(node.input(0).ok_or("the node has no input")?)?.shape;
    let spans = slice.spans(|at| m.known(node, at), shape);
    spans.ok_or("a step is negative, or the bounds are known only at run time")
}

/// Adds a `Slice` node that computes a piece, unless the piece is the whole value. Returns the piece.
pub fn cut(m: &mut Match<'_, '_>, piece: &Piece) -> Result<ValueId, Miss> {
    let shape = m.tensor_of(piece.of)?.shape.clone();
    let axes = piece.spans.iter().zip(&shape).zip(0i64..);
    let cut: Vec<_> = axes.filter(|((span, size), _)| **span != Span::whole(size)).collect();
    if cut.is_empty() {
        return Ok(piece.of);
    }
    let starts: Vec<Dim> = cut.iter().map(|((span, _), _)| span.start.clone()).collect();
    let ends = cut.iter().map(|((span, _), _)| span.end());
    let ends = ends.collect::<Option<Vec<Dim>>>().ok_or(TOO_LARGE)?;
    let axes: Vec<Dim> = cut.iter().map(|(_, axis)| Dim::from(*axis)).collect();
    let steps: Vec<Dim> = cut.iter().map(|((span, _), _)| span.step.into()).collect();
    let (starts, ends) = (m.sizes(&starts, &piece.sources)?, m.sizes(&ends, &piece.sources)?);
    let axes = m.integers(axes);
    let steps = if steps.iter().all(|step| step.is(1)) { None } else { Some(m.integers(steps)) };
    m.call("Slice", &[], &[Some(piece.of), Some(starts), Some(ends), Some(axes), steps])
}

/// Returns the axis of a concatenation.
pub fn along(m: &Match<'_, '_>, node: &Node) -> Result<usize, Miss> {
    let join = node.operator_as::<Concat>().ok_or("the node is not a concatenation")?;
    let first = node.input(0).ok_or("the node has no input")?;
    join.along(m.tensor_of(first)?.rank()).ok_or("the axis is out of range")
}

/// Joins two pieces of a value, if the second follows the first.
pub fn together(first: &Piece, second: &Piece, axis: usize) -> Option<Piece> {
    let mut spans = first.spans.clone();
    let (slot, next) = (spans.get_mut(axis)?, second.spans.get(axis)?);
    if first.of != second.of || slot.step != 1 || next.step != 1 || slot.end()? != next.start {
        return None;
    }
    slot.length = slot.length.add(&next.length)?;
    let others = first.spans.iter().zip(&second.spans).enumerate();
    let same = others.filter(|(at, _)| *at != axis).all(|(_, (a, b))| a == b);
    let mut sources = first.sources.clone();
    sources.extend(second.sources.iter().filter(|id| !first.sources.contains(id)));
    same.then_some(Piece { of: first.of, spans, sources })
}
