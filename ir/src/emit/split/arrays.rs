//! Equal modules of a list, as an array.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use proc_macro2::Literal;

use crate::emit::body::Statement;
use crate::emit::layer::Field;
use crate::emit::{Context, Layer, snake, variable};
use crate::graph::ValueId;
use crate::rust::{Code, CodeNode, Variable, code};

/// An array of the struct.
struct Joined {
    name: String,
    /// Name of the variable of a loop.
    element: Rc<str>,
    /// Names of the fields that were the elements.
    elements: Vec<String>,
}

/// Joins the fields of consecutive modules of a list, if they have one type, to an array. Calls that pass a value
/// through all its elements become a loop. `outputs` are used after the statements, which are those of the whole struct.
pub fn join(
    statements: Vec<Statement>,
    outputs: &[ValueId],
    layer: &mut Layer,
    cx: &mut Context<'_>,
) -> Vec<Statement> {
    let list = |field: &Field| field.place.as_ref().map(|place| place.list.clone());
    let lists: Vec<Option<Vec<String>>> = layer.fields.iter().map(list).collect();
    let is_whole = |run: &[Field]| {
        let of = run.first().and_then(list);
        lists.iter().filter(|list| **list == of).count() == run.len()
    };
    let runs = runs(&layer.fields).into_iter();
    let arrays: Vec<Joined> = runs.filter_map(|run| joined(&run, is_whole(&run), layer, cx)).collect();
    arrays.iter().fold(statements, |statements, array| {
        let statements = looped(statements, array, outputs, cx);
        statements.into_iter().map(|statement| array.indexed(statement)).collect()
    })
}

/// Returns the fields of each list of modules with one type and consecutive numbers.
fn runs(fields: &[Field]) -> Vec<Vec<Field>> {
    let mut lists: Vec<Vec<(usize, &Field)>> = Vec::new();
    for field in fields {
        let Some(place) = &field.place else {
            continue;
        };
        let is_alike = |list: &&mut Vec<(usize, &Field)>| {
            let first = list.first().map(|(_, first)| *first);
            let place_of = |field: &Field| field.place.as_ref().map(|place| place.list.clone());
            first.is_some_and(|first| first.ty == field.ty && place_of(first).as_ref() == Some(&place.list))
        };
        match lists.iter_mut().find(is_alike) {
            Some(list) => list.push((place.number, field)),
            None => lists.push(vec![(place.number, field)]),
        }
    }
    let runs = lists.into_iter().flat_map(|mut list| {
        list.sort_by_key(|(number, _)| *number);
        let consecutive = |a: &(usize, &Field), b: &(usize, &Field)| b.0.checked_sub(a.0) == Some(1);
        let runs = list.chunk_by(consecutive).filter(|run| run.len() > 1);
        runs.map(|run| run.iter().map(|(_, field)| (*field).clone()).collect()).collect::<Vec<_>>()
    });
    runs.collect()
}

fn joined(run: &[Field], is_whole: bool, layer: &mut Layer, cx: &mut Context<'_>) -> Option<Joined> {
    let list = run.first()?.place.as_ref()?.word();
    let loads: Vec<&Code> = run.iter().map(|field| &field.load).collect();
    let load = cx.structs.array(list, &loads);
    let name = layer.join(run, is_whole, load)?;
    let elements = run.iter().map(|field| field.name.clone()).collect();
    Some(Joined { name, element: element(list, cx), elements })
}

/// Returns the name of the variable of a loop over a list: `layer` for `layers`. Inputs of the model have other names.
fn element(list: &str, cx: &Context<'_>) -> Rc<str> {
    let list = snake(list);
    let stem = list.strip_suffix('s').unwrap_or(&list);
    let mut name = snake(if stem.len() > 1 { stem } else { "layer" });
    while name == "device" || cx.inputs.values().any(|taken| *taken == name) {
        name.push('_');
    }
    name.into()
}

/// A call of an element with one result.
struct Call {
    result: Variable,
    arguments: Vec<Code>,
}

/// Replaces calls of all elements in their order by a loop, if the result of each is the same argument of the next, all
/// other arguments are equal, and no other statement uses the results.
fn looped(
    mut statements: Vec<Statement>,
    array: &Joined,
    outputs: &[ValueId],
    cx: &Context<'_>,
) -> Vec<Statement> {
    let start = statements.iter().position(|statement| array.element(statement) == Some(0));
    let Some((start, chain)) = start.and_then(|start| {
        let chain = statements.get(start..start.checked_add(array.elements.len())?)?;
        Some((start, array.chain(chain, &statements, outputs, cx)?))
    }) else {
        return statements;
    };
    statements.splice(start..start.saturating_add(array.elements.len()), [chain]);
    statements
}

