//! The compiler of onnx-embed: ONNX bytes in, Rust tokens out.

#![deny(unsafe_code)]
#![recursion_limit = "512"]

mod attempts;
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
pub mod licenses;
pub mod metadata;
pub mod model;
mod names;
mod operands;
mod operator;
pub mod ops;
pub mod options;
mod parameters;
pub mod passes;
pub mod print;
pub mod proto;
pub mod read;
pub mod resave;
pub mod rows;
pub mod rust;
mod separate;
pub mod structure;
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
use passes::CompletedPass;
use read::Untyped;
use rust::Code;

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
    observe: &mut dyn FnMut(CompletedPass<'_>),
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
    observe: &mut dyn FnMut(CompletedPass<'_>),
) -> Result<Model, Diagnostics> {
    let (mut model, problems) = attempts::typed(&untyped, options);
    observe(CompletedPass { name: "read", graph: &model.graph, rules: None });
    if !problems.is_empty() {
        return Err(problems);
    }
    passes::run(&mut model.graph, &mut model.names, options, observe);
    Ok(model)
}
