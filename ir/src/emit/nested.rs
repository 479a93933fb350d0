//! Blocks of a node: branches and bodies of loops.

use std::collections::BTreeSet;

use super::tree::{self, Group, Item};
use super::variables::Hint;
use super::{Emit, body, split, value_names, variable};
use crate::attributes::missing;
use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::{Dim, Symbol};
use crate::graph::{Block, Node, ValueId};
use crate::rust::{Code, Variable, code};
use crate::types::{Known, Placement, Type};

/// Code of a block, in the function of its node.
#[derive(Debug)]
pub struct Inside {
    pub statements: Code,
    /// One expression for each output.
    pub results: Vec<Code>,
}

impl Inside {
    /// Returns the code for use inside braces.
    pub fn code(&self) -> Code {
        let (statements, results) = (&self.statements, &self.results);
        match results.as_slice() {
            [one] => code!(#statements #one),
            _ => code!(#statements (#(#results),*)),
        }
    }
}

impl Emit<'_, '_> {
    /// Returns the name of the node in messages.
    pub fn site(&self) -> String {
        self.node.site(self.source.cx.values).node
    }

    /// Returns the block of an attribute.
    pub fn block(&self, name: &str) -> Result<&Block, Problem> {
        block(self.node, name)
    }

    /// Returns the code of a block whose outputs need these placements and types. Long blocks become functions.
    pub fn inside(&mut self, name: &str, wanted: &[(Placement, Type)]) -> Result<Inside, Problem> {
        let node = self.node;
        let block = block(node, name)?;
        let mut items = tree::group(&block.nodes, self.source.cx.values);
        if tree::is_long(&block.nodes) {
            let mut path = node.origin.clone();
            path.push(name.to_owned());
            items = vec![Item::Group(Group { path, numbered: false, items, owned: BTreeSet::new() })];
        }
        let source = &mut self.source;
        let mut problems = Diagnostics::default();
        let statements = split::split(items, &block.inputs, &block.outputs, source, &mut problems);
        source.cx.problems.extend(problems);
        let mut results = Vec::new();
        for (&id, (placement, ty)) in block.outputs.iter().zip(wanted) {
            results.push(source.value_as(id, *placement, ty)?);
        }
        let made = block.nodes.iter().flat_map(|node| &node.outputs).flatten();
        let own: BTreeSet<ValueId> = made.chain(&block.inputs).copied().collect();
        let cx = &*source.cx;
        let is_own = |name: &&Symbol| cx.origins.get(*name).is_some_and(|id| own.contains(id));
        let names = own.iter().flat_map(|&id| body::names(id, cx));
        let own: BTreeSet<Symbol> = names.filter(is_own).cloned().collect();
        let is_own = |symbol: &Symbol| own.contains(symbol);
        let result = results.iter().cloned().collect();
        let (statements, unbound) = body::bind(&statements, &result, &block.inputs, is_own, source.cx);
        source.cx.report_unbound(unbound);
        Ok(Inside { statements, results })
    }

    /// Returns the placement of a value of the node or of its blocks.
    pub fn placement(&self, id: ValueId) -> Placement {
        if self.source.cx.lives_on_host(id) { Placement::Host } else { Placement::Device }
    }

    /// Returns the placement of an output of the node.
    pub fn output_placement(&self, output: usize) -> Placement {
        let id = self.node.output(output);
        id.map_or(Placement::Device, |id| self.placement(id))
    }

    /// Returns the known elements of a value of the node or of its blocks, and marks their constants as fixed.
    pub fn known_of(&self, id: ValueId) -> Option<&Known> {
        self.source.cx.values[id].known.read()
    }

    /// Returns `true` if a value is a constant, which needs no variable.
    pub fn is_constant(&self, id: ValueId) -> bool {
        let value = &self.source.cx.values[id];
        value.is_stored() || value.known.is_some()
    }

    /// Returns `true` if a size depends on a named size that no value before the node's outputs has.
    pub fn is_first_bound_here(&self, dim: &Dim) -> bool {
        let made = |symbol: &Symbol| {
            let origin = self.source.cx.origins.get(symbol);
            origin.is_some_and(|id| self.made().contains(id))
        };
        dim.symbols().iter().any(made)
    }

    /// Returns the outputs of the node.
    fn made(&self) -> &BTreeSet<ValueId> {
        let outputs = || self.node.outputs.iter().flatten().copied().collect();
        self.made.get_or_init(outputs)
    }

    /// Returns the variable of a new size, for the index of an iteration.
    pub fn index(&mut self) -> Code {
        let cx = &mut *self.source.cx;
        cx.sizes.index(&|name| cx.origins.contains_key(name))
    }

    /// Returns the type of a value of the node or of its blocks.
    pub fn type_of(&self, id: ValueId) -> Result<&Type, Problem> {
        let value = &self.source.cx.values[id];
        let untyped = || Problem::defect(format!("value `{}` has no type", value.name));
        value.ty.as_ref().ok_or_else(untyped)
    }

    /// Returns an input with a placement.
    pub fn input_at(&mut self, input: usize, placement: Placement) -> Result<Code, Problem> {
        let id = self.required(input)?;
        self.value_at(id, placement)
    }

    /// Returns a value of the graph around the node's blocks with a placement.
    pub fn value_at(&mut self, id: ValueId, placement: Placement) -> Result<Code, Problem> {
        match (placement, self.type_of(id)?) {
            (Placement::Host, Type::Tensor(_)) => self.source.host_value(id),
            _ => self.source.device_value(id),
        }
    }

    /// Returns the variable of a value, with the preferred name `hint`.
    pub fn variable(&mut self, id: ValueId, hint: &str) -> Variable {
        let hint = Hint {
            name: hint.to_owned(),
            chains: body::is_device_tensor(id, self.source.cx),
            word: value_names::of_value(&self.source.cx.values[id].name),
            ..Hint::default()
        };
        let name = variable(id);
        self.source.cx.hints.insert(name, hint);
        name
    }

    /// Returns a variable that belongs to no value of the graph, with the preferred name `hint`.
    pub fn temporary(&mut self, hint: &str) -> Variable {
        let cx = &mut *self.source.cx;
        let values = u32::try_from(cx.values.len()).unwrap_or(u32::MAX);
        let name = Variable(values.saturating_add(cx.temporaries));
        cx.temporaries = cx.temporaries.saturating_add(1);
        let hint = Hint { name: hint.to_owned(), ..Hint::default() };
        cx.hints.insert(name, hint);
        name
    }
}

fn block<'n>(node: &'n Node, name: &str) -> Result<&'n Block, Problem> {
    let mut blocks = node.blocks.iter();
    let found = blocks.find(|(attribute, _)| attribute == name);
    found.map(|(_, block)| block).ok_or_else(|| missing(name))
}
