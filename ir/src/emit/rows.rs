//! Large batches in parts, if the rows of a model are independent.

use proc_macro2::{Ident, Literal};

use super::signature::Port;
use crate::inspect::rows::IndependentRows;
use crate::rust::{Code, CodeNode, code};
use crate::types::Type;

/// Returns a statement that computes a large batch in parts and returns. `structures` are the structs of several inputs and
/// outputs.
pub fn statement(
    rows: &IndependentRows,
    inputs: &[Port],
    outputs: &[Port],
    structures: [&Ident; 2],
) -> Option<Code> {
    let axis = |axis: usize| Literal::usize_unsuffixed(axis);
    let axes = || inputs.iter().zip(&rows.inputs);
    if !inputs.iter().all(Port::is_device) {
        return None;
    }
    let (first, of_first) = axes().find_map(|(port, axis)| Some((port, (*axis)?)))?;
    let first_name = &first.ident;
    let arguments = axes().map(|(port, at)| {
        let name = &port.ident;
        match at {
            Some(at) => {
                let at = axis(*at);
                code!(rows.of(&#name, #at))
            }
            None => code!(#name.clone()),
        }
    });
    let arguments: Vec<Code> = arguments.collect();
    let [input, output] = structures;
    let argument = match arguments.as_slice() {
        [only] => only.clone(),
        _ => {
            let fields = inputs.iter().zip(&arguments);
            let fields = fields
                .map(|(port, part)| Code::from(CodeNode::Entry(port.ident.to_string().into(), part.clone())));
            code!(#input { #(#fields),* })
        }
    };
    let result = match (outputs, rows.outputs.as_slice()) {
        ([_], [at]) => {
            let at = axis(*at);
            code!(ops::batch::joined(parts, #at))
        }
        _ => {
            let fields = outputs.iter().zip(&rows.outputs).map(|(port, at)| {
                let (name, at) = (&port.ident, axis(*at));
                let joined = code!(ops::batch::joined(parts.iter().map(|part| part.#name.clone()), #at));
                Code::from(CodeNode::Entry(port.ident.to_string().into(), joined))
            });
            code!(#output { #(#fields),* })
        }
    };
    let (of_first, bytes) = (axis(of_first), Literal::u32_unsuffixed(rows.bytes_per_element));
    Some(code! {
        if let Some(parts) = ops::batch::in_parts(&#first_name, #of_first, #bytes, |rows| self.forward(#argument)) {
            return #result;
        }
    })
}

/// Returns `true` if the outputs are tensors of the device.
pub fn are_tensors(outputs: &[Port]) -> bool {
    outputs.iter().all(|port| matches!(port.ty, Type::Tensor(_)) && port.is_device())
}
