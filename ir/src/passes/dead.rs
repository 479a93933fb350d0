//! Removes nodes that nobody needs.

use std::collections::BTreeSet;

use crate::graph::{Block, Graph, ValueId, Values};

/// Removes nodes whose results are all known or unused, and forgets outputs that nobody reads.
pub fn remove(graph: &mut Graph) {
    let mut needed = BTreeSet::new();
    sweep(&mut graph.body, &graph.values, &mut needed);
}

fn sweep(block: &mut Block, values: &Values, needed: &mut BTreeSet<ValueId>) {
    let unknown = |id: &ValueId| values[*id].known.is_none() && values[*id].weight.is_none();
    needed.extend(block.outputs.iter().copied().filter(unknown));
    let mut kept = Vec::new();
    for mut node in std::mem::take(&mut block.nodes).into_iter().rev() {
        for output in &mut node.outputs {
            *output = output.filter(|id| needed.contains(id));
        }
        if node.outputs.iter().all(Option::is_none) {
            continue;
        }
        for (_, inner) in &mut node.blocks {
            sweep(inner, values, needed);
        }
        needed.extend(node.reads().into_iter().filter(unknown));
        kept.push(node);
    }
    kept.reverse();
    block.nodes = kept;
}
