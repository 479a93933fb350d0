//! All values of a model, named as in the file.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnostics::Diagnostics;
use crate::graph::{Block, ValueId, Values};
use crate::options::Options;
use crate::types::Type;

/// A value of the file, before any simplification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    /// `None` if a problem prevents inference.
    pub ty: Option<Type>,
    pub origin: Origin,
    /// Whether the value is an output of the model.
    pub is_output: bool,
    /// Number of nested graphs that contain the value.
    pub depth: usize,
}

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Input,
    Constant,
    /// Operator and name of the node.
    Node(String, String),
}

/// Returns the values of the model at `path`: inputs, then constants, then results of nodes in order.
pub fn values(path: &Path, options: &Options) -> Result<Vec<Named>, Diagnostics> {
    let untyped = super::read(path, options)?;
    let (model, _) = crate::attempts::typed(&untyped, options);
    let body = &model.graph.body;
    let mut list = List {
        values: &model.graph.values,
        outputs: body.outputs.iter().copied().collect(),
        listed: BTreeSet::new(),
        names: Vec::new(),
    };
    for &id in &body.inputs {
        list.add(id, Origin::Input, 0);
    }
    let mut made = BTreeSet::new();
    made_by(body, &mut made);
    for (id, value) in model.graph.values.iter() {
        if value.is_constant() && !made.contains(&id) && !value.name.is_empty() {
            list.add(id, Origin::Constant, 0);
        }
    }
    list.block(body, 0);
    Ok(list.names)
}

struct List<'g> {
    values: &'g Values,
    outputs: BTreeSet<ValueId>,
    listed: BTreeSet<ValueId>,
    names: Vec<Named>,
}

impl List<'_> {
    fn add(&mut self, id: ValueId, origin: Origin, depth: usize) {
        if self.listed.insert(id) {
            let value = &self.values[id];
            self.names.push(Named {
                name: value.name.clone(),
                ty: value.ty.clone(),
                origin,
                is_output: self.outputs.contains(&id),
                depth,
            });
        }
    }

    fn block(&mut self, block: &Block, depth: usize) {
        for &id in &block.inputs {
            self.add(id, Origin::Input, depth);
        }
        for node in &block.nodes {
            for &id in node.outputs.iter().flatten() {
                let origin = Origin::Node(node.kind.to_string(), node.name.clone());
                self.add(id, origin, depth);
            }
            for (_, inner) in &node.blocks {
                self.block(inner, depth.saturating_add(1));
            }
        }
    }
}

fn made_by(block: &Block, made: &mut BTreeSet<ValueId>) {
    made.extend(&block.inputs);
    for node in &block.nodes {
        made.extend(node.outputs.iter().flatten());
        for (_, inner) in &node.blocks {
            made_by(inner, made);
        }
    }
}
