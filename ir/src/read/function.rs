//! Calls of model-local functions, inlined.

use std::collections::BTreeMap;

use super::scope::Scope;
use super::{DEEPEST, Reader, domain};
use crate::diagnostics::{Problem, Site};
use crate::graph::Block;
use crate::proto::{FunctionProto, NodeProto};

/// The functions of a model by domain, name and overload.
#[derive(Debug)]
pub struct Functions<'a> {
    by_name: BTreeMap<(String, &'a str, &'a str), &'a FunctionProto>,
}

impl<'a> Functions<'a> {
    pub fn new(list: &'a [FunctionProto]) -> Self {
        let key = |function: &'a FunctionProto| {
            let names = (function.name.as_str(), function.overload.as_str());
            ((domain(&function.domain), names.0, names.1), function)
        };
        Functions {
            by_name: list.iter().map(key).collect(),
        }
    }

    pub fn find(&self, domain: &str, name: &str, overload: &str) -> Option<&'a FunctionProto> {
        let mut all = self.by_name.iter();
        let same = |key: &(String, &str, &str)| key.0 == domain && key.1 == name;
        all.find(|(key, _)| same(key) && key.2 == overload)
            .map(|(_, function)| *function)
    }
}

impl Reader<'_> {
    /// Reads a function's nodes as if they stood where it is called.
    pub(super) fn call(
        &mut self,
        function: &FunctionProto,
        node: &NodeProto,
        scope: &mut Scope,
        block: &mut Block,
    ) {
        self.depth += 1;
        let inlined = match self.depth > DEEPEST {
            true => Err(Problem::new(format!(
                "functions call each other more than {DEEPEST} deep"
            ))),
            false => self.inline(function, node, scope, block),
        };
        self.depth -= 1;
        if let Err(problem) = inlined {
            self.diagnostics.push(problem.at(Site {
                operator: format!("function {}", function.name),
                node: node.name.clone(),
            }));
            self.poison(node, scope);
        }
    }

    fn inline(
        &mut self,
        function: &FunctionProto,
        node: &NodeProto,
        scope: &mut Scope,
        block: &mut Block,
    ) -> Result<(), Problem> {
        let defaults = function.attribute_proto.iter().cloned();
        let given = scope.resolve(&node.attribute)?;
        let arguments = defaults.chain(given);
        let arguments = arguments.map(|held| (held.name.clone(), held)).collect();
        let imports = function.opset_import.iter();
        let opsets = imports
            .map(|import| (domain(&import.domain), import.version.unwrap_or(1)))
            .collect();
        let name = match node.name.is_empty() {
            true => &function.name,
            false => &node.name,
        };
        let mut inner = scope.function(name, opsets, arguments);
        for (formal, actual) in function.input.iter().zip(&node.input) {
            if let Some(id) = scope.input(actual)? {
                inner.define(formal, id);
            }
        }
        // A formal input that the caller left out is left out in the nodes that name it.
        let given = node.input.iter().map(|name| !name.is_empty());
        let given: Vec<bool> = given
            .chain(std::iter::repeat(false))
            .take(function.input.len())
            .collect();
        let absent: Vec<&str> = function
            .input
            .iter()
            .zip(given)
            .filter(|(_, given)| !given)
            .map(|(formal, _)| formal.as_str())
            .collect();
        let nodes: Vec<NodeProto> = function
            .node
            .iter()
            .map(|held| {
                let mut held = held.clone();
                for input in &mut held.input {
                    if absent.contains(&input.as_str()) {
                        input.clear();
                    }
                }
                held
            })
            .collect();
        self.nodes(&nodes, &mut inner, block);
        for (formal, actual) in function.output.iter().zip(&node.output) {
            match inner.value(formal) {
                _ if actual.is_empty() => {}
                Some(id) => scope.define(actual, id),
                None => {
                    return Err(Problem::new(format!(
                        "no node of the function makes its output `{formal}`"
                    )));
                }
            }
        }
        Ok(())
    }
}