impl Joined {
    /// Returns the index of the element that a statement calls.
    fn element(&self, statement: &Statement) -> Option<usize> {
        match statement.code.parts() {
            [CodeNode::Field(field), CodeNode::Method("forward", _)] => {
                self.elements.iter().position(|name| **name == **field)
            }
            _ => None,
        }
    }

    fn call(&self, statement: &Statement) -> Option<Call> {
        let [CodeNode::Field(_), CodeNode::Method("forward", arguments)] = statement.code.parts() else {
            return None;
        };
        let [Some(result)] = statement.outputs.as_slice() else {
            return None;
        };
        let arguments = arguments.parts().split(|part| *part == CodeNode::Sign(","));
        let arguments = arguments.map(|argument| argument.to_vec().into()).collect();
        let is_plain = statement.sizes.is_empty() && statement.trace.is_empty();
        is_plain.then(|| Call { result: variable(*result), arguments })
    }

    /// Returns the calls as a loop.
    fn chain(
        &self,
        chain: &[Statement],
        statements: &[Statement],
        outputs: &[ValueId],
        cx: &Context<'_>,
    ) -> Option<Statement> {
        let are_in_order = chain.iter().enumerate().all(|(at, call)| self.element(call) == Some(at));
        let calls: Option<Vec<Call>> = chain.iter().map(|statement| self.call(statement)).collect();
        let calls = calls.filter(|_| are_in_order)?;
        let (first, last) = (calls.first()?, calls.last()?);
        // The argument that is the result of the call before.
        let second = calls.get(1)?;
        let passed =
            second.arguments.iter().position(|argument| argument.as_value() == Some(first.result))?;
        let start = first.arguments.get(passed)?;
        let others = |call: &Call| -> Vec<Code> {
            let arguments = call.arguments.iter().enumerate();
            arguments.filter(|(at, _)| *at != passed).map(|(_, argument)| argument.clone()).collect()
        };
        let rest = others(first);
        let follows = |pair: &[Call]| match pair {
            [before, call] => {
                call.arguments.get(passed).and_then(Code::as_value) == Some(before.result)
                    && others(call) == rest
            }
            _ => false,
        };
        if !calls.windows(2).all(follows) || !self.keeps_type(start, chain, cx) {
            return None;
        }
        // Each result in between is used once.
        let all: Code = statements.iter().map(Statement::whole).collect();
        let uses = all.counts();
        let outputs: BTreeSet<Variable> = outputs.iter().map(|&id| variable(id)).collect();
        let between = calls.iter().take(calls.len().saturating_sub(1));
        let mut between = between.map(|call| call.result);
        if !between.all(|result| uses.get(&result) == Some(&1) && !outputs.contains(&result)) {
            return None;
        }
        let element = Code::from(CodeNode::Name(self.element.clone()));
        let (result, field) = (last.result, Code::field(&self.name));
        let arguments = first
            .arguments
            .iter()
            .enumerate()
            .map(|(at, argument)| if at == passed { code!(#result) } else { argument.clone() });
        let arguments: Vec<Code> = arguments.collect();
        let looped = code!(for #element in &#field { #result = #element.forward(#(#arguments),*); });
        let last = chain.last()?.clone();
        Some(Statement { code: start.clone(), looped, ..last })
    }

    /// Returns `true` if all results have the type of the first argument, sizes included.
    fn keeps_type(&self, start: &Code, chain: &[Statement], cx: &Context<'_>) -> bool {
        let Some(start) = start.as_value() else {
            return false;
        };
        let start = cx.values.iter().map(|(id, _)| id).find(|&id| variable(id) == start);
        let Some(start) = start else {
            return false;
        };
        let described = |id: ValueId| (&cx.values[id].ty, cx.lives_on_host(id));
        let mut results = chain.iter().flat_map(|statement| statement.outputs.iter().flatten());
        results.all(|&id| described(id) == described(start))
    }

    /// Replaces the fields that were the elements by elements of the array.
    fn indexed(&self, statement: Statement) -> Statement {
        let elements = self.elements.iter().map(String::as_str).zip(0..);
        let elements: BTreeMap<&str, usize> = elements.collect();
        let code = self.replaced(&statement.code, &elements);
        Statement { code, ..statement }
    }

    fn replaced(&self, code: &Code, elements: &BTreeMap<&str, usize>) -> Code {
        let mut parts = Vec::new();
        for part in code.parts() {
            match part {
                CodeNode::Field(field) if elements.contains_key(&**field) => {
                    let at = elements.get(&**field).copied().unwrap_or_default();
                    let (field, at) = (Code::field(&self.name), Literal::usize_unsuffixed(at));
                    parts.extend_from_slice(code!(#field[#at]).parts());
                }
                part => parts.push(part.with_inside(&mut |inside| self.replaced(inside, elements))),
            }
        }
        parts.into()
    }
}
