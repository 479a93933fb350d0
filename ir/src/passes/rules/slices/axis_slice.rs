//! Resolves values to ranges along one axis of other values.

use super::cut::piece;
use crate::dim::Dim;
use crate::graph::ValueId;
use crate::ops::index::gather::Gather;
use crate::ops::shape::slice::Span;
use crate::passes::rewrite::Match;

/// A range of indices along one axis of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisSlice {
    pub whole: ValueId,
    pub axis: usize,
    pub start: i64,
    pub step: i64,
    /// Whether the range is a single index and the axis is removed.
    pub squeezed: bool,
}

impl AxisSlice {
    /// Returns the part of another value that a value equals, `None` if no supported operator selects it.
    pub fn of(m: &Match<'_, '_>, id: ValueId) -> Option<AxisSlice> {
        let (node, _) = m.source(id)?;
        let whole = node.input(0)?;
        let shape = &m.tensor_of(whole).ok()?.shape;
        match &*node.kind {
            "Gather" => {
                let axis = node.operator_as::<Gather>()?.along(shape.len())?;
                let indices = node.input(1)?;
                let rank = m.tensor_of(indices).ok()?.rank();
                let [start] = m.ints(node, 1)?[..] else {
                    return None;
                };
                let size = if start < 0 { shape.get(axis)?.number()? } else { 0 };
                (rank < 2).then_some(AxisSlice {
                    whole,
                    axis,
                    start: start.checked_add(size)?,
                    step: 1,
                    squeezed: rank == 0,
                })
            }
            "Squeeze" | "Reshape" => {
                let inner = AxisSlice::of(m, whole).filter(|part| !part.squeezed)?;
                shape.get(inner.axis).filter(|size| size.is(1))?;
                let others = shape.iter().enumerate().filter(|(axis, _)| *axis != inner.axis);
                let same = m.tensor_of(id).ok()?.shape.iter().eq(others.map(|(_, size)| size));
                same.then_some(AxisSlice { squeezed: true, ..inner })
            }
            _ => {
                let piece = piece(m, id).ok()?;
                let is_cut = |(_, (span, size)): &(usize, (&Span, &Dim))| **span != Span::whole(size);
                let mut cut = piece.spans.iter().zip(shape).enumerate().filter(is_cut);
                let (axis, (span, _)) = cut.next()?;
                cut.next().is_none().then_some(AxisSlice {
                    whole,
                    axis,
                    start: span.start.number()?,
                    step: span.step,
                    squeezed: false,
                })
            }
        }
    }
}
