//! Weights that more than one layer reads, each as one field.
//!
//! A weight that one layer reads is a field of that layer. One that several read is a field of the
//! innermost struct around all of them, and layers inside get it by argument. Layers, and parts, that do
//! the same with the same weights are one field too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::tree::Item;
use super::{Context, Layer, snake, variable};
use crate::attributes::{Attribute, Described};
use crate::graph::{Block, Graph, Node, ValueId, Values};

/// Gives each weight that several layers read to the struct around them, and names it. Unless `alike`, no two
/// layers are taken to be the same one.
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

/// The weights that are read more than once, but for what is so small that copies cost nothing and that
/// nobody trains.
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
        node.blocks.iter().for_each(|(_, inner)| count(inner, counts));
    }
    for &id in &block.outputs {
        *counts.entry(id).or_default() += 1;
    }
}

/// The outputs as a reader, or a node that reads a weight in a second place; others are numbered behind.
const OTHER: usize = 0;

struct Tying<'g> {
    values: &'g Values,
    alike: bool,
    tied: BTreeSet<ValueId>,
    /// Numbers of attributes, types and elements, the same for equal ones.
    numbers: HashMap<Attribute, usize>,
}

impl Tying<'_> {
    /// The weights that several of the items read, or an item and the `outputs`; groups inside get those of
    /// the others that they want.
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
        // Items that do the same are one reader.
        let mut alike: HashMap<Vec<Step>, usize> = HashMap::new();
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

    /// What an item does with which weights; equal ones are one layer.
    fn steps(&mut self, item: &Item<'_>) -> Vec<Step> {
        let mut numbers = BTreeMap::new();
        let nodes = item.nodes().into_iter();
        nodes.map(|node| self.step(node, &mut numbers)).collect()
    }

    fn step(&mut self, node: &Node, numbers: &mut BTreeMap<ValueId, usize>) -> Step {
        let operator = self.number(node.operator.attributes());
        let mut operands = |ids: &[Option<ValueId>]| -> Vec<Option<Operand>> {
            let operand = |id: &Option<ValueId>| id.map(|id| self.operand(id, numbers));
            ids.iter().map(operand).collect()
        };
        // What blocks do is not compared.
        let alone = node.outputs.iter().flatten().next();
        Step {
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

/// What a node does.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Step {
    kind: Rc<str>,
    operator: usize,
    inputs: Vec<Option<Operand>>,
    outputs: Vec<Option<Operand>>,
    /// Where a node is like no other.
    alone: Option<ValueId>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Operand {
    Stored(ValueId),
    Known(usize),
    /// By the order in which values occur, and its type.
    Made(usize, usize),
}

/// The values that a node reads in more than one place.
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
