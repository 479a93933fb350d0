//! Proof that the rows of a batch do not depend on each other.
//!
//! If every row of the outputs depends only on the same row of the inputs, a program may compute a large batch in parts
//! whose values stay in the caches. Each operator states the axis of the rows in its outputs
//! ([`Operator::rows`](crate::operator::Operator::rows)); those that state none end the proof.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::cost::elements_at;
use crate::dim::{Dim, Symbol};
use crate::graph::Graph;
use crate::ops;
use crate::rows::{Rows, axis_of, is_whole, tensor};
use crate::types::TensorType;

/// Value of dynamic sizes, except for the number of rows, in estimates of memory.
const TYPICAL_SIZE: i64 = 128;

/// Names that are tried as the number of rows, from the first input on.
const MAX_TRIED: usize = 4;

/// A model whose rows are independent.
#[derive(Debug, PartialEq, Eq)]
pub struct IndependentRows {
    /// Axis of the rows in each input, `None` if all rows need the whole input.
    pub inputs: Vec<Option<usize>>,
    /// Axis of the rows in each output.
    pub outputs: Vec<usize>,
    /// Most bytes of operands and results of a node, for each element of the first input with rows.
    pub bytes_per_element: u32,
}

/// Returns the axes of the rows, if the rows are independent.
pub fn independent(graph: &Graph) -> Option<IndependentRows> {
    if graph.training {
        return None;
    }
    let mut tried: Vec<Symbol> = Vec::new();
    for &id in &graph.body.inputs {
        let shape = tensor(&graph.values, id).map(|tensor| tensor.shape.as_slice()).unwrap_or_default();
        let names = shape.iter().filter_map(Dim::name);
        for name in names {
            if !tried.contains(name) && tried.len() < MAX_TRIED {
                tried.push(name.clone());
            }
        }
    }
    tried.iter().find_map(|number| with(graph, number))
}

/// Returns the axes of the rows, if rows of this number are independent.
fn with(graph: &Graph, number: &Symbol) -> Option<IndependentRows> {
    let values = &graph.values;
    let mut axes = BTreeMap::new();
    let mut inputs = Vec::new();
    for &id in &graph.body.inputs {
        let axis =
            if is_whole(&values[id], number) { None } else { Some(axis_of(tensor(values, id)?, number)?) };
        axes.extend(axis.map(|axis| (id, axis)));
        inputs.push(axis);
    }
    let mut bytes_per_row = 0;
    for node in &graph.body.nodes {
        let results = || node.outputs.iter().flatten();
        if results().all(|&id| values[id].known.peek().is_some()) {
            continue;
        }
        if !node.blocks.is_empty() || !node.operator.is_pure() {
            return None;
        }
        let reads = || node.inputs.iter().flatten();
        if reads().all(|id| !axes.contains_key(id) && is_whole(&values[*id], number)) {
            if results().any(|&id| !is_whole(&values[id], number)) {
                return None;
            }
            continue;
        }
        let rows = Rows { values, node, number, axes: &axes };
        let found =
            if ops::facts(&node.kind).elementwise { rows.elementwise() } else { node.operator.rows(&rows) }?;
        for (at, id) in node.outputs.iter().enumerate() {
            if let Some(id) = *id {
                let axis = *found.get(at)?;
                if axis_of(tensor(values, id)?, number) != Some(axis) {
                    return None;
                }
                axes.insert(id, axis);
            }
        }
        let of_rows = reads().chain(results()).filter(|id| axes.contains_key(id));
        let mut bytes = of_rows.map(|&id| tensor(values, id).and_then(|tensor| bytes_of_row(tensor, number)));
        bytes_per_row = bytes.try_fold(0u64, |sum, bytes| sum.checked_add(bytes?))?.max(bytes_per_row);
    }
    let outputs: Option<Vec<usize>> = graph.body.outputs.iter().map(|id| axes.get(id).copied()).collect();
    let first = graph.body.inputs.iter().find(|id| axes.contains_key(id))?;
    let elements = elements_of_row(tensor(values, *first)?, number)?.max(1);
    Some(IndependentRows {
        inputs,
        outputs: outputs?,
        bytes_per_element: u32::try_from(bytes_per_row.div_ceil(elements).max(1)).unwrap_or(u32::MAX),
    })
}

/// Returns the estimated number of elements of a row.
fn elements_of_row(tensor: &TensorType, number: &Symbol) -> Option<u64> {
    elements_at(tensor, &|name| if name == number { 1 } else { TYPICAL_SIZE })
}

/// Returns the estimated bytes of a row.
fn bytes_of_row(tensor: &TensorType, number: &Symbol) -> Option<u64> {
    elements_of_row(tensor, number)?.checked_mul(u64::from(tensor.dtype.bits()).div_ceil(8))
}
