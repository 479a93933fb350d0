//! Names of new tensors and nodes.

use std::collections::BTreeSet;

use crate::proto::{GraphProto, ModelProto, NodeProto};

/// All names of a model.
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub fn of(model: &ModelProto) -> Self {
        let mut names = Names(BTreeSet::new());
        model.graph.iter().for_each(|graph| names.graph(graph));
        for function in &model.functions {
            names.all(&function.input);
            function.node.iter().for_each(|node| names.node(node));
        }
        names
    }

    /// Returns a name that nothing has: one with this suffix, and a number if necessary.
    pub fn fresh(&mut self, name: &str, suffix: &str) -> String {
        let first = format!("{name}_{suffix}");
        let numbered = (2u32..).map(|number| format!("{first}_{number}"));
        let fresh = std::iter::once(first.clone()).chain(numbered).find(|name| !self.0.contains(name));
        let fresh = fresh.unwrap_or(first);
        self.0.insert(fresh.clone());
        fresh
    }

    fn all(&mut self, names: &[String]) {
        self.0.extend(names.iter().cloned());
    }

    fn graph(&mut self, graph: &GraphProto) {
        self.0.extend(graph.initializer.iter().map(|tensor| tensor.name.clone()));
        let values = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
        self.0.extend(values.map(|value| value.name.clone()));
        graph.node.iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: &NodeProto) {
        self.0.insert(node.name.clone());
        self.all(&node.input);
        self.all(&node.output);
        for attribute in &node.attribute {
            attribute.g.as_deref().into_iter().chain(&attribute.graphs).for_each(|graph| self.graph(graph));
        }
    }
}
