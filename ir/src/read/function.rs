//! Calls of model-local functions, inlined.

use std::collections::{BTreeMap, BTreeSet};

use super::scope::Scope;
use super::{DEEPEST, Reader, domain};
use crate::diagnostics::{Problem, Site};
use crate::graph::Block;
use crate::proto::{FunctionProto, NodeProto};

const INCONSISTENT: &str = "the file is inconsistent; export the model again";

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
        let by_name: &BTreeMap<(String, &str, &str), _> = &self.by_name;
        by_name.get(&(domain.to_owned(), name, overload)).copied()
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
        check(function, node)?;
        let defaults = function.attribute_proto.iter().cloned();
        let given = scope.resolve(&node.attribute)?;
        let arguments = defaults.chain(given);
        let arguments = arguments.map(|held| (held.name.clone(), held)).collect();
        let mut opsets = scope.opsets().clone();
        let imports = function.opset_import.iter();
        opsets.extend(imports.map(|held| (domain(&held.domain), held.version.unwrap_or(1))));
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
        let given = given.chain(std::iter::repeat(false));
        let formal = function.input.iter().zip(given);
        let absent: BTreeSet<&String> = formal.filter(|held| !held.1).map(|held| held.0).collect();
        let mut nodes = function.node.clone();
        let inputs = nodes.iter_mut().flat_map(|node| &mut node.input);
        inputs
            .filter(|input| absent.contains(&**input))
            .for_each(String::clear);
        self.nodes(&nodes, &mut inner, block);
        for (formal, actual) in function.output.iter().zip(&node.output) {
            match inner.value(formal) {
                _ if actual.is_empty() => {}
                Some(id) => scope.define(actual, id),
                None => {
                    return Err(Problem::new(format!(
                        "no node of the function makes its output `{formal}`"
                    ))
                    .help(INCONSISTENT));
                }
            }
        }
        Ok(())
    }
}

/// Whether a call gives no more than the function takes.
fn check(function: &FunctionProto, node: &NodeProto) -> Result<(), Problem> {
    let counts = [
        ("inputs", node.input.len(), function.input.len()),
        ("outputs", node.output.len(), function.output.len()),
    ];
    if let Some((what, given, formal)) = counts.iter().find(|(_, given, formal)| given > formal) {
        let message = format!("the function has {formal} {what}, the node names {given}");
        return Err(Problem::new(message).help(INCONSISTENT));
    }
    let with_default = function.attribute_proto.iter().map(|held| &held.name);
    let known: BTreeSet<&String> = function.attribute.iter().chain(with_default).collect();
    match node
        .attribute
        .iter()
        .find(|held| !known.contains(&held.name))
    {
        Some(held) => {
            let message = format!("the function has no attribute `{}`", held.name);
            Err(Problem::new(message).help(INCONSISTENT))
        }
        None => Ok(()),
    }
}
