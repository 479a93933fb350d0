//! Constructors: fields and their shared bindings.

use std::collections::{BTreeMap, BTreeSet};

use quote::format_ident;

use super::own::owned;
use super::variables::{Hint, Namer};
use super::{Layer, Source, name, rust_type, variable};
use crate::diagnostics::Problem;
use crate::graph::{Block, Graph, Node, ValueId, Values};
use crate::rust::{Code, Variable, code};
use crate::types::{Place, TensorType, Type};

/// Number of nodes above which an expression is bound to a variable, because rustc processes expressions recursively.
const LARGEST: usize = 24;
/// Maximum number of elements of a known constant that a constructor contains several times.
const SHORT: usize = 64;
/// Maximum number of bindings in a constructor. Longer ones are split, like functions.
const LONGEST: usize = 96;
/// Maximum number of bindings in each function of a split constructor.
const PART: usize = 64;

/// Computed constants that a constructor binds to variables, in order.
#[derive(Debug, Default)]
pub struct Bindings {
    list: Vec<Binding>,
    ids: BTreeSet<ValueId>,
}

#[derive(Debug)]
struct Binding {
    id: ValueId,
    ty: Code,
    expression: Code,
}

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
        if size > LARGEST {
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
        let ty = rust_type(&Type::Tensor(tensor.clone()), Place::Device);
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

impl Bindings {
    /// Returns `true` if a value is bound to a variable.
    pub fn has(&self, id: ValueId) -> bool {
        self.ids.contains(&id)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn expressions(&self) -> impl Iterator<Item = &Code> {
        self.list.iter().map(|binding| &binding.expression)
    }

    fn add(&mut self, id: ValueId, ty: Code, expression: Code) {
        if self.ids.insert(id) {
            self.list.push(Binding { id, ty, expression });
        }
    }

    /// Returns the statements before `fields`. Long lists are split into functions.
    fn statements(&self, fields: &Code, hints: &BTreeMap<Variable, Hint>) -> Code {
        if self.list.len() <= LONGEST {
            return self.list.iter().map(Binding::statement).collect();
        }
        let types = self.list.iter().map(|binding| (binding.variable(), &binding.ty));
        let types: BTreeMap<Variable, &Code> = types.collect();
        let mut later: BTreeSet<Variable> = fields.variables().into_iter().collect();
        let mut parts = Vec::new();
        for part in self.list.rchunks(PART) {
            let statements: Code = part.iter().map(Binding::statement).collect();
            let made: BTreeSet<Variable> = part.iter().map(Binding::variable).collect();
            let results: Vec<Variable> = made.intersection(&later).copied().collect();
            let used = statements.variables().into_iter();
            let parameters: Vec<Variable> = used.filter(|name| !made.contains(name)).collect();
            later.extend(&parameters);
            parts.push(function(statements, &parameters, &results, &types, hints));
        }
        parts.into_iter().rev().collect()
    }
}

impl Binding {
    fn variable(&self) -> Variable {
        variable(self.id)
    }

    fn statement(&self) -> Code {
        let (name, expression) = (variable(self.id), &self.expression);
        code!(let #name = #expression;)
    }
}

/// Name of the functions of a split constructor. No variable has it.
const CALL: &str = "__part";

/// Returns `let results = { fn part(weights, parameters) -> .. { statements results } part(weights, parameters) };`.
fn function(
    statements: Code,
    parameters: &[Variable],
    results: &[Variable],
    types: &BTreeMap<Variable, &Code>,
    hints: &BTreeMap<Variable, Hint>,
) -> Code {
    let all = |names: &[Variable]| -> Vec<(Variable, Code)> {
        let typed = |name: &Variable| types.get(name).map(|ty| (*name, (*ty).clone()));
        names.iter().filter_map(typed).collect()
    };
    let (arguments, types): (Vec<_>, Vec<_>) = all(parameters).into_iter().unzip();
    let (results, returns): (Vec<_>, Vec<_>) = all(results).into_iter().unzip();
    let body = code!(#statements (#(#results),*));
    let body = owned(&body);
    let weights = body.uses_weights();
    let wanted = parameters.iter().map(|variable| {
        let hint = hints.get(variable).map(|hint| hint.name.clone());
        (*variable, hint.unwrap_or_default())
    });
    let wanted: Vec<(Variable, String)> = wanted.collect();
    let mut namer = Namer::new(&body, &wanted, &[], hints);
    let names = parameters.iter().map(|variable| format_ident!("{}", namer.name(*variable)));
    let parameters = names.zip(&types).map(|(name, ty)| code!(#name: #ty));
    let parameters: Vec<Code> = parameters.collect();
    let (call, body) = (format_ident!("{CALL}"), namer.rename(&body));
    let (parameter, argument) = if weights {
        (code!(weights: &Weights<'_>,), code!(weights,))
    } else {
        (Code::default(), Code::default())
    };
    code! {
        let (#(#results),*) = {
            #[inline(never)]
            fn #call(#parameter #(#parameters),*) -> (#(#returns),*) {
                #body
            }
            #call(#argument #(#arguments),*)
        };
    }
}

impl Layer {
    /// Returns the body of a constructor. `further` contains fields that are not in the list.
    pub fn load(&self, further: Code, hints: &BTreeMap<Variable, Hint>) -> Code {
        let fields = self.fields.iter().map(|field| {
            let (name, load) = (format_ident!("{}", field.name), &field.load);
            code!(#name: #load,)
        });
        let fields = code!(Self { #(#fields)* #further });
        if self.bindings.list.is_empty() {
            return fields;
        }
        let bound = self.bindings.list.iter().map(Binding::variable);
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
