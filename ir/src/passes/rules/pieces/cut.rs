//! What of a value another one is.

use crate::dim::Dim;
use crate::graph::{Node, ValueId};
use crate::ops::concat::Concat;
use crate::ops::slice::{Slice, Stretch};
use crate::ops::split::Split;
use crate::passes::rewrite::{Match, Miss};

/// A part of a value.
pub struct Piece {
    pub of: ValueId,
    /// What it takes of each axis.
    pub stretches: Vec<Stretch>,
    /// Values that tell the sizes in them.
    pub given: Vec<ValueId>,
}

/// What a value is a part of.
pub fn piece(m: &Match<'_, '_>, id: ValueId) -> Result<Piece, Miss> {
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
pub fn stretches(m: &Match<'_, '_>, node: &Node) -> Result<Vec<Stretch>, Miss> {
    let slice = node.operator_as::<Slice>().ok_or("")?;
    let shape = &m
        .tensor_of(node.input(0).ok_or("nothing is sliced")?)?
        .shape;
    let stretches = slice.stretches(|at| m.known(node, at), shape);
    stretches.ok_or("bounds go backward, or only the run tells them")
}

/// The slice that takes a piece, or the whole value.
pub fn cut(m: &mut Match<'_, '_>, piece: &Piece) -> Result<ValueId, Miss> {
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
pub fn along(m: &Match<'_, '_>, node: &Node) -> Result<usize, Miss> {
    let join = node.operator_as::<Concat>().ok_or("nothing is joined")?;
    let first = node.input(0).ok_or("nothing is joined")?;
    join.along(m.tensor_of(first)?.rank())
        .ok_or("the axis is none of it")
}

/// Two pieces of one value as one, if the second follows the first.
pub fn together(first: &Piece, second: &Piece, axis: usize) -> Option<Piece> {
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
