//! Decides which constants are parameters.

use std::collections::BTreeSet;

use crate::elements::Elements;
use crate::graph::{Block, Graph, Node, ValueId, Values};

/// Decides which initializers are parameters: floats of rank 1 or more, unless shapes or control flow are computed from
/// them. If weights are not final, their elements become unknown.
pub fn find(graph: &mut Graph, final_weights: bool) {
    let mut cx = Steering { values: &graph.values, constants: BTreeSet::new(), steering: BTreeSet::new() };
    cx.note(&graph.body);
    cx.trace(&graph.body);
    let steering = cx.steering;
    let parameters = graph.values.iter().filter(|(_, value)| value.parameter);
    let parameters: Vec<ValueId> = parameters.map(|(id, _)| id).collect();
    for id in parameters {
        let value = &mut graph.values[id];
        value.parameter = !steering.contains(&id);
        if value.parameter && !final_weights {
            value.known = Elements::default();
        }
    }
}

struct Steering<'g> {
    values: &'g Values,
    /// Values that depend only on constants and the sizes of values.
    constants: BTreeSet<ValueId>,
    /// Those from which shapes or control flow are computed.
    steering: BTreeSet<ValueId>,
}

impl Steering<'_> {
    fn note(&mut self, block: &Block) {
        for node in &block.nodes {
            node.blocks.iter().for_each(|(_, inner)| self.note(inner));
            let sizes = matches!(&*node.kind, "Shape" | "Size");
            let mut inputs = node.inputs.iter().flatten();
            if node.blocks.is_empty() && (sizes || inputs.all(|&id| self.is_constant(id))) {
                self.constants.extend(node.outputs.iter().flatten());
            }
        }
    }

    fn is_constant(&self, id: ValueId) -> bool {
        self.values[id].is_constant() || self.constants.contains(&id)
    }

    fn trace(&mut self, block: &Block) {
        for node in block.nodes.iter().rev() {
            node.blocks.iter().for_each(|(_, inner)| self.trace(inner));
            let steers = self.steers(node);
            for (at, id) in node.inputs.iter().enumerate() {
                let Some(id) = *id else { continue };
                if self.is_constant(id) && (steers || node.operator.wants_host(at)) {
                    self.steering.insert(id);
                }
            }
        }
    }

    /// Returns `true` if shapes or control flow are computed from the results of a node on constants.
    fn steers(&self, node: &Node) -> bool {
        let mut outputs = node.outputs.iter().flatten();
        outputs.any(|id| self.steering.contains(id)) && !matches!(&*node.kind, "Shape" | "Size")
    }
}
