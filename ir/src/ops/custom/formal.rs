//! Parameters of functions, as the nodes of an operator have them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Argument, Custom};
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::graph::{Block, Graph, Node, ValueId};
use crate::rust::{Code, code};

/// What the nodes of an operator have to do with its function's parameters.
#[derive(Clone, Debug, Default)]
pub struct Formals {
    inputs: Vec<Option<Formal>>,
    attributes: BTreeMap<String, Formal>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Formal {
    /// Whether some node leaves it out.
    optional: bool,
    /// What the first node that has it gives, if that is a tensor.
    pub like: Option<ValueId>,
    /// What the first node that has it gives, if that is none.
    sample: Option<Argument>,
    /// How many nodes have it.
    count: usize,
}

/// Has all nodes of each operator agree on the parameters of its function: what one of them leaves out is
/// optional, and what all leave out is no parameter.
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
        // A tuple of all results, of which the last may be unnamed.
        if let Ok(results) = &custom.binding
            && node.outputs.len() < results.len()
        {
            node.outputs.resize(results.len(), None);
        }
        node.operator = Rc::new(custom);
    }
}

impl Formals {
    /// The parameters for inputs, with their places.
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

    /// What the first node that has it gives.
    pub fn sample(&self) -> Option<&Argument> {
        self.sample.as_ref()
    }

    /// The type of the parameter, of which that of the argument is known.
    pub fn parameter(&self, ty: Code) -> Code {
        if self.optional { code!(Option<#ty>) } else { ty }
    }

    /// The argument of a node.
    pub fn argument(&self, present: bool, value: Code) -> Code {
        match (self.optional, present) {
            (true, true) => code!(Some(#value)),
            (true, false) => code!(None),
            (false, _) => value,
        }
    }

    /// The type of an attribute that a node leaves out.
    pub fn absent(&self, cx: &Emit<'_, '_>) -> Result<Code, Problem> {
        match self.sample.as_ref().and_then(Argument::ty) {
            Some(ty) => Ok(ty),
            None => cx.argument_type(self.like),
        }
    }
}
