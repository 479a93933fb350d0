//! Decides which values are on the host.

mod demand;

use std::collections::{BTreeMap, BTreeSet};

use crate::dtype::{DType, ElementClass};
use crate::graph::{Block, Flow, Graph, Iterations, Node, ValueId, Values};
use crate::types::{Placement, Type};
use demand::Demand;

/// Decides the placement of every value. Strings are on the host. An input of the model is on the host if only the host
/// needs it. A node runs on the host if all its inputs except constants are on the host and its results are small or
/// needed on the host.
pub fn assign(graph: &mut Graph) {
    let demand = Demand::of(graph);
    let outputs: BTreeSet<ValueId> = graph.body.outputs.iter().copied().collect();
    for &id in &graph.body.inputs {
        let wanted = demand.host.contains(&id) && !demand.device.contains(&id);
        let tensor = matches!(graph.values[id].ty, Some(Type::Tensor(_)));
        if (tensor && wanted && !outputs.contains(&id)) || is_string(&graph.values, id) {
            graph.values[id].placement = Placement::Host;
        }
    }
    assign_block(&mut graph.body, &mut graph.values, &demand);
}

/// Maximum number of elements of results that stay on the host with the values from which they are computed. Larger
/// results do only if the host needs them.
const MAX_HOST_ELEMENTS: usize = 64;

fn assign_block(block: &mut Block, values: &mut Values, demand: &Demand) {
    for node in &mut block.nodes {
        match node.operator.flow() {
            None => {}
            Some(Flow::Branches) => {
                for (_, inner) in &mut node.blocks {
                    assign_block(inner, values, demand);
                }
                for (at, output) in node.outputs.iter().enumerate() {
                    let results = node.blocks.iter().filter_map(|(_, inner)| inner.outputs.get(at));
                    let results: Vec<ValueId> = results.copied().collect();
                    assign_result(*output, &results, values, demand);
                }
            }
            Some(Flow::Once) => {
                for (_, inner) in &mut node.blocks {
                    assign_block(inner, values, demand);
                }
            }
            Some(Flow::Iterations(iterations)) => assign_iterations(node, iterations, values, demand),
        }
        if runs_on_host(node, values, demand) {
            node.placement = Placement::Host;
            for &id in node.outputs.iter().flatten() {
                values[id].placement = Placement::Host;
            }
        }
    }
}

/// Assigns a result of control flow to the host if each block has its result on the host.
fn assign_result(output: Option<ValueId>, results: &[ValueId], values: &mut Values, demand: &Demand) {
    let Some(output) = output else { return };
    let wanted =
        demand.host.contains(&output) || results.iter().any(|&id| values[id].placement == Placement::Host);
    let tensor = matches!(values[output].ty, Some(Type::Tensor(_)));
    if tensor && wanted && results.iter().all(|&id| on_host(values, id)) {
        values[output].placement = Placement::Host;
    }
}

/// Keeps state on the host if the host needs it and an iteration that reads it there also leaves it there.
fn assign_iterations(node: &mut Node, iterations: Iterations, values: &mut Values, demand: &Demand) {
    let state = iterations.state(node);
    let inputs = node.inputs.clone();
    let outputs = node.outputs.clone();
    let Some((_, inner)) = node.blocks.first_mut() else {
        return;
    };
    let part = |list: &[ValueId], skip: usize| -> Vec<ValueId> {
        list.iter().skip(skip).take(state).copied().collect()
    };
    let (state_inputs, next) =
        (part(&inner.inputs, iterations.block_inputs), part(&inner.outputs, iterations.block_outputs));
    let wants = |(at, id): (usize, &ValueId)| {
        let initial = inputs.get(iterations.before + at).copied().flatten();
        let there = initial.is_some_and(|id| on_host(values, id));
        let made = initial.is_some_and(|id| values[id].placement == Placement::Host);
        let fits = match &values[*id].ty {
            Some(Type::Tensor(tensor)) => there || tensor.dtype.kind() != ElementClass::Float,
            _ => false,
        };
        let wanted = is_small(values, *id) && demand.host.contains(id);
        iterations.behind == 0 && fits && (made || wanted || values[*id].known.is_some())
    };
    let mut host: Vec<bool> = state_inputs.iter().enumerate().map(wants).collect();
    loop {
        for (&id, &host) in state_inputs.iter().zip(&host) {
            values[id].placement = if host { Placement::Host } else { Placement::Device };
        }
        reset(inner, values);
        assign_block(inner, values, demand);
        let mut changed = false;
        for (on_host_now, &id) in host.iter_mut().zip(&next) {
            if *on_host_now && !on_host(values, id) {
                (*on_host_now, changed) = (false, true);
            }
        }
        if !changed {
            break;
        }
    }
    for (at, output) in outputs.into_iter().enumerate() {
        match (output, host.get(at)) {
            (Some(id), Some(true)) => values[id].placement = Placement::Host,
            (Some(id), None) if iterations.behind == 0 && !demand.device.contains(&id) => {
                let result = inner.outputs.get(iterations.block_outputs + at).copied();
                assign_result(Some(id), result.as_slice(), values, demand);
            }
            _ => {}
        }
    }
}

/// Resets the placement of a block's values to the device.
fn reset(block: &mut Block, values: &mut Values) {
    for node in &mut block.nodes {
        node.placement = Placement::Device;
        for &id in node.outputs.iter().flatten() {
            values[id].placement = Placement::Device;
        }
        for (_, inner) in &mut node.blocks {
            reset(inner, values);
        }
    }
}

fn runs_on_host(node: &Node, values: &Values, demand: &Demand) -> bool {
    if node.operator.makes_host() {
        return true;
    }
    let inputs: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
    let waiting: BTreeMap<ValueId, bool> =
        inputs.iter().filter(|&&id| !values[id].is_constant()).map(|&id| (id, on_host(values, id))).collect();
    let constants_are_known = inputs.iter().all(|&id| values[id].known.is_some() || !values[id].is_stored());
    let made: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
    // Strings exist only on the host.
    if inputs.iter().chain(&made).any(|&id| is_string(values, id)) {
        return node.operator.takes_strings();
    }
    let wanted =
        made.iter().any(|id| demand.host.contains(id)) || made.iter().all(|&id| is_small(values, id));
    node.operator.runs_on_host()
        && wanted
        && !waiting.is_empty()
        && constants_are_known
        && waiting.values().all(|&host| host)
}

fn on_host(values: &Values, id: ValueId) -> bool {
    values[id].placement == Placement::Host || values[id].known.is_some() || is_string(values, id)
}

fn is_small(values: &Values, id: ValueId) -> bool {
    match &values[id].ty {
        Some(Type::Tensor(tensor)) => tensor.count().is_some_and(|count| count <= MAX_HOST_ELEMENTS),
        _ => false,
    }
}

fn is_string(values: &Values, id: ValueId) -> bool {
    matches!(&values[id].ty, Some(Type::Tensor(tensor)) if tensor.dtype == DType::String)
}

#[cfg(test)]
mod tests;
