//! Values and sizes that nodes compute from others.

use std::collections::{BTreeMap, BTreeSet};

use crate::attributes::Attribute;
use crate::dim::{Dim, Symbol};
use crate::graph::{Node, ValueId, Values};
use crate::types::{Known, Type};

/// A value, or a named size that is an axis of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Value(ValueId),
    Size(Symbol),
}

/// Nodes by what they provide first.
pub struct Makers<'g> {
    values: &'g Values,
    /// Sizes of values that none of the nodes computes.
    given: BTreeSet<Symbol>,
    by_need: BTreeMap<Need, usize>,
}

impl<'g> Makers<'g> {
    /// Returns the table for these nodes, which is empty at first.
    pub fn new<'n>(nodes: impl Iterator<Item = &'n Node> + Clone, values: &'g Values) -> Self {
        let made: BTreeSet<ValueId> =
            nodes.clone().flat_map(|node| node.outputs.iter().flatten().copied()).collect();
        let reads = nodes.flat_map(|node| node.reads()).filter(|id| !made.contains(id));
        let given = reads.collect::<BTreeSet<_>>().into_iter().flat_map(|id| axes(id, values)).collect();
        Makers { values, given, by_need: BTreeMap::new() }
    }

    /// Records what a node provides.
    pub fn add(&mut self, node: &Node, maker: usize) {
        for &id in node.outputs.iter().flatten() {
            self.by_need.insert(Need::Value(id), maker);
            for size in axes(id, self.values).filter(|size| !self.given.contains(size)) {
                self.by_need.entry(Need::Size(size)).or_insert(maker);
            }
        }
    }

    /// Returns the nodes that provide what a node needs.
    pub fn of(&self, node: &Node) -> BTreeSet<usize> {
        let mut needs = BTreeSet::new();
        self.collect(node, &mut needs);
        needs.iter().filter_map(|need| self.by_need.get(need)).copied().collect()
    }

    fn collect(&self, node: &Node, needs: &mut BTreeSet<Need>) {
        needs.extend(node.reads().into_iter().map(Need::Value));
        let mut sizes = BTreeSet::new();
        for &id in node.inputs.iter().chain(&node.outputs).flatten() {
            let value = &self.values[id];
            if let Some(Type::Tensor(tensor)) = &value.ty {
                sizes.extend(tensor.shape.iter().flat_map(Dim::symbols));
            }
            if let Some(Known::Ints(dims)) = value.known.peek() {
                sizes.extend(dims.iter().flat_map(Dim::symbols));
            }
        }
        in_attribute(&node.operator.attributes(), &mut sizes);
        needs.extend(sizes.into_iter().map(Need::Size));
        let inside = node.blocks.iter().flat_map(|(_, block)| &block.nodes);
        inside.for_each(|node| self.collect(node, needs));
    }
}

fn axes(id: ValueId, values: &Values) -> impl Iterator<Item = Symbol> {
    let tensor = values[id].ty.as_ref().and_then(Type::as_tensor);
    let shape = tensor.into_iter().flat_map(|tensor| &tensor.shape);
    shape.filter_map(Dim::name).cloned()
}

fn in_attribute(attribute: &Attribute, sizes: &mut BTreeSet<Symbol>) {
    match attribute {
        Attribute::Size(dim) => sizes.extend(dim.symbols()),
        Attribute::List(list) => list.iter().for_each(|inner| in_attribute(inner, sizes)),
        Attribute::Fields(_, fields) => fields.iter().for_each(|(_, inner)| in_attribute(inner, sizes)),
        Attribute::Row(inner) => in_attribute(inner, sizes),
        _ => {}
    }
}
