//! Constructors: fields and their shared bindings.

use std::collections::{BTreeMap, BTreeSet};

use quote::format_ident;

use super::ownership::owned;
use super::variables::{Hint, Namer};
use super::{Layer, Source, name, rust_type, variable};
use crate::diagnostics::Problem;
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::rust::{Code, Variable, code};
use crate::types::{Placement, TensorType, Type};

/// Number of nodes above which an expression is bound to a variable, because rustc processes expressions recursively.
const MAX_EXPRESSION_NODES: usize = 24;
/// Maximum number of elements of a known constant that a constructor contains several times.
const SHORT: usize = 64;
/// Returns the values that constructors bind to variables: those that are used several times, and parts of expressions
/// that would be too large.
pub fn bound(graph: &Graph) -> BTreeSet<ValueId> {
    let mut reads = Reads { values: &graph.values, counts: BTreeMap::new(), order: Vec::new() };
    reads.block(&graph.body);
    let counts = reads.counts.iter().filter(|(_, count)| **count > 1);
    let mut bound: BTreeSet<ValueId> = counts.map(|(id, _)| *id).collect();
    let mut sizes: BTreeMap<ValueId, usize> = BTreeMap::new();
    for id in reads.order {
        let inputs = made_from(&graph.values, id);
        let inside = inputs.filter(|id| !bound.contains(id));
        let inside = inside.map(|id| sizes.get(&id).copied().unwrap_or(1));
        let size = inside.fold(1, usize::saturating_add);
        sizes.insert(id, size);
        if size > MAX_EXPRESSION_NODES {
            bound.insert(id);
        }
    }
    bound
}

/// Number of uses of constants that are computed or long.
struct Reads<'g> {
    values: &'g Values,
    counts: BTreeMap<ValueId, usize>,
    /// Computed values, each after its operands.
    order: Vec<ValueId>,
}

impl Reads<'_> {
    fn block(&mut self, block: &Block) {
        for node in &block.nodes {
            for &id in node.inputs.iter().flatten() {
                if self.values[id].maker.is_some() {
                    self.read(id);
                }
            }
            node.blocks.iter().for_each(|(_, inner)| self.block(inner));
        }
    }

    /// Counts a use of a value. Its operands are counted once, regardless of the number of its uses.
    fn read(&mut self, id: ValueId) {
        let mut open = vec![(id, false)];
        while let Some((id, done)) = open.pop() {
            if done {
                self.order.push(id);
                continue;
            }
            let count = self.counts.entry(id).or_insert(0);
            *count += 1;
            if *count == 1 {
                open.push((id, true));
                open.extend(made_from(self.values, id).map(|id| (id, false)));
            }
        }
    }
}

/// Returns the inputs of the node that computes a value, if they are computed or long themselves.
fn made_from(values: &Values, id: ValueId) -> impl Iterator<Item = ValueId> {
    let node: Option<&Node> = values[id].maker.as_deref();
    let inputs = node.into_iter().flat_map(|node| node.inputs.iter().flatten());
    inputs.copied().filter(|&id| {
        let value = &values[id];
        let known = value.known.peek().is_some_and(|known| known.len() > SHORT);
        value.weight.is_none() && (value.maker.is_some() || known)
    })
}

impl Source<'_, '_> {
    /// Creates the bindings that an expression depends on, in order.
    pub(super) fn bind_before(&mut self, id: ValueId) -> Result<(), Problem> {
        let (mut open, mut seen) = (vec![(id, false)], BTreeSet::new());
        while let Some((at, done)) = open.pop() {
            if done {
                let values = self.cx.values;
                if let Some(Type::Tensor(tensor)) = &values[at].ty {
                    self.expression(at, tensor)?;
                }
            } else if !self.layer.bindings.has(at) && seen.insert(at) {
                if at != id && self.cx.bound.contains(&at) {
                    open.push((at, true));
                }
                open.extend(made_from(self.cx.values, at).map(|id| (id, false)));
            }
        }
        Ok(())
    }

    /// Returns the expression of a computed constant, or the variable that it is bound to.
    pub(super) fn bound(&mut self, id: ValueId, tensor: &TensorType, expression: Code) -> Code {
        if !self.cx.bound.contains(&id) {
            return expression;
        }
        let ty = rust_type(&Type::Tensor(tensor.clone()), Placement::Device);
        self.layer.bindings.add(id, ty, expression);
        let name = self.cx.stored_name(id);
        let maker = self.cx.values[id].maker.as_deref();
        let divided = maker.is_some_and(|node| &*node.kind == "Div");
        let hint = Hint { name: scale(&name).filter(|_| divided).unwrap_or(name), ..Hint::default() };
        let name = variable(id);
        self.cx.hints.insert(name, hint);
        code!(#name)
    }
}

/// Returns the name of a normalization's weight after a division: `norm.scale` for `norm.weight`.
fn scale(name: &str) -> Option<String> {
    let stem = ["weight", "gamma"].iter().find_map(|end| name.strip_suffix(end))?;
    stem.ends_with(['.', '/', '_']).then(|| format!("{stem}scale"))
}

impl Layer {
    /// Returns the body of a constructor. `further` contains fields that are not in the list.
    pub fn load(&self, further: Code, hints: &BTreeMap<Variable, Hint>) -> Code {
        let fields = self.fields.iter().map(|field| {
            let (name, load) = (format_ident!("{}", field.name), &field.load);
            code!(#name: #load,)
        });
        let fields = code!(Self { #(#fields)* #further });
        if self.bindings.len() == 0 {
            return fields;
        }
        let bound = self.bindings.variables();
        let hints = bound.map(|variable| {
            let hint = hints.get(&variable).map(|hint| self.relative(&hint.name));
            let hint = Hint { name: name::snake(&hint.unwrap_or_default()), ..Hint::default() };
            (variable, hint)
        });
        let hints = hints.collect();
        let statements = self.bindings.statements(&fields, &hints);
        let code = code!(#statements #fields);
        let code = owned(&code);
        Namer::new(&code, &[], &[], &hints).rename(&code)
    }
}
