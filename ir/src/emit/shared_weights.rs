//! Weights that several layers use, each as one field.
//!
//! A weight that one layer uses is a field of that layer. A weight that several layers use is a field of the innermost
//! struct that contains them, which passes it as an argument. Layers and parts that compute the same with the same
//! weights are also one field.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::tree::Item;
use super::{Context, Layer, snake, variable};
use crate::attributes::{Attribute, Described};
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::weight::Weight;

/// Assigns each weight that several layers use to the struct that contains them, and names it. Unless `alike`, no
/// layers are considered equal.
pub fn assign(items: &mut [Item<'_>], graph: &Graph, root: &mut Layer, alike: bool, cx: &mut Context<'_>) {
    let mut wanted = candidates(graph);
    let mut tying = Tying { values: &graph.values, alike, tied: BTreeSet::new(), numbers: HashMap::new() };
    let outputs = graph.body.outputs.iter().copied();
    let outputs = outputs.filter(|id| wanted.contains(id)).collect();
    root.owned = tying.owned(items, &mut wanted, outputs);
    for id in tying.tied {
        let name = &graph.values[id].name;
        let last = name.rsplit(['.', '/']).find(|part| !part.is_empty());
        cx.inputs.insert(id, snake(last.unwrap_or("weight")));
        cx.tied.insert(variable(id), id);
    }
    cx.shared = wanted;
}

/// Maximum number of elements of a weight that each layer copies, unless it is trained.
const MAX_COPIED: usize = 1 << 14;

/// Returns the weights that are used more than once, except those that are not trained and so small that copies are
/// cheap.
fn candidates(graph: &Graph) -> BTreeSet<ValueId> {
    let mut counts = BTreeMap::new();
    count(&graph.body, &mut counts);
    let worth = |id: &ValueId| {
        let value = &graph.values[*id];
        let is_trained = graph.training && value.parameter;
        let is_large = |weight: &Weight| weight.count().is_none_or(|count| count > MAX_COPIED);
        value.weight.as_ref().is_some_and(|weight| is_trained || value.known.is_none() && is_large(weight))
    };
    let several = counts.into_iter().filter(|(_, count)| *count > 1);
    several.map(|(id, _)| id).filter(worth).collect()
}

fn count(block: &Block, counts: &mut BTreeMap<ValueId, usize>) {
    for node in &block.nodes {
        for &id in node.inputs.iter().flatten() {
            *counts.entry(id).or_default() += 1;
        }
        node.blocks.iter().for_each(|(_, inner)| count(inner, counts));
    }
    for &id in &block.outputs {
        *counts.entry(id).or_default() += 1;
    }
}

/// Consumer number of the outputs, and of further uses by the same node. Numbers of items follow.
const OTHER: usize = 0;

struct Tying<'g> {
    values: &'g Values,
    alike: bool,
    tied: BTreeSet<ValueId>,
    /// Numbers of attributes, types and elements. Equal ones have equal numbers.
    numbers: HashMap<Attribute, usize>,
}

impl Tying<'_> {
    /// Returns the weights that several items use, or an item and the `outputs`. Groups get those of the remaining
    /// weights that several of their own items use.
    fn owned(
        &mut self,
        items: &mut [Item<'_>],
        wanted: &mut BTreeSet<ValueId>,
        outputs: BTreeSet<ValueId>,
    ) -> BTreeSet<ValueId> {
        if wanted.is_empty() {
            return BTreeSet::new();
        }
        let outputs = outputs.into_iter().map(|id| (id, BTreeSet::from([OTHER])));
        let mut readers: BTreeMap<ValueId, BTreeSet<usize>> = outputs.collect();
        // Items that compute the same are one consumer.
        let mut alike: HashMap<Vec<NodeKey>, usize> = HashMap::new();
        for (item, at) in items.iter().zip(OTHER + 1..) {
            let reads: Vec<ValueId> = item.nodes().iter().flat_map(|node| node.reads()).collect();
            let reads = reads.into_iter().filter(|id| wanted.contains(id));
            let reads: BTreeSet<ValueId> = reads.collect();
            if reads.is_empty() {
                continue;
            }
            let reader = if self.alike { *alike.entry(self.steps(item)).or_insert(at) } else { at };
            for &id in &reads {
                readers.entry(id).or_default().insert(reader);
            }
            if let Item::Node(node) = item {
                let again = read_again(node).filter(|id| reads.contains(id));
                again.for_each(|id| _ = readers.entry(id).or_default().insert(OTHER));
            }
        }
        let several = readers.into_iter().filter(|(_, readers)| readers.len() > 1);
        let owned: BTreeSet<ValueId> = several.map(|(id, _)| id).collect();
        owned.iter().for_each(|id| _ = wanted.remove(id));
        for item in items {
            if let Item::Group(group) = item {
                group.owned = self.owned(&mut group.items, wanted, BTreeSet::new());
            }
        }
        wanted.extend(&owned);
        self.tied.extend(&owned);
        owned
    }

    /// Returns the nodes of an item in comparable form. Items with equal results become one layer.
    fn steps(&mut self, item: &Item<'_>) -> Vec<NodeKey> {
        let mut numbers = BTreeMap::new();
        let nodes = item.nodes().into_iter();
        nodes.map(|node| self.step(node, &mut numbers)).collect()
    }

    fn step(&mut self, node: &Node, numbers: &mut BTreeMap<ValueId, usize>) -> NodeKey {
        let operator = self.number(node.operator.attributes());
        let mut operands = |ids: &[Option<ValueId>]| -> Vec<Option<Operand>> {
            let operand = |id: &Option<ValueId>| id.map(|id| self.operand(id, numbers));
            ids.iter().map(operand).collect()
        };
        // Blocks are not compared: a node with blocks is equal to no other.
        let alone = node.outputs.iter().flatten().next();
        NodeKey {
            kind: node.kind.clone(),
            operator,
            inputs: operands(&node.inputs),
            outputs: operands(&node.outputs),
            alone: alone.copied().filter(|_| !node.blocks.is_empty()),
        }
    }

    fn operand(&mut self, id: ValueId, numbers: &mut BTreeMap<ValueId, usize>) -> Operand {
        let value = &self.values[id];
        match value.known.peek() {
            _ if value.is_stored() => Operand::Stored(id),
            Some(known) => Operand::Known(self.number(known.attributes())),
            None => {
                let next = numbers.len();
                let number = *numbers.entry(id).or_insert(next);
                Operand::Made(number, self.number(value.ty.attributes()))
            }
        }
    }

    fn number(&mut self, attribute: Attribute) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(attribute).or_insert(next)
    }
}

/// A node in comparable form.
#[derive(Clone, PartialEq, Eq, Hash)]
struct NodeKey {
    kind: Rc<str>,
    operator: usize,
    inputs: Vec<Option<Operand>>,
    outputs: Vec<Option<Operand>>,
    /// First output of a node with blocks, which makes it unequal to all others.
    alone: Option<ValueId>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Operand {
    Stored(ValueId),
    Known(usize),
    /// A computed value: its index in the order of occurrence, and the number of its type.
    Made(usize, usize),
}

/// Returns the values that a node uses more than once.
fn read_again(node: &Node) -> impl Iterator<Item = ValueId> {
    let mut counts = BTreeMap::new();
    for (_, block) in &node.blocks {
        count(block, &mut counts);
    }
    for &id in node.inputs.iter().flatten() {
        *counts.entry(id).or_default() += 1;
    }
    let again = counts.into_iter().filter(|(_, count)| *count > 1);
    again.map(|(id, _)| id)
}
