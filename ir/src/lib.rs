//! The compiler of onnx-embed: ONNX bytes in, Rust tokens out.

#![deny(unsafe_code)]

pub mod attributes;
pub mod diagnostics;
pub mod dim;
pub mod dtype;
pub mod emit;
pub mod graph;
pub mod infer;
pub mod inspect;
pub mod ops;
pub mod options;
pub mod passes;
pub mod print;
pub mod proto;
pub mod read;
#[cfg(test)]
mod testing;
pub mod text;
pub mod types;
pub mod weight;

use std::path::Path;

use bytes::Bytes;
use proc_macro2::TokenStream;

use diagnostics::Diagnostics;
use emit::Item;
use graph::Graph;
use options::Options;
use read::Model;

/// The model at `path` as a Rust module.
pub fn compile(path: &Path, item: &Item, options: &Options) -> Result<TokenStream, Diagnostics> {
    code(&load(path, options)?, item, options)
}

/// A loaded model as a Rust module.
pub fn code(model: &Model, item: &Item, options: &Options) -> Result<TokenStream, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    diagnostics.set_facts(model.facts.to_string());
    let tokens = emit::module(model, item, options, &mut diagnostics);
    match diagnostics.is_empty() {
        true => Ok(tokens),
        false => Err(diagnostics),
    }
}

/// The model at `path`, inferred and simplified.
pub fn load(path: &Path, options: &Options) -> Result<Model, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let model = read::read(path, options, &mut diagnostics);
    prepare(model, diagnostics, &mut |_, _| ())
}

/// As [`load`], also from ONNX's text syntax; `observe` sees the graph as it was read, problems or
/// not, and after each pass.
pub fn load_observed(
    path: &Path,
    options: &Options,
    observe: &mut dyn FnMut(&str, &Graph),
) -> Result<Model, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let model = inspect::read(path, options, &mut diagnostics);
    prepare(model, diagnostics, observe)
}

/// A model in memory, inferred and simplified; it can have no external data.
pub fn load_bytes(bytes: Bytes, options: &Options) -> Result<Model, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let model = read::read_bytes(bytes, options, &mut diagnostics);
    prepare(model, diagnostics, &mut |_, _| ())
}

fn prepare(
    model: Option<Model>,
    mut diagnostics: Diagnostics,
    observe: &mut dyn FnMut(&str, &Graph),
) -> Result<Model, Diagnostics> {
    let Some(mut model) = model else {
        return Err(diagnostics);
    };
    infer::infer(&mut model.graph, &mut model.names, &mut diagnostics);
    observe("read", &model.graph);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    passes::run(&mut model.graph, observe);
    Ok(model)
}
