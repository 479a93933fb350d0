//! Weights that more than one layer reads, each as one field.
//!
//! A weight that one layer reads is a field of that layer. One that several read is a field of the
//! innermost struct around all of them, and layers inside get it by argument. Layers, and parts, that do
//! the same with the same weights are one field too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::tree::Item;
use super::{Context, Layer, snake};
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::types::Type;

/// Gives each weight that several layers read to the struct around them, and names it. Unless
/// `alike`, no two layers are taken to be the same one.
pub fn assign(
    items: &mut [Item<'_>],
    graph: &Graph,
    root: &mut Layer,
    alike: bool,
    cx: &mut Context<'_>,
) {
    let wanted = candidates(graph);
    let mut tying = Tying {
        values: &graph.values,
        alike,
        tied: BTreeSet::new(),
    };
    let outputs = graph.body.outputs.iter().copied();
    let outputs = outputs.filter(|id| wanted.contains(id)).collect();
    root.owned = tying.owned(items, &wanted, outputs);
    for id in tying.tied {
        let name = &graph.values[id].name;
        let last = name.rsplit(['.', '/']).find(|part| !part.is_empty());
        cx.inputs.insert(id, snake(last.unwrap_or("weight")));
        cx.tied.insert(id);
    }
    cx.shared = wanted;
}

/// The weights that are read more than once, but for what is so small that copies cost nothing and
/// that nobody trains.
fn candidates(graph: &Graph) -> BTreeSet<ValueId> {
    let mut counts = BTreeMap::new();
    count(&graph.body, &mut counts);
    let worth = |id: &ValueId| {
        let value = &graph.values[*id];
        let several = graph.training || value.known.peek().is_none_or(|known| known.len() > 1);
        value.weight.is_some() && (value.known.is_none() || value.parameter && several)
    };
    let several = counts.into_iter().filter(|(_, count)| *count > 1);
    several.map(|(id, _)| id).filter(worth).collect()
}

fn count(block: &Block, counts: &mut BTreeMap<ValueId, usize>) {
    for node in &block.nodes {
        for &id in node.inputs.iter().flatten() {
            *counts.entry(id).or_default() += 1;
        }
        node.blocks
            .iter()
            .for_each(|(_, inner)| count(inner, counts));
    }
    for &id in &block.outputs {
        *counts.entry(id).or_default() += 1;
    }
}

struct Tying<'g> {
    values: &'g Values,
    alike: bool,
    tied: BTreeSet<ValueId>,
}

impl Tying<'_> {
    /// The weights that several of the items read, or an item and the `outputs`; groups inside get
    /// theirs.
    fn owned(
        &mut self,
        items: &mut [Item<'_>],
        wanted: &BTreeSet<ValueId>,
        outputs: BTreeSet<ValueId>,
    ) -> BTreeSet<ValueId> {
        if wanted.is_empty() {
            return BTreeSet::new();
        }
        let mut readers: BTreeMap<ValueId, BTreeSet<String>> = BTreeMap::new();
        for id in outputs {
            readers.entry(id).or_default().insert(String::new());
        }
        for (at, item) in items.iter().enumerate() {
            let reads: Vec<ValueId> = item.nodes().iter().flat_map(|node| node.reads()).collect();
            let reads = reads.into_iter().filter(|id| wanted.contains(id));
            let reads: BTreeSet<ValueId> = reads.collect();
            if reads.is_empty() {
                continue;
            }
            let key = match self.alike {
                true => self.key(item),
                false => at.to_string(),
            };
            for id in reads {
                let readers = readers.entry(id).or_default();
                if matches!(item, Item::Node(node) if reads_again(node, id)) {
                    readers.insert(String::new());
                }
                readers.insert(key.clone());
            }
        }
        let several = readers.into_iter().filter(|(_, readers)| readers.len() > 1);
        let owned: BTreeSet<ValueId> = several.map(|(id, _)| id).collect();
        let rest: BTreeSet<ValueId> = wanted.difference(&owned).copied().collect();
        for item in items {
            if let Item::Group(group) = item {
                group.owned = self.owned(&mut group.items, &rest, BTreeSet::new());
            }
        }
        self.tied.extend(owned.iter().copied());
        owned
    }

    /// What an item does with which weights; equal ones are one layer.
    fn key(&self, item: &Item<'_>) -> String {
        let mut numbers = BTreeMap::new();
        let mut key = String::new();
        for node in item.nodes() {
            self.describe(node, &mut numbers, &mut key);
        }
        key
    }

    fn describe(&self, node: &Node, numbers: &mut BTreeMap<ValueId, usize>, key: &mut String) {
        let _ = write!(key, "{} {:?}", node.kind, node.operator);
        for input in &node.inputs {
            match input {
                Some(id) => self.describe_value(*id, numbers, key),
                None => key.push_str(" -"),
            }
        }
        key.push_str(" =>");
        for output in &node.outputs {
            match output {
                Some(id) => self.describe_value(*id, numbers, key),
                None => key.push_str(" -"),
            }
        }
        // What blocks do is not compared.
        if let (false, Some(id)) = (node.blocks.is_empty(), node.outputs.iter().flatten().next()) {
            let _ = write!(key, " alone {}", id.number());
        }
        key.push('\n');
    }

    fn describe_value(
        &self,
        id: ValueId,
        numbers: &mut BTreeMap<ValueId, usize>,
        key: &mut String,
    ) {
        let value = &self.values[id];
        let _ = match (value.is_stored(), value.known.peek()) {
            (true, _) => write!(key, " stored {}", id.number()),
            (false, Some(known)) => write!(key, " {known:?}"),
            (false, None) => {
                let next = numbers.len();
                let number = *numbers.entry(id).or_insert(next);
                let ty = value.ty.as_ref().map(Type::to_string);
                write!(key, " {number}: {}", ty.unwrap_or_default())
            }
        };
    }
}

/// Whether a node reads a weight in more than one place.
fn reads_again(node: &Node, id: ValueId) -> bool {
    let mut counts = BTreeMap::new();
    for (_, block) in &node.blocks {
        count(block, &mut counts);
    }
    let inside = counts.get(&id).copied().unwrap_or_default();
    let direct = node.inputs.iter().flatten().filter(|input| **input == id);
    direct.count().saturating_add(inside) > 1
}
