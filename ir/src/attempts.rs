//! Attempts to type a model: with the sizes of the file, then with other ones.
//!
//! Each attempt types a copy of the graph once. An attempt is made for one of these reasons:
//!
//! 1. The sizes of the file, or those of the options.
//! 2. Operators have no type unless some named sizes are 1, or an output has another rank than the file declares.
//!    Exporters write a graph for the sizes that they observed, so such sizes are fixed to 1.
//! 3. The model has a type, but several sizes have one name, which need not be equal (`separate`).
//! 4. The model has no type, perhaps because sizes with one name differ: each size gets a name of its own.

use crate::diagnostics::Diagnostics;
use crate::model::Model;
use crate::options::Options;
use crate::read::Untyped;
use crate::separate;
use crate::types::Type;

/// Types all values of a model. If no attempt succeeds, the problems are those of the first one.
pub fn typed(untyped: &Untyped, options: &Options) -> (Model, Diagnostics) {
    let (first, problems) = untyped.typed(options);
    if let Some(model) = with_ones(untyped, options, &first, &problems) {
        return checked(untyped, model, false);
    }
    let attempt = |options: &Options| succeeded(untyped.typed(options));
    // Declared sizes are not checked if the caller chose other ones.
    let is_as_declared = options.dims.is_empty() && options.inputs.is_empty();
    if problems.is_empty() {
        return checked(untyped, separate::separate(first, options, attempt), is_as_declared);
    }
    match separate::separate_all(&first, options, attempt) {
        Some(model) => checked(untyped, model, is_as_declared),
        None => (first, problems),
    }
}

/// Returns a typed model, with the problem that it contradicts declared types, if it does.
fn checked(untyped: &Untyped, model: Model, is_as_declared: bool) -> (Model, Diagnostics) {
    let problems = untyped.contradictions(&model, is_as_declared);
    (model, problems)
}

fn succeeded((model, problems): (Model, Diagnostics)) -> Option<Model> {
    problems.is_empty().then_some(model)
}

/// Returns the model with sizes fixed to 1, if the first attempt suggests which ones, and if that helps.
fn with_ones(untyped: &Untyped, options: &Options, first: &Model, problems: &Diagnostics) -> Option<Model> {
    if !problems.is_empty() {
        return fixed(untyped, options, problems.ones());
    }
    if !contradicts(first) {
        return None;
    }
    let names = first.names.doubted().map(|name| name.to_string());
    fixed(untyped, options, names.collect()).filter(|model| !contradicts(model))
}

/// Fixes these sizes to 1, and further ones that the next problems name, until no problem is left.
fn fixed(untyped: &Untyped, options: &Options, mut names: Vec<String>) -> Option<Model> {
    let mut options = options.clone();
    loop {
        let before = options.dims.len();
        options.dims.extend(names.into_iter().map(|name| (name, 1)));
        if options.dims.len() == before {
            return None;
        }
        let (model, problems) = untyped.typed(&options);
        if problems.is_empty() {
            return Some(model);
        }
        names = problems.ones();
    }
}

/// Returns `true` if the rank of an output differs from the declared one.
fn contradicts(model: &Model) -> bool {
    let outputs = model.graph.body.outputs.iter().zip(&model.facts.ranks);
    outputs.into_iter().any(|(&id, declared)| {
        let found = model.graph.values[id].ty.as_ref().and_then(Type::as_tensor);
        found.is_some_and(|found| declared.is_some_and(|rank| rank != found.rank()))
    })
}
