//! Elements that weights get.

use super::layout::{Layout, Root};
use super::{elements, numbers};
use crate::weight::Weight;

/// A weight of the first graph, and the elements that it gets.
pub struct Assignment<'g> {
    pub weight: &'g Weight,
    pub name: &'g str,
    /// Name of the constant of the second graph that has the elements, or from which they are computed.
    pub from: &'g str,
    pub(super) elements: Assigned<'g>,
}

pub(super) enum Assigned<'g> {
    /// Elements of a constant of the second graph, and the orders of elements in both graphs where they are used.
    Moved(Layout, Root<'g>, Layout),
    /// Numbers that were computed.
    Computed(Vec<Option<f64>>),
    /// The elements of the compiled file, because the code depends on them where the other file has another node.
    Own,
}

impl Assignment<'_> {
    /// Returns the elements of the weight, each in [`elements::width`] bytes. `None` if they cannot be decoded.
    pub(super) fn elements(&self) -> Option<Vec<u8>> {
        let width = elements::width(self.weight.dtype)?;
        match &self.elements {
            Assigned::Moved(layout, source, source_layout) => {
                let elements = elements::of(*source, self.weight.dtype)?;
                layout.undone(source_layout.applied(elements, width)?, width)
            }
            Assigned::Computed(numbers) => {
                let own = elements::stored(self.weight)?;
                let mut all = Vec::with_capacity(own.len());
                for (number, own) in numbers.iter().zip(own.chunks(width)) {
                    match number {
                        Some(number) => all.extend(numbers::bytes(&[*number], self.weight.dtype)?),
                        None => all.extend(own),
                    }
                }
                Some(all)
            }
            Assigned::Own => elements::stored(self.weight),
        }
    }

    /// Returns `true` if the second graph has no such weight.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.elements, Assigned::Own)
    }
}
