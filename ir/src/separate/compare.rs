//! Finds the sizes that a graph assumes to be equal.

use std::collections::{BTreeMap, BTreeSet};

use crate::dim::{Dim, Symbol};
use crate::graph::{Block, Flow, Node, Value, ValueId, Values};
use crate::types::{Known, Type};

/// A graph that was inferred with the names of the file and with separate names.
pub struct Comparison<'a> {
    merged: &'a Values,
    separate: &'a Values,
    /// Names of the file by the separate names.
    original: &'a BTreeMap<Symbol, Symbol>,
    /// Values of which more than names differ.
    differing: BTreeSet<ValueId>,
}

impl<'a> Comparison<'a> {
    pub fn new(merged: &'a Values, separate: &'a Values, original: &'a BTreeMap<Symbol, Symbol>) -> Self {
        let pairs = separate.iter().filter(|(id, value)| !is_alike(&merged[*id], value, original));
        let differing = pairs.map(|(id, _)| id).collect();
        Comparison { merged, separate, original, differing }
    }

    /// Adds the sets of names that the nodes of a block assume to be equal.
    pub fn block(&self, block: &Block, together: &mut Vec<BTreeSet<Symbol>>) {
        for node in &block.nodes {
            node.blocks.iter().for_each(|(_, inner)| self.block(inner, together));
            self.node(node, together);
        }
    }

    fn node(&self, node: &Node, together: &mut Vec<BTreeSet<Symbol>>) {
        let reads = node.reads();
        let inputs: Vec<BTreeSet<Symbol>> = reads.iter().map(|&id| self.mentioned(id)).collect();
        let outputs: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
        let alike = outputs.iter().all(|&id| self.is_alike(id));
        for group in self.groups(inputs.iter().flatten().cloned()) {
            let in_one = |input| group.is_subset(input) || group.is_disjoint(input);
            let free = inputs.iter().all(in_one)
                || self.keeps(&outputs, &group)
                || node.operator.flow() == Some(Flow::Branches);
            if alike && free {
                continue;
            }
            let axes = self.on_one_axis(&reads, &group);
            if axes.is_empty() { together.push(group) } else { together.extend(axes) }
        }
    }

    /// Groups names by their name in the file. Single names are omitted.
    fn groups(&self, names: impl Iterator<Item = Symbol>) -> Vec<BTreeSet<Symbol>> {
        let mut groups: BTreeMap<&Symbol, BTreeSet<Symbol>> = BTreeMap::new();
        for name in names {
            if let Some(origin) = self.original.get(&name) {
                groups.entry(origin).or_default().insert(name);
            }
        }
        groups.retain(|_, group| group.len() > 1);
        groups.into_values().collect()
    }

    /// Returns the names of a group that occur at the same axis, counted from the last as in broadcasting.
    fn on_one_axis(&self, ids: &[ValueId], group: &BTreeSet<Symbol>) -> Vec<BTreeSet<Symbol>> {
        let mut axes: Vec<BTreeSet<Symbol>> = Vec::new();
        for &id in ids {
            let Some(tensor) = self.value(id).ty.as_ref().and_then(Type::as_tensor) else {
                continue;
            };
            for (axis, dim) in tensor.shape.iter().rev().enumerate() {
                let names = self.separate_names(id, dim.symbols());
                let names = names.intersection(group).cloned();
                match axes.get_mut(axis) {
                    Some(group) => group.extend(names),
                    None => axes.push(names.collect()),
                }
            }
        }
        axes.retain(|names| names.len() > 1);
        axes
    }

    /// Returns `true` if some results have one of these sizes, and all of those have all of them: the node did not
    /// assume that the sizes are equal.
    fn keeps(&self, outputs: &[ValueId], group: &BTreeSet<Symbol>) -> bool {
        let mut mentioned =
            outputs.iter().map(|&id| self.mentioned(id)).filter(|names| !group.is_disjoint(names)).peekable();
        mentioned.peek().is_some() && mentioned.all(|names| group.is_subset(&names))
    }

    /// Returns `true` if only names of the value differ.
    fn is_alike(&self, id: ValueId) -> bool {
        !self.differing.contains(&id)
    }

    /// Returns `true` if only names of all values differ.
    pub fn all_alike(&self) -> bool {
        self.differing.is_empty()
    }

    /// Returns the names of sizes of a value.
    fn mentioned(&self, id: ValueId) -> BTreeSet<Symbol> {
        let value = self.value(id);
        let mut names = value.ty.as_ref().map(Type::symbols).unwrap_or_default();
        if let Some(Known::Ints(dims)) = value.known.peek() {
            names.extend(dims.iter().flat_map(Dim::symbols));
        }
        self.separate_names(id, names)
    }

    /// Returns the value with separate names, if only names differ.
    fn value(&self, id: ValueId) -> &Value {
        if self.is_alike(id) { &self.separate[id] } else { &self.merged[id] }
    }

    /// Returns the separate names of a value's names: all candidates if more than names differ.
    fn separate_names(&self, id: ValueId, names: BTreeSet<Symbol>) -> BTreeSet<Symbol> {
        if self.is_alike(id) {
            return names;
        }
        let all = self.original.iter();
        all.filter(|(_, origin)| names.contains(*origin)).map(|(name, _)| name.clone()).collect()
    }
}

/// Returns `true` if only names of a value differ.
fn is_alike(merged: &Value, separate: &Value, original: &BTreeMap<Symbol, Symbol>) -> bool {
    let name = |name: &Symbol| original.get(name).unwrap_or(name).clone();
    let ty = separate.ty.as_ref().and_then(|ty| ty.renamed(&name));
    let known = match (separate.known.peek(), merged.known.peek()) {
        (Some(Known::Ints(one)), Some(Known::Ints(other))) => {
            let pairs = || one.iter().zip(other);
            one.len() == other.len() && pairs().all(|(one, other)| one.renamed(&name).as_ref() == Some(other))
        }
        (one, other) => one == other,
    };
    ty == merged.ty && known
}
