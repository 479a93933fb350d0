//! One of two graphs that are compared.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::form::form;
use crate::attributes::Attribute;
use crate::diagnostics::shown;
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::types::Type;

/// A graph, the definitions of its values, and hashes of them that do not depend on names.
pub(super) struct Side<'g> {
    pub values: &'g Values,
    /// Values that inputs of blocks (`None`) and nodes define. All others are constants.
    defined: BTreeMap<ValueId, Option<&'g Node>>,
    hashes: BTreeMap<ValueId, u64>,
}

impl<'g> Side<'g> {
    pub fn new(graph: &'g Graph) -> Self {
        let mut side = Side { values: &graph.values, defined: BTreeMap::new(), hashes: BTreeMap::new() };
        side.block(&graph.body);
        side
    }

    /// Returns `true` if an input of a block or a node defines the value.
    pub fn is_defined(&self, id: ValueId) -> bool {
        self.defined.contains_key(&id)
    }

    /// Returns a hash of the computation of a value. Equal computations have equal hashes, whatever their names and the
    /// values and layouts of their constants.
    pub fn hash(&self, id: ValueId) -> u64 {
        if let Some(&hash) = self.hashes.get(&id) {
            return hash;
        }
        let tensor = self.values[id].ty.as_ref().and_then(Type::as_tensor);
        hashed(&("constant", tensor.map(|ty| (ty.dtype.number(), ty.count()))))
    }

    /// Returns a hash of the computation of a node.
    pub fn node_hash(&self, node: &Node) -> u64 {
        let input = |id: &Option<ValueId>| id.map(|id| self.hash(id));
        let form = form(self, node);
        let mut inputs: Vec<Option<u64>> = form.inputs.iter().map(input).collect();
        if form.commutes {
            inputs.sort_unstable();
        }
        let blocks = node.blocks.iter().map(|(name, block)| {
            let outputs: Vec<u64> = block.outputs.iter().map(|&id| self.hash(id)).collect();
            (name, outputs)
        });
        let attributes = unsized_attributes(&form.attributes);
        hashed(&(form.kind, attributes, inputs, blocks.collect::<Vec<_>>()))
    }

    /// Returns a description of a value for messages.
    pub fn described(&self, id: ValueId) -> String {
        let value = &self.values[id];
        match self.defined.get(&id) {
            Some(Some(node)) => format!("the result of {} `{}`", shown(&node.kind), self.name(node)),
            Some(None) => format!("input `{}`", shown(&value.name)),
            None => self.constant(id),
        }
    }

    fn constant(&self, id: ValueId) -> String {
        let mut at = id;
        while self.values[at].name.is_empty()
            && let Some(from) = self.values[at].maker.as_ref().and_then(|node| node.input(0))
        {
            at = from;
        }
        match self.values[at].name.as_str() {
            "" => "constant".to_owned(),
            name if at == id => format!("constant `{}`", shown(name)),
            name => format!("constant computed from `{}`", shown(name)),
        }
    }

    /// Returns the name of a constant, or of the first one from which it is computed.
    pub fn source(&self, id: ValueId) -> &'g str {
        let mut at = id;
        while let Some(from) = self.values[at].maker.as_ref().and_then(|node| node.input(0)) {
            at = from;
        }
        &self.values[at].name
    }

    /// Returns the name of a node for messages.
    pub fn name(&self, node: &Node) -> String {
        shown(&node.site(self.values).node)
    }

    fn block(&mut self, block: &'g Block) {
        for (at, &id) in block.inputs.iter().enumerate() {
            self.defined.insert(id, None);
            self.hashes.insert(id, hashed(&("input", at)));
        }
        for node in &block.nodes {
            node.blocks.iter().for_each(|(_, inner)| self.block(inner));
            let hash = self.node_hash(node);
            for (at, id) in node.outputs.iter().enumerate() {
                if let Some(id) = *id {
                    self.defined.insert(id, Some(node));
                    self.hashes.insert(id, hashed(&(hash, at)));
                }
            }
        }
    }
}

/// Returns attributes without symbolic sizes, whose names differ between files.
fn unsized_attributes(attribute: &Attribute) -> Attribute {
    match attribute {
        Attribute::Size(size) if size.number().is_none() => Attribute::Nothing,
        Attribute::List(items) => Attribute::List(items.iter().map(unsized_attributes).collect()),
        Attribute::Fields(name, fields) => {
            let fields = fields.iter().map(|(field, value)| (*field, unsized_attributes(value)));
            Attribute::Fields(name, fields.collect())
        }
        Attribute::Row(inner) => Attribute::Row(Box::new(unsized_attributes(inner))),
        other => other.clone(),
    }
}

fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
