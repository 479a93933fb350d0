//! View of an operator on the rows of a batch.

use std::collections::BTreeMap;

use crate::dim::{Atom, Dim, Symbol};
use crate::graph::{Node, Value, ValueId, Values};
use crate::types::{Known, TensorType, Type};

/// A slice that ends at this row or later has all rows, because larger batches are computed as a whole
/// (`kernels/src/shape/batch.rs`). Exporters write such ends.
const MAX_ROWS: i64 = 1 << 29;

/// View of an operator on the rows of its node's inputs.
pub struct Rows<'g> {
    pub values: &'g Values,
    pub node: &'g Node,
    /// Number of rows.
    pub number: &'g Symbol,
    /// Axes of the rows in values.
    pub axes: &'g BTreeMap<ValueId, usize>,
}

/// Returns the axis of the rows after other axes were reduced to one element, and removed unless they are kept.
pub fn reduced(at: usize, axes: &[usize], kept: bool) -> Option<Vec<usize>> {
    if axes.contains(&at) {
        return None;
    }
    let removed = if kept { 0 } else { axes.iter().filter(|&&axis| axis < at).count() };
    Some(vec![at.checked_sub(removed)?])
}

/// Returns the type of a value, if it is a tensor.
pub fn tensor(values: &Values, id: ValueId) -> Option<&TensorType> {
    values[id].ty.as_ref()?.as_tensor()
}

/// Returns `true` if neither sizes nor known elements of the value depend on the number of rows.
pub fn is_whole(value: &Value, number: &Symbol) -> bool {
    let is_free = |dims: &[Dim]| dims.iter().all(|dim| !dim.symbols().contains(number));
    let known = match value.known.peek() {
        Some(Known::Ints(elements)) => is_free(elements),
        _ => true,
    };
    known && matches!(&value.ty, Some(Type::Tensor(tensor)) if is_free(&tensor.shape))
}

/// Returns the only axis whose size depends on the number of rows, if its size is that number.
pub fn axis_of(tensor: &TensorType, number: &Symbol) -> Option<usize> {
    let mut axes = tensor.shape.iter().enumerate().filter(|(_, dim)| dim.symbols().contains(number));
    match (axes.next(), axes.next()) {
        (Some((axis, dim)), None) if is_number(dim, number) => Some(axis),
        _ => None,
    }
}

/// Returns `true` if the size is the number of rows, which is at most [`MAX_ROWS`].
fn is_number(dim: &Dim, number: &Symbol) -> bool {
    let is_far = |dim: &Dim| dim.number().is_some_and(|size| size >= MAX_ROWS);
    match dim.terms().collect::<Vec<_>>().as_slice() {
        [([Atom::Name(name)], 1)] => name == number,
        [([Atom::Min(a, b)], 1)] => is_number(a, number) && is_far(b) || is_far(a) && is_number(b, number),
        _ => false,
    }
}

impl Rows<'_> {
    /// Returns the axis of the rows in an input, `None` if the input does not depend on them.
    pub fn axis(&self, input: usize) -> Option<usize> {
        self.axes.get(&self.node.input(input)?).copied()
    }

    /// Returns `true` if the input is absent, or independent of rows and their number.
    pub fn is_whole(&self, input: usize) -> bool {
        let Some(id) = self.node.input(input) else {
            return true;
        };
        !self.axes.contains_key(&id) && is_whole(&self.values[id], self.number)
    }

    /// Returns the axis of the rows in input 0, if the other inputs are independent of rows.
    pub fn alone(&self) -> Option<usize> {
        let others = 1..self.node.inputs.len();
        others.into_iter().all(|input| self.is_whole(input)).then(|| self.axis(0))?
    }

    /// Returns axis 0 if it has the rows of input 0, and the other inputs are independent of rows: for operators that compute
    /// each item of a batch on its own.
    pub fn batch(&self) -> Option<Vec<usize>> {
        (self.alone() == Some(0)).then(|| vec![0])
    }

    /// Returns the tensor type of an input.
    pub fn tensor(&self, input: usize) -> Option<&TensorType> {
        tensor(self.values, self.node.input(input)?)
    }

    /// Returns the tensor type of an output.
    pub fn output(&self, output: usize) -> Option<&TensorType> {
        tensor(self.values, self.node.output(output)?)
    }

    /// Returns the elements of an input, if they are known, and marks them as read.
    pub fn known(&self, input: usize) -> Option<&Known> {
        self.values[self.node.input(input)?].known.read()
    }

    /// Returns the integers of an input, if they are known, and marks them as read.
    pub fn numbers(&self, input: usize) -> Option<Vec<i64>> {
        self.known(input).and_then(Known::numbers)
    }

    /// Returns `true` if an input is absent, or a tensor of one element.
    pub fn is_one(&self, input: usize) -> bool {
        let Some(tensor) = self.tensor(input) else {
            return self.node.input(input).is_none();
        };
        tensor.shape.iter().all(|size| size.is(1))
    }

    /// Returns `true` if the elements of an input are the same for all rows, or polynomials in sizes.
    pub fn is_fixed(&self, input: usize) -> bool {
        let known = self.node.input(input).map(|id| self.values[id].known.peek().is_some());
        known == Some(true) || self.is_whole(input)
    }

    /// Returns the number of outputs.
    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Returns the number of inputs.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// Returns the only axis of output 0 whose size is the number of rows.
    pub fn axis_of_output(&self) -> Option<usize> {
        axis_of(self.output(0)?, self.number)
    }

    /// Returns `true` if the input has rows, on the axis that broadcasts to `axis` of a tensor of this rank, or if it has
    /// the same elements for all rows.
    pub fn broadcasts(&self, input: usize, axis: usize, rank: usize) -> bool {
        let Some(tensor) = self.tensor(input) else {
            return self.node.input(input).is_none();
        };
        let own = (axis + tensor.rank()).checked_sub(rank);
        match self.axis(input) {
            Some(rows) => own == Some(rows),
            None => {
                self.is_whole(input) && own.and_then(|own| tensor.shape.get(own)).is_none_or(|dim| dim.is(1))
            }
        }
    }

    /// Returns the axis of the result of a function of elements, whose inputs broadcast.
    pub fn elementwise(&self) -> Option<Vec<usize>> {
        let rank = self.output(0)?.rank();
        let axis = self.axis_of_output()?;
        // Earlier versions broadcast to other axes than the last ones.
        let is_aligned = |input| {
            self.node.version >= 7
                || self.tensor(input).is_some_and(|tensor| [0, rank].contains(&tensor.rank()))
        };
        let broadcasts =
            |input| self.broadcasts(input, axis, rank) && (self.inputs() == 1 || is_aligned(input));
        (0..self.inputs()).all(broadcasts).then(|| vec![axis; self.node.outputs.len()])
    }
}
