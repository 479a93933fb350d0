//! States that grow from call to call.

use std::collections::BTreeSet;

use crate::graph::{Graph, ValueId};

/// Returns the outputs that are the concatenation of an input, which nothing else reads, and further elements: the next call gets
/// them as this input.
pub fn grown(graph: &Graph) -> BTreeSet<ValueId> {
    let body = &graph.body;
    let uses = body.uses();
    let joined = body.nodes.iter().filter_map(|node| match (&*node.kind, node.inputs.as_slice()) {
        ("Concat", [Some(cache), Some(_)]) => Some((*cache, node.output(0)?)),
        _ => None,
    });
    let is_state = |(cache, result): &(ValueId, ValueId)| {
        body.inputs.contains(cache) && uses.get(cache) == Some(&1) && body.outputs.contains(result)
    };
    joined.filter(is_state).map(|(_, result)| result).collect()
}
