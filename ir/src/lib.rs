//! The compiler of onnx-embed: ONNX bytes in, Rust tokens out.

#![deny(unsafe_code)]
#![recursion_limit = "512"]

pub mod attributes;
pub mod diagnostics;
pub mod diff;
pub mod dim;
pub mod dtype;
pub mod elements;
pub mod emit;
pub mod files;
pub mod graph;
pub mod infer;
pub mod inspect;
mod labels;
pub mod metadata;
pub mod model;
mod names;
mod operator;
pub mod ops;
pub mod options;
mod parameters;
pub mod passes;
pub mod print;
pub mod proto;
pub mod read;
pub mod rust;
mod separate;
#[cfg(test)]
mod testing;
pub mod text;
pub mod types;
pub mod weight;

use std::borrow::Borrow;
use std::path::Path;

use bytes::Bytes;
use proc_macro2::TokenStream;

use diagnostics::Diagnostics;
use emit::Item;
use model::Model;
use options::Options;
use passes::Step;
use read::Untyped;
use rust::Code;
use types::Type;

/// Compiles the model at `path` into a Rust module.
pub fn compile(path: &Path, item: &Item, options: &Options) -> Result<TokenStream, Diagnostics> {
    code(load(path, options)?, item, options)
}

/// Emits a loaded model as a Rust module. A model that is passed by value is dropped before the tokens are created.
pub fn code(model: impl Borrow<Model>, item: &Item, options: &Options) -> Result<TokenStream, Diagnostics> {
    let code = tree(model.borrow(), item, options)?;
    drop(model);
    Ok(code.into_tokens())
}

/// Returns the problems that [`code`] reports for a loaded model.
pub fn check(model: &Model, item: &Item, options: &Options) -> Result<(), Diagnostics> {
    tree(model, item, options).map(drop)
}

/// Emits a loaded model as a Rust module without creating tokens.
pub fn tree(model: &Model, item: &Item, options: &Options) -> Result<Code, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    diagnostics.set_facts(model.facts.to_string());
    let code = emit::module(model, item, options, &mut diagnostics);
    if diagnostics.is_empty() { Ok(code) } else { Err(diagnostics) }
}

/// Loads the model at `path`, inferred and simplified.
pub fn load(path: &Path, options: &Options) -> Result<Model, Diagnostics> {
    prepare(read::read(path, options)?, options, &mut |_| ())
}

/// Loads a model like [`load`], also from ONNX's text syntax. `observe` is called with the graph that was read, even if
/// it has problems, and after each pass.
pub fn load_observed(
    path: &Path,
    options: &Options,
    observe: &mut dyn FnMut(Step<'_>),
) -> Result<Model, Diagnostics> {
    prepare(inspect::read(path, options)?, options, observe)
}

/// Loads a model from memory, inferred and simplified. It cannot have external data.
pub fn load_bytes(bytes: Bytes, options: &Options) -> Result<Model, Diagnostics> {
    prepare(read::read_bytes(bytes, options)?, options, &mut |_| ())
}

fn prepare(
    untyped: Untyped,
    options: &Options,
    observe: &mut dyn FnMut(Step<'_>),
) -> Result<Model, Diagnostics> {
    let (mut model, problems) = solved(untyped, options);
    observe(Step { name: "read", graph: &model.graph, rules: None });
    if !problems.is_empty() {
        return Err(problems);
    }
    passes::run(&mut model.graph, &mut model.names, options, observe);
    Ok(model)
}

/// Infers the types of all values, if necessary with fewer or more dynamic sizes than the file specifies. Otherwise
/// returns the problems that exist for all sizes.
fn solved(untyped: Untyped, options: &Options) -> (Model, Diagnostics) {
    let (model, problems, with_sizes) = inferred(&untyped, options);
    if problems.is_empty() {
        let problems = untyped.contradictions(&model, with_sizes);
        return (model, problems);
    }
    (model, problems)
}

/// Infers like [`solved`], without checking declared types. The flag is `true` if the sizes are those of the file.
fn inferred(untyped: &Untyped, options: &Options) -> (Model, Diagnostics, bool) {
    let chosen = options.dims.is_empty() && options.inputs.is_empty();
    let (model, problems) = untyped.typed(options);
    let ones = if !problems.is_empty() {
        problems.ones()
    } else if contradicts(&model) {
        model.names.doubted().map(|name| name.to_string()).collect()
    } else {
        Vec::new()
    };
    let better = with_ones(untyped, options, ones);
    let better = better.filter(|better| !problems.is_empty() || !contradicts(better));
    if let Some(better) = better {
        return (better, Diagnostics::default(), false);
    }
    let typed = |options: &Options| {
        let (model, problems) = untyped.typed(options);
        problems.is_empty().then_some(model)
    };
    if problems.is_empty() {
        return (separate::separate(model, options, typed), problems, chosen);
    }
    match separate::separate_all(&model, options, typed) {
        Some(model) => (model, Diagnostics::default(), chosen),
        None => (model, problems, chosen),
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

/// Fixes these sizes to 1, and further ones as long as there are no other problems: if ranks depend on sizes, exporters
/// write the model for the sizes that they observed.
fn with_ones(untyped: &Untyped, options: &Options, names: Vec<String>) -> Option<Model> {
    let mut options = options.clone();
    let before = options.dims.len();
    options.dims.extend(names.into_iter().map(|name| (name, 1)));
    if options.dims.len() == before {
        return None;
    }
    let (model, problems) = untyped.typed(&options);
    if problems.is_empty() { Some(model) } else { with_ones(untyped, &options, problems.ones()) }
}
