//! Coverage of operator versions by our own cases.

use std::collections::BTreeSet;
use std::path::Path;

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::ops;
use onnx_embed_ir::proto::{GraphProto, ModelProto, TypeProto, TypeValue};
use prost::Message;

use crate::Outcome;
use crate::case::Origin;

/// Domain, name and version of an operator.
pub type Used = (String, String, i64);

/// Operator versions without a case of our own.
pub struct Missing {
    pub operators: Vec<String>,
    /// Number of versions of all operators.
    pub versions: usize,
}

/// Returns the operator versions without a case of our own that passes.
pub fn missing(outcomes: &[Outcome]) -> Missing {
    let own = outcomes.iter().filter(|outcome| outcome.origin == Origin::Own);
    let passed = own.filter(|outcome| outcome.result.is_ok());
    let covered: BTreeSet<&Used> = passed.flat_map(|outcome| &outcome.operators).collect();
    let mut missing = Missing { operators: Vec::new(), versions: 0 };
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

/// Every operator of the standard at every version that changed it, written by `schemas.py`.
const STANDARD: &str = include_str!("../../schemas.txt");

/// Returns the number of operator versions in the standard, and the versions that are not supported.
pub fn absent() -> (usize, Vec<String>) {
    let mut absent = Vec::new();
    let mut count = 0;
    for line in STANDARD.lines().filter(|line| !line.ends_with(" deprecated")) {
        let mut words = line.split(' ');
        let [domain, name, version] =
            [words.next(), words.next(), words.next()].map(Option::unwrap_or_default);
        let row_domain = if domain == "ai.onnx" { "" } else { domain };
        let row = ops::all().find(|row| row.domain == row_domain && row.name == name);
        let since = row.map(|row| row.since).unwrap_or_default();
        count += 1;
        if version.parse().is_ok_and(|version| !since.contains(&version)) {
            absent.push(format!("{domain}.{name} version {version}"));
        }
    }
    (count, absent)
}

/// Returns the operators of a model at the versions that its imports select, and the element types of its inputs and
/// outputs.
pub fn used(model: &Path) -> (Vec<Used>, Vec<DType>) {
    let bytes = std::fs::read(model).expect("the build script wrote it");
    let model = ModelProto::decode(bytes.as_slice()).expect("it compiled");
    let opset = |domain: &str| {
        let mut imports = model.opset_import.iter();
        let import = imports.find(|import| import.domain == domain);
        import.and_then(|import| import.version).unwrap_or(1)
    };
    let (mut all, mut types) = (Vec::new(), Vec::new());
    if let Some(graph) = &model.graph {
        walk(graph, &opset, &mut all);
        for info in graph.input.iter().chain(&graph.output) {
            types.extend(info.r#type.as_ref().and_then(|ty| element(ty.value.as_ref()?)));
        }
    }
    (all, types)
}

fn element(ty: &TypeValue) -> Option<DType> {
    let inner = |item: &Option<Box<TypeProto>>| element(item.as_ref()?.value.as_ref()?);
    match ty {
        TypeValue::Tensor(tensor) => DType::from_onnx(tensor.elem_type),
        TypeValue::Sequence(sequence) => inner(&sequence.elem_type),
        TypeValue::Optional(optional) => inner(&optional.elem_type),
        TypeValue::Map(map) => inner(&map.value_type),
        _ => None,
    }
}

fn walk(graph: &GraphProto, opset: &dyn Fn(&str) -> i64, all: &mut Vec<Used>) {
    for node in &graph.node {
        let domain = node.domain.as_str();
        if let Some((row, Some(version))) = ops::find(domain, &node.op_type, opset(domain)) {
            all.push((row.domain.to_owned(), row.name.to_owned(), version));
        }
        for inner in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            walk(inner, opset, all);
        }
    }
}
