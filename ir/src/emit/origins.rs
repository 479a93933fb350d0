//! Start of emission: values in which sizes originate, and views.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::Budget;
use super::functions::Functions;
use super::name::Unique;
use super::size::Sizes;
use super::structs::Structs;
use super::{Context, caches, load, parameters, tree};
use crate::diagnostics::Diagnostics;
use crate::dim::Dim;
use crate::graph::{Block, ValueId};
use crate::model::Model;
use crate::ops;
use crate::types::Type;

impl<'g> Context<'g> {
    /// Creates the context of a model.
    pub(super) fn new(model: &'g Model, trace: bool) -> Self {
        let graph = &model.graph;
        let grown = caches::grown(graph);
        let bytes = model.files.list().into_iter().map(|(_, bytes)| bytes.len()).sum();
        let mut cx = Context {
            values: &graph.values,
            sizes: Sizes::default(),
            origins: BTreeMap::new(),
            views: grown.clone(),
            grown,
            weights: BTreeMap::new(),
            weight_names: Unique::default(),
            module: tree::common(&graph.body.nodes),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            bound: load::bound(graph),
            tied: BTreeMap::new(),
            shared: BTreeSet::new(),
            statistics: parameters::statistics(graph),
            training: graph.training,
            trace,
            hints: BTreeMap::new(),
            structs: Structs::default(),
            functions: Functions::default(),
            problems: Diagnostics::default(),
            temporaries: 0,
            budget: Budget::new(graph.body.count(), bytes),
        };
        cx.note_origins(&graph.body);
        cx
    }

    fn note_origins(&mut self, block: &Block) {
        block.inputs.iter().for_each(|&id| self.note_origin(id));
        for node in &block.nodes {
            if ops::facts(&node.kind).view {
                self.views.extend(node.outputs.iter().flatten());
            }
            node.blocks.iter().for_each(|(_, block)| self.note_origins(block));
            node.outputs.iter().flatten().for_each(|&id| self.note_origin(id));
        }
    }

    fn note_origin(&mut self, id: ValueId) {
        if let Some(Type::Tensor(tensor)) = &self.values[id].ty {
            for symbol in tensor.shape.iter().filter_map(Dim::name) {
                self.origins.entry(symbol.clone()).or_insert(id);
            }
        }
    }
}
