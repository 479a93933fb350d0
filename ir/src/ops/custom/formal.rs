//! Function parameters derived from the nodes of an operator.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Argument, Custom};
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::graph::{Block, Graph, Node, ValueId};
use crate::rust::{Code, code};

/// The parameters of an operator's function.
#[derive(Clone, Debug, Default)]
pub struct Formals {
    inputs: Vec<Option<Formal>>,
    attributes: BTreeMap<String, Formal>,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Formal {
    /// Whether some nodes omit it.
    optional: bool,
    /// The argument of the first node that has it, if it is a tensor.
    pub like: Option<ValueId>,
    /// The attribute of the first node that has it; `None` for an input.
    sample: Option<Argument>,
    /// Number of nodes that have it.
    count: usize,
}

/// Derives the parameters of each operator's function from all its nodes. An argument that some nodes omit is optional;
/// one that all nodes omit is not a parameter.
pub fn agree(graph: &mut Graph) {
    let mut kinds: BTreeMap<Rc<str>, (usize, Formals)> = BTreeMap::new();
    note(&graph.body, &mut kinds);
    let mut formals = BTreeMap::new();
    for (kind, (count, mut found)) in kinds {
        let inputs = found.inputs.iter_mut().flatten();
        for formal in inputs.chain(found.attributes.values_mut()) {
            formal.optional = formal.count < count;
        }
        formals.insert(kind, Rc::new(found));
    }
    set(&mut graph.body, &formals);
}

fn note(block: &Block, kinds: &mut BTreeMap<Rc<str>, (usize, Formals)>) {
    for node in &block.nodes {
        node.blocks.iter().for_each(|(_, inner)| note(inner, kinds));
        if let Some(custom) = node.operator_as::<Custom>() {
            let (count, formals) = kinds.entry(custom.kind.clone()).or_default();
            *count += 1;
            formals.note(custom, node);
        }
    }
}

fn set(block: &mut Block, formals: &BTreeMap<Rc<str>, Rc<Formals>>) {
    for node in &mut block.nodes {
        for (_, inner) in &mut node.blocks {
            set(inner, formals);
        }
        let Some(custom) = node.operator_as::<Custom>() else {
            continue;
        };
        let mut custom = custom.clone();
        custom.formals = formals.get(&custom.kind).cloned().unwrap_or_default();
        // The function returns all results, even if the node omits the last ones.
        if let Ok(results) = &custom.binding
            && node.outputs.len() < results.len()
        {
            node.outputs.resize(results.len(), None);
        }
        node.operator = Rc::new(custom);
    }
}

impl Formals {
    /// Returns the parameters for inputs with their indices.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, &Formal)> {
        let inputs = self.inputs.iter().enumerate();
        inputs.filter_map(|(at, formal)| Some((at, formal.as_ref()?)))
    }

    pub fn attributes(&self) -> impl Iterator<Item = (&String, &Formal)> {
        self.attributes.iter()
    }

    fn note(&mut self, custom: &Custom, node: &Node) {
        let named = node.inputs.iter().take(custom.named);
        for (at, &input) in named.enumerate() {
            if self.inputs.len() <= at {
                self.inputs.push(None);
            }
            if let (Some(formal), Some(id)) = (self.inputs.get_mut(at), input) {
                let formal = formal.get_or_insert_with(|| Formal::new(Some(id), None));
                formal.count += 1;
            }
        }
        for (name, argument) in &custom.arguments {
            let formal = self.attributes.entry(name.clone()).or_insert_with(|| {
                let like = match argument {
                    Argument::Tensor(kept) => node.input(kept.input),
                    _ => None,
                };
                Formal::new(like, Some(argument.clone()))
            });
            formal.count += 1;
        }
    }
}

impl Formal {
    fn new(like: Option<ValueId>, sample: Option<Argument>) -> Self {
        Formal { optional: false, like, sample, count: 0 }
    }

    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// Returns the attribute of the first node that has it.
    pub fn sample(&self) -> Option<&Argument> {
        self.sample.as_ref()
    }

    /// Returns the type of the parameter for an argument of type `ty`.
    pub fn parameter(&self, ty: Code) -> Code {
        if self.optional { code!(Option<#ty>) } else { ty }
    }

    /// Returns the argument that a node passes.
    pub fn argument(&self, present: bool, value: Code) -> Code {
        match (self.optional, present) {
            (true, true) => code!(Some(#value)),
            (true, false) => code!(None),
            (false, _) => value,
        }
    }

    /// Returns the type of an attribute that a node omits.
    pub fn absent(&self, cx: &Emit<'_, '_>) -> Result<Code, Problem> {
        match self.sample.as_ref().and_then(Argument::ty) {
            Some(ty) => Ok(ty),
            None => cx.argument_type(self.like),
        }
    }
}
