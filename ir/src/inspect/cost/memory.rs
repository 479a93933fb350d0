//! Computes the peak memory of values.

use std::collections::BTreeMap;

use super::bytes;
use crate::graph::{Block, Node, ValueId, Values};
use crate::ops;
use crate::types::Type;

/// Returns the maximum number of live bytes.
pub fn most(body: &Block, values: &Values) -> u64 {
    live(body, values, true)
}

/// Returns the maximum number of live bytes in a block. Inputs of a nested block belong to the enclosing one.
fn live(inner: &Block, values: &Values, is_main: bool) -> u64 {
    let last = last_uses(inner);
    let size = |id: ValueId| {
        let value = &values[id];
        let tensor = value.ty.as_ref().and_then(Type::as_tensor);
        match tensor {
            Some(tensor) if !value.is_constant() => bytes(tensor).unwrap_or(0),
            _ => 0,
        }
    };
    // The memory of a view is live as long as the view.
    let mut ends: BTreeMap<ValueId, usize> = last;
    for (at, node) in inner.nodes.iter().enumerate().rev() {
        if let (true, Some(from), Some(view)) = (is_view(node), node.input(0), node.output(0)) {
            let end = ends.get(&view).copied().unwrap_or(at);
            let own = ends.entry(from).or_insert(at);
            *own = end.max(*own);
        }
    }
    let mut freed: BTreeMap<usize, Vec<ValueId>> = BTreeMap::new();
    for (&id, &end) in &ends {
        freed.entry(end).or_default().push(id);
    }
    let mut now = 0u64;
    let mut made: BTreeMap<ValueId, u64> = BTreeMap::new();
    if is_main {
        for &id in &inner.inputs {
            made.insert(id, size(id));
        }
        now = made.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    }
    let mut most = now;
    for (at, node) in inner.nodes.iter().enumerate() {
        for &id in node.outputs.iter().flatten() {
            let bytes = if is_view(node) { 0 } else { size(id) };
            made.insert(id, bytes);
            now = now.saturating_add(bytes);
        }
        let blocks = node.blocks.iter();
        let inside = blocks.map(|(_, inner)| live(inner, values, false));
        most = most.max(now.saturating_add(inside.max().unwrap_or(0)));
        for id in freed.get(&at).into_iter().flatten() {
            now = now.saturating_sub(made.remove(id).unwrap_or(0));
        }
        // The output is unused.
        for id in node.outputs.iter().flatten() {
            if !ends.contains_key(id) {
                now = now.saturating_sub(made.remove(id).unwrap_or(0));
            }
        }
    }
    most
}

/// Returns the index of the last node that uses each value, after all nodes for outputs.
fn last_uses(inner: &Block) -> BTreeMap<ValueId, usize> {
    let mut last = BTreeMap::new();
    for (at, node) in inner.nodes.iter().enumerate() {
        for id in node.reads() {
            last.insert(id, at);
        }
    }
    for &id in &inner.outputs {
        last.insert(id, inner.nodes.len());
    }
    last
}

fn is_view(node: &Node) -> bool {
    matches!(&*node.kind, "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" | "Identity")
        || ops::facts(&node.kind).view
}
