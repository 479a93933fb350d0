//! Which operators at which versions have a case of our own.

use std::collections::BTreeSet;
use std::path::Path;

use onnx_embed_ir::ops;
use onnx_embed_ir::proto::{GraphProto, ModelProto};
use prost::Message;

use crate::Outcome;

/// Domain, name and version of an operator.
pub type Used = (String, String, i64);

/// What the cases leave out.
pub struct Missing {
    pub operators: Vec<String>,
    /// All versions of all operators.
    pub versions: usize,
}

/// Operators at versions without a case that passes.
pub fn missing(outcomes: &[Outcome]) -> Missing {
    let passed = outcomes.iter().filter(|outcome| outcome.result.is_ok());
    let covered: BTreeSet<&Used> = passed.flat_map(|outcome| &outcome.operators).collect();
    let mut missing = Missing {
        operators: Vec::new(),
        versions: 0,
    };
    for row in ops::all() {
        for &version in row.since {
            missing.versions += 1;
            let wanted = (row.domain.to_owned(), row.name.to_owned(), version);
            if !covered.contains(&wanted) {
                let domain = if row.domain.is_empty() { "" } else { "." };
                let name = format!("{}{domain}{} version {version}", row.domain, row.name);
                missing.operators.push(name);
            }
        }
    }
    missing.operators.sort();
    missing
}

/// The operators of a model, at the versions that its imports select.
pub fn used(model: &Path) -> Vec<Used> {
    let bytes = std::fs::read(model).expect("the build script wrote it");
    let model = ModelProto::decode(bytes.as_slice()).expect("it compiled");
    let opset = |domain: &str| {
        let mut imports = model.opset_import.iter();
        let import = imports.find(|import| import.domain == domain);
        import.and_then(|import| import.version).unwrap_or(1)
    };
    let mut all = Vec::new();
    if let Some(graph) = &model.graph {
        walk(graph, &opset, &mut all);
    }
    all
}

fn walk(graph: &GraphProto, opset: &dyn Fn(&str) -> i64, all: &mut Vec<Used>) {
    for node in &graph.node {
        let domain = node.domain.as_str();
        if let Some((row, Some(version))) = ops::find(domain, &node.op_type, opset(domain)) {
            all.push((row.domain.to_owned(), row.name.to_owned(), version));
        }
        for inner in node.attribute.iter().filter_map(|held| held.g.as_ref()) {
            walk(inner, opset, all);
        }
    }
}
