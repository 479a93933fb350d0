//! Large batches in parts, if the rows of a model are independent.

use proc_macro2::Literal;

use super::described::Described;
use super::signature::{self, Port};
use crate::graph::Graph;
use crate::inspect::rows;
use crate::rust::{Code, code};

/// Returns a statement that computes a large batch in parts and returns.
pub fn statement(graph: &Graph, described: &Described<'_>) -> Option<Code> {
    let Described { input, output, inputs, outputs, .. } = *described;
    if !inputs.iter().chain(outputs).all(Port::is_device) {
        return None;
    }
    let rows = rows::independent(graph)?;
    let axis = |axis: usize| Literal::usize_unsuffixed(axis);
    let axes = || inputs.iter().zip(&rows.inputs);
    let (first, of_first) = axes().find_map(|(port, axis)| Some((&port.ident, (*axis)?)))?;
    let arguments = axes().map(|(port, at)| {
        let name = &port.ident;
        match at.map(axis) {
            Some(at) => code!(rows.of(&#name, #at)),
            None => code!(#name.clone()),
        }
    });
    let argument = signature::joined(input, inputs, &arguments.collect::<Vec<_>>());
    let results = outputs.iter().zip(&rows.outputs).map(|(port, at)| {
        let (name, at) = (&port.ident, axis(*at));
        match outputs {
            [_] => code!(ops::batch::joined(parts, #at)),
            _ => code!(ops::batch::joined(parts.iter().map(|part| part.#name.clone()), #at)),
        }
    });
    let result = signature::joined(output, outputs, &results.collect::<Vec<_>>());
    let (of_first, bytes) = (axis(of_first), Literal::u32_unsuffixed(rows.bytes_per_element));
    Some(code! {
        if let Some(parts) = ops::batch::in_parts(&#first, #of_first, #bytes, |rows| self.forward(#argument)) {
            return #result;
        }
    })
}
