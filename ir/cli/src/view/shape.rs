//! Equality of modules that differ only in their weights.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use onnx_embed_ir::graph::{Node, ValueId, Values};

use super::labels;

/// Returns a hash that is equal for modules that differ only in their weights.
pub fn shape(nodes: &[Node], values: &Values) -> u64 {
    let mut hash = DefaultHasher::new();
    nodes_shape(nodes, values, &mut BTreeMap::new(), &mut hash);
    hash.finish()
}

fn nodes_shape(
    nodes: &[Node],
    values: &Values,
    numbers: &mut BTreeMap<ValueId, usize>,
    hash: &mut DefaultHasher,
) {
    for node in nodes {
        (&*node.kind, node.version, node.operator.attributes()).hash(hash);
        for id in &node.inputs {
            let Some(id) = *id else {
                0u8.hash(hash);
                continue;
            };
            if values[id].is_constant() {
                (1u8, labels::full_type(id, values)).hash(hash);
            } else {
                let next = numbers.len();
                (2u8, *numbers.entry(id).or_insert(next)).hash(hash);
            }
        }
        for id in node.outputs.iter().flatten() {
            let next = numbers.len();
            (*numbers.entry(*id).or_insert(next), labels::full_type(*id, values)).hash(hash);
        }
        for (name, inner) in &node.blocks {
            name.hash(hash);
            nodes_shape(&inner.nodes, values, numbers, hash);
        }
    }
}
