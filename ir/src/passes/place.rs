//! Decides what lives on the host.

use std::collections::{BTreeMap, BTreeSet};

use crate::dtype::DType;
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::types::{Place, Type};

/// Places every value. Strings are host values. An input of the model is one when only the host
/// needs it. A node runs on the host when all its inputs that are no constants are there and its
/// results are small or needed there.
pub fn place(graph: &mut Graph) {
    let mut demand = Demand::default();
    demand.block(&graph.body, &graph.values);
    let outputs: BTreeSet<ValueId> = graph.body.outputs.iter().copied().collect();
    for &id in &graph.body.inputs {
        let wanted = demand.host.contains(&id) && !demand.device.contains(&id);
        if (wanted && !outputs.contains(&id)) || is_string(&graph.values, id) {
            graph.values[id].place = Place::Host;
        }
    }
    assign(&mut graph.body, &mut graph.values, &demand);
}

/// Results of at most this many elements stay on the host with the values that they are made from;
/// larger ones only where the host needs them.
const SMALL: usize = 64;

/// Who needs a value where, found from the end of the graph.
#[derive(Debug, Default)]
struct Demand {
    host: BTreeSet<ValueId>,
    device: BTreeSet<ValueId>,
}

impl Demand {
    fn block(&mut self, block: &Block, values: &Values) {
        self.device.extend(&block.outputs);
        for node in block.nodes.iter().rev() {
            for (_, inner) in &node.blocks {
                self.block(inner, values);
            }
            let made: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
            // What both need is made on the host: to move it to the device is no wait.
            let host = node.operator.makes_host()
                || (node.operator.runs_on_host() && made.iter().any(|id| self.host.contains(id)));
            for (at, id) in node.inputs.iter().enumerate() {
                let Some(id) = id else { continue };
                match host || node.operator.wants_host(at) {
                    true => self.host.insert(*id),
                    false => self.device.insert(*id),
                };
            }
        }
    }
}

fn assign(block: &mut Block, values: &mut Values, demand: &Demand) {
    for node in &mut block.nodes {
        for (_, inner) in &mut node.blocks {
            assign(inner, values, demand);
        }
        if runs_on_host(node, values, demand) {
            node.place = Place::Host;
            for &id in node.outputs.iter().flatten() {
                values[id].place = Place::Host;
            }
        }
    }
}

fn runs_on_host(node: &Node, values: &Values, demand: &Demand) -> bool {
    if node.operator.makes_host() {
        return true;
    }
    let inputs: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
    let waiting: BTreeMap<ValueId, bool> = inputs
        .iter()
        .filter(|&&id| !values[id].is_constant())
        .map(|&id| (id, on_host(values, id)))
        .collect();
    let constants_are_known = inputs
        .iter()
        .all(|&id| values[id].known.is_some() || values[id].weight.is_none());
    let small = |id: &ValueId| match &values[*id].ty {
        Some(Type::Tensor(held)) => held.count().is_some_and(|count| count <= SMALL),
        _ => false,
    };
    let made: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
    let wanted = made.iter().any(|id| demand.host.contains(id)) || made.iter().all(small);
    node.operator.runs_on_host()
        && wanted
        && !waiting.is_empty()
        && constants_are_known
        && waiting.values().all(|&host| host)
}

fn on_host(values: &Values, id: ValueId) -> bool {
    values[id].place == Place::Host || values[id].known.is_some() || is_string(values, id)
}

fn is_string(values: &Values, id: ValueId) -> bool {
    matches!(&values[id].ty, Some(Type::Tensor(held)) if held.dtype == DType::String)
}
