//! Nodes that move elements of constants.

use super::layout::sizes;
use super::side::Side;
use crate::graph::{Node, ValueId};
use crate::ops::shape::concat::Concat;
use crate::ops::shape::slice::Slice;
use crate::ops::shape::transpose::Transpose;

/// Operators that keep the order of elements.
pub(super) const RESHAPES: [&str; 5] = ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"];

/// Returns the operands of a node that only moves or repeats elements, and for each element of its result the position in the
/// elements of all operands, one after another.
pub(super) fn moved(side: &Side<'_>, node: &Node) -> Option<(Vec<ValueId>, Vec<usize>)> {
    let to = sizes(side.values[node.output(0)?].ty.as_ref())?;
    let first = node.input(0)?;
    let from = sizes(side.values[first].ty.as_ref())?;
    let strides = strides(&from);
    if RESHAPES.contains(&&*node.kind) {
        return Some((vec![first], (0..count(&from)?).collect()));
    }
    if let Some(transpose) = node.operator_as::<Transpose>() {
        let axes = transpose.axes(from.len()).ok()?;
        let axes = axes.iter().map(|&axis| Some((*from.get(axis)?, *strides.get(axis)?)));
        return Some((vec![first], walked(0, &axes.collect::<Option<Vec<_>>>()?)?));
    }
    if let Some(slice) = node.operator_as::<Slice>() {
        let known = |at: usize| {
            let id = node.input(at);
            (id.is_some(), id.and_then(|id| side.values[id].known.peek()))
        };
        let shape: Vec<_> = from.iter().map(|&size| i64::try_from(size).ok().map(Into::into)).collect();
        let spans = slice.spans(known, &shape.into_iter().collect::<Option<Vec<_>>>()?)?;
        let mut start = 0usize;
        let mut axes = Vec::new();
        for (span, &stride) in spans.iter().zip(&strides) {
            let step = usize::try_from(span.step).ok()?;
            start = start.checked_add(span.start.fixed()?.checked_mul(stride)?)?;
            axes.push((span.length.fixed()?, step.checked_mul(stride)?));
        }
        return Some((vec![first], walked(start, &axes)?));
    }
    if let Some(concat) = node.operator_as::<Concat>() {
        return joined(side, node, &to, concat.along(to.len())?);
    }
    (&*node.kind == "Expand").then_some(())?;
    Some((vec![first], repeated(&from, &to)?))
}

/// Returns for each element of a shape the position of the element of `from` that it repeats.
pub(super) fn repeated(from: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    let strides = strides(from);
    let missing = to.len().checked_sub(from.len())?;
    let axes = to.iter().enumerate().map(|(at, &size)| {
        let own = at.checked_sub(missing).and_then(|at| Some((*from.get(at)?, *strides.get(at)?)));
        match own {
            Some((own, stride)) if own == size => Some((size, stride)),
            Some((1, _)) | None => Some((size, 0)),
            Some(_) => None,
        }
    });
    walked(0, &axes.collect::<Option<Vec<_>>>()?)
}

fn joined(side: &Side<'_>, node: &Node, to: &[usize], along: usize) -> Option<(Vec<ValueId>, Vec<usize>)> {
    let operands: Vec<ValueId> = node.inputs.iter().copied().collect::<Option<_>>()?;
    let strides = strides(to);
    let mut result = vec![0usize; count(to)?];
    let (mut before, mut offset) = (0usize, 0usize);
    for &id in &operands {
        let own = sizes(side.values[id].ty.as_ref())?;
        let axes: Vec<_> = own.iter().copied().zip(strides.iter().copied()).collect();
        let start = offset.checked_mul(*strides.get(along)?)?;
        let positions = walked(start, &axes)?;
        for (at, position) in positions.iter().enumerate() {
            *result.get_mut(*position)? = before.checked_add(at)?;
        }
        before = before.checked_add(positions.len())?;
        offset = offset.checked_add(*own.get(along)?)?;
    }
    (before == result.len()).then_some((operands, result))
}

/// Returns the positions of elements in row-major order, of axes with these sizes and distances.
fn walked(start: usize, axes: &[(usize, usize)]) -> Option<Vec<usize>> {
    let sizes: Vec<usize> = axes.iter().map(|&(size, _)| size).collect();
    let mut positions = Vec::with_capacity(count(&sizes)?);
    positions.push(start);
    for &(size, stride) in axes {
        let along = |position: usize| (0..size).map(move |at| position.checked_add(at.checked_mul(stride)?));
        positions = positions.into_iter().flat_map(along).collect::<Option<_>>()?;
    }
    Some(positions)
}

/// Returns the distances between neighbors along each axis, in elements.
fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides: Vec<usize> = Vec::with_capacity(sizes.len());
    let mut stride = 1usize;
    for &size in sizes.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(size);
    }
    strides.reverse();
    strides
}

/// Returns the number of elements, `None` if it overflows.
pub(super) fn count(sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_repeated_along_axes_of_size_1() {
        assert_eq!(repeated(&[2, 1], &[2, 3]), Some(vec![0, 0, 0, 1, 1, 1]));
        assert_eq!(repeated(&[3], &[2, 3]), Some(vec![0, 1, 2, 0, 1, 2]));
        assert_eq!(repeated(&[], &[2]), Some(vec![0, 0]));
        assert_eq!(repeated(&[2], &[3]), None);
        assert_eq!(repeated(&[2, 3], &[3]), None);
    }

    #[test]
    fn axes_are_walked_in_row_major_order() {
        assert_eq!(walked(1, &[(2, 10), (3, 2)]), Some(vec![1, 3, 5, 11, 13, 15]));
        assert_eq!(walked(0, &[(0, 1), (2, 1)]), Some(Vec::new()));
        assert_eq!(walked(usize::MAX, &[(2, 1)]), None);
    }
}
