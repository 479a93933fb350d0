//! Computed constants that a constructor binds to variables.

use std::collections::{BTreeMap, BTreeSet};

use quote::format_ident;

use super::ownership::owned;
use super::variables::{Hint, Namer, variable};
use crate::graph::ValueId;
use crate::rust::{Code, Variable, code};

/// Maximum number of bindings in a constructor. Longer ones are split, like functions.
const MAX_BINDINGS: usize = 96;
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

impl Bindings {
    /// Returns `true` if a value is bound to a variable.
    pub fn has(&self, id: ValueId) -> bool {
        self.ids.contains(&id)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn variables(&self) -> impl Iterator<Item = Variable> {
        self.list.iter().map(Binding::variable)
    }

    pub fn expressions(&self) -> impl Iterator<Item = &Code> {
        self.list.iter().map(|binding| &binding.expression)
    }

    pub fn add(&mut self, id: ValueId, ty: Code, expression: Code) {
        if self.ids.insert(id) {
            self.list.push(Binding { id, ty, expression });
        }
    }

    /// Returns the statements before `fields`. Long lists are split into functions.
    pub fn statements(&self, fields: &Code, hints: &BTreeMap<Variable, Hint>) -> Code {
        if self.list.len() <= MAX_BINDINGS {
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
