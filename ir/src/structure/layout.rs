//! Order of the elements of a weight where it is used.

use super::moves::RESHAPES;
use super::side::Side;
use crate::graph::{Node, Value, ValueId};
use crate::ops::shape::transpose::Transpose;
use crate::types::{Known, Type};
use crate::weight::Weight;

/// The constant from which a value is computed by moving elements.
#[derive(Clone, Copy)]
pub(super) enum Root<'g> {
    Stored(&'g Weight),
    Known(&'g Known),
    /// A constant that a node computes when the model is loaded.
    Computed(&'g Node),
    Missing,
}

/// Transpositions of the elements of a constant, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    transpositions: Vec<Transposition>,
}

/// Axis `i` of the result is axis `axes[i]` of the operand.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Transposition {
    /// Sizes of the operand.
    sizes: Vec<usize>,
    axes: Vec<usize>,
}

/// Returns the constant whose elements a value has, its root, and their order.
pub(super) fn traced<'g>(side: &Side<'g>, id: ValueId) -> (ValueId, Root<'g>, Layout) {
    let mut at = id;
    let mut layout = Layout::default();
    loop {
        let root = root(&side.values[at]);
        let Root::Computed(node) = root else {
            layout.transpositions.reverse();
            return (at, root, layout);
        };
        match step(side, node) {
            Some((from, transposition)) => {
                layout.transpositions.extend(transposition);
                at = from;
            }
            None => {
                layout.transpositions.reverse();
                return (at, root, layout);
            }
        }
    }
}

/// Returns the constant that a value is.
pub(super) fn root(value: &Value) -> Root<'_> {
    match (&value.weight, value.known.peek(), &value.maker) {
        (Some(weight), ..) => Root::Stored(weight),
        (None, Some(known), _) => Root::Known(known),
        (None, None, Some(node)) => Root::Computed(node),
        (None, None, None) => Root::Missing,
    }
}

/// Returns the operand of a node that only moves its elements.
fn step(side: &Side<'_>, node: &Node) -> Option<(ValueId, Option<Transposition>)> {
    let from = node.input(0)?;
    if RESHAPES.contains(&&*node.kind) {
        return Some((from, None));
    }
    let sizes = sizes(side.values[from].ty.as_ref())?;
    let axes = node.operator_as::<Transpose>()?.axes(sizes.len()).ok()?;
    Some((from, Some(Transposition { sizes, axes })))
}

/// Returns the sizes of a tensor, if all are known.
pub(super) fn sizes(ty: Option<&Type>) -> Option<Vec<usize>> {
    ty?.as_tensor()?.shape.iter().map(crate::dim::Dim::fixed).collect()
}

impl Layout {
    /// Returns the layout with a transposition after it, of a matrix with these sizes.
    pub fn followed_by_transposition(mut self, sizes: Vec<usize>) -> Self {
        self.transpositions.push(Transposition { sizes, axes: vec![1, 0] });
        self
    }

    /// Returns the elements in this order. Each has `width` bytes.
    pub fn applied(&self, elements: Vec<u8>, width: usize) -> Option<Vec<u8>> {
        self.transpositions.iter().try_fold(elements, |elements, step| step.applied(&elements, width))
    }

    /// Returns the elements whose order becomes the one of `elements` by this layout.
    pub fn undone(&self, elements: Vec<u8>, width: usize) -> Option<Vec<u8>> {
        let steps = self.transpositions.iter().rev();
        steps.map(Transposition::inverse).try_fold(elements, |elements, step| step?.applied(&elements, width))
    }
}

impl Transposition {
    fn inverse(&self) -> Option<Self> {
        let sizes = self.axes.iter().map(|&axis| self.sizes.get(axis).copied());
        let axes = 0..self.axes.len();
        let axes = axes.map(|axis| self.axes.iter().position(|&other| other == axis));
        Some(Transposition { sizes: sizes.collect::<Option<_>>()?, axes: axes.collect::<Option<_>>()? })
    }

    /// Returns the transposed elements, `None` if their number differs from the sizes.
    fn applied(&self, elements: &[u8], width: usize) -> Option<Vec<u8>> {
        let count = self.sizes.iter().try_fold(width, |count, &size| count.checked_mul(size))?;
        if count != elements.len() {
            return None;
        }
        // Bytes between elements that are neighbours along each axis of the operand.
        let mut strides = vec![width; self.sizes.len()];
        for at in (1..self.sizes.len()).rev() {
            let stride = strides.get(at)?.checked_mul(*self.sizes.get(at)?)?;
            *strides.get_mut(at.checked_sub(1)?)? = stride;
        }
        let axes = self.axes.iter().map(|&axis| Some((*self.sizes.get(axis)?, *strides.get(axis)?)));
        let axes: Vec<(usize, usize)> = axes.collect::<Option<_>>()?;
        let mut result = Vec::with_capacity(count);
        let mut index = vec![0usize; axes.len()];
        let mut start = 0usize;
        while result.len() < count {
            result.extend_from_slice(elements.get(start..start.checked_add(width)?)?);
            for (at, &(size, stride)) in index.iter_mut().zip(&axes).rev() {
                *at += 1;
                start += stride;
                if *at < size {
                    break;
                }
                start -= *at * stride;
                *at = 0;
            }
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposition_is_undone() {
        let step = Transposition { sizes: vec![2, 3, 2], axes: vec![2, 0, 1] };
        let elements: Vec<u8> = (0..24).collect();
        let moved = step.applied(&elements, 2).unwrap();
        assert_eq!(moved[..12], [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21]);
        let layout = Layout { transpositions: vec![step] };
        assert_eq!(layout.undone(moved, 2), Some(elements));
    }

    #[test]
    fn a_wrong_number_of_elements_is_not_moved() {
        let step = Transposition { sizes: vec![2, 3], axes: vec![1, 0] };
        assert_eq!(step.applied(&[0; 5], 1), None);
        let empty = Transposition { sizes: vec![0, 3], axes: vec![1, 0] };
        assert_eq!(empty.applied(&[], 1), Some(Vec::new()));
    }
}
