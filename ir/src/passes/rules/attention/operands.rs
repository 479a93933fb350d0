//! Operands of attention before their split into heads.

use std::num::NonZeroUsize;

use crate::graph::{Node, ValueId};
use crate::ops::shape::transpose::Transpose;
use crate::passes::rewrite::Match;
use crate::passes::rules::slices::axis_slice::AxisSlice;

/// Returns an operand with its heads in the last axis, and their number, if its split has no other consumer.
pub fn together(m: &mut Match<'_, '_>, id: ValueId) -> Option<(ValueId, usize)> {
    let node = m.maker(id).filter(|_| m.uses(id) == 1)?;
    if let Some(found) = projected(m, id) {
        return Some(found);
    }
    if permutation(m, node, 4)? != [0, 2, 1, 3] {
        return None;
    }
    let split = node.input(0)?;
    let before = m.maker(split).filter(|_| m.uses(split) == 1)?;
    if !["Reshape", "Add"].contains(&&*before.kind) {
        return None;
    }
    let [batch, length, heads, size] = m.tensor_of(split).ok()?.shape.as_slice() else {
        return None;
    };
    let count = heads.fixed().and_then(NonZeroUsize::new)?.get();
    let shape = [batch.clone(), length.clone(), heads.mul(size)?];
    let sizes = m.sizes(&shape, &[split]).ok()?;
    let x = m.call("Reshape", &[], &[Some(split), Some(sizes)]).ok()?;
    Some((x, count))
}

/// Handles one of several operands of a common projection, `[batch, length, operands, heads, size]` in any order of
/// axes.
fn projected(m: &mut Match<'_, '_>, id: ValueId) -> Option<(ValueId, usize)> {
    // For each axis, its index in the split projection.
    let mut axes: Vec<usize> = (0..5).collect();
    let (mut inner, mut outer) = (id, Vec::new());
    if let Some(node) = m.maker(inner).filter(|node| &*node.kind == "Transpose") {
        (inner, outer) = (node.input(0)?, permutation(m, node, 4)?);
    }
    let part = AxisSlice::of(m, inner).filter(|part| part.squeezed)?;
    let mut split = part.whole;
    if let Some(node) = m.maker(split).filter(|node| &*node.kind == "Transpose") {
        (split, axes) = (node.input(0)?, permutation(m, node, 5)?);
    }
    if axes.get(part.axis) != Some(&2) {
        return None;
    }
    axes.remove(part.axis);
    if !outer.is_empty() {
        axes = outer.iter().map(|&at| axes.get(at).copied()).collect::<Option<_>>()?;
    }
    let reshape = m.maker(split).filter(|node| &*node.kind == "Reshape")?;
    let x = reshape.input(0)?;
    let [batch, length, operands, heads, size] = m.tensor_of(split).ok()?.shape.as_slice() else {
        return None;
    };
    let hidden = heads.mul(size)?.number()?;
    let whole = [batch.clone(), length.clone(), operands.mul(&hidden.into())?];
    if axes != [0, 3, 1, 4] || m.tensor_of(x).ok()?.shape != whole {
        return None;
    }
    let count = heads.fixed().and_then(NonZeroUsize::new)?.get();
    let start = part.start.checked_mul(hidden)?;
    let [start, end, axis] = [start, start.checked_add(hidden)?, -1].map(|at| m.integers(vec![at.into()]));
    let inputs = [x, start, end, axis].map(Some);
    Some((m.call("Slice", &[], &inputs).ok()?, count))
}

/// Returns the axes of a transpose whose input has this rank.
pub fn permutation(m: &Match<'_, '_>, node: &Node, rank: usize) -> Option<Vec<usize>> {
    let tensor = m.tensor_of(node.input(0)?).ok()?;
    (tensor.rank() == rank).then_some(())?;
    node.operator_as::<Transpose>()?.axes(rank).ok()
}
