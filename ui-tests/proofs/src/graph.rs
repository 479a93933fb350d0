//! Graphs as data.

use std::collections::BTreeSet;

use onnx_embed_ir::attributes::Attribute;
use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::elements::Sources;
use onnx_embed_ir::graph::{Graph, Node, Value, ValueId, Values};
use onnx_embed_ir::types::{Known, Type};

use crate::json;

/// Returns a graph in JSON: inputs, constants, nodes and outputs, each value as a number. Constants that were not consulted
/// are free.
pub fn record(graph: &Graph, sources: &Sources) -> String {
    let body = &graph.body;
    let mut constants =
        Constants { values: &graph.values, sources, seen: BTreeSet::new(), lines: Vec::new() };
    let used = body.nodes.iter().flat_map(|node| node.inputs.iter().flatten());
    for &id in used.chain(&body.outputs) {
        constants.add(id);
    }
    let inputs: Vec<String> = body.inputs.iter().map(|&id| value(&graph.values, id)).collect();
    let nodes: Vec<String> = body.nodes.iter().map(|at| node(&graph.values, at)).collect();
    json::object(&[
        ("inputs", json::list(&inputs)),
        ("constants", json::list(&constants.lines)),
        ("nodes", json::list(&nodes)),
        ("outputs", ids(body.outputs.iter().map(|&id| Some(id)))),
    ])
}

struct Constants<'g> {
    values: &'g Values,
    sources: &'g Sources,
    seen: BTreeSet<u32>,
    lines: Vec<String>,
}

impl Constants<'_> {
    /// Adds a constant after those from which it is computed.
    fn add(&mut self, id: ValueId) {
        let found = &self.values[id];
        if !self.seen.insert(id.number()) {
            return;
        }
        if let Some(maker) = &found.maker {
            for &input in maker.inputs.iter().flatten() {
                self.add(input);
            }
            self.lines.push(node(self.values, maker));
        } else if found.weight.is_some() || found.known.is_some() {
            let elements = found.known.peek().cloned();
            let elements = elements.or_else(|| found.weight.as_ref()?.elements());
            // The code depends on no element of it.
            let is_free = found
                .weight
                .as_ref()
                .is_some_and(|weight| found.parameter && !self.sources.is_consulted(weight));
            let dtype = found.ty.as_ref().and_then(Type::as_tensor).map(|tensor| tensor.dtype);
            let known =
                elements.as_ref().map_or_else(|| "null".to_owned(), |known| self::known(known, dtype));
            let line = [
                ("value", value(self.values, id)),
                ("name", json::text(&found.name)),
                ("free", is_free.to_string()),
                ("elements", known),
            ];
            self.lines.push(json::object(&line));
        }
    }
}

/// Returns the number of a value with its element type and its sizes.
fn value(values: &Values, id: ValueId) -> String {
    let Value { ty, name, .. } = &values[id];
    let (dtype, shape) = match ty {
        Some(Type::Tensor(tensor)) => {
            let sizes: Vec<String> = tensor.shape.iter().map(|size| json::text(&size.to_string())).collect();
            (tensor.dtype.name(), json::list(&sizes))
        }
        _ => ("", "null".to_owned()),
    };
    json::object(&[
        ("id", id.number().to_string()),
        ("name", json::text(name)),
        ("dtype", json::text(dtype)),
        ("shape", shape),
    ])
}

fn node(values: &Values, node: &Node) -> String {
    let results: Vec<String> =
        node.outputs.iter().map(|id| id.map_or("null".into(), |id| value(values, id))).collect();
    json::object(&[
        ("operator", json::text(&node.kind)),
        ("attributes", attribute(&node.operator.attributes())),
        ("inputs", ids(node.inputs.iter().copied())),
        ("results", json::list(&results)),
    ])
}

fn ids(all: impl Iterator<Item = Option<ValueId>>) -> String {
    let ids: Vec<String> = all.map(|id| id.map_or("null".into(), |id| id.number().to_string())).collect();
    json::list(&ids)
}

fn known(known: &Known, dtype: Option<DType>) -> String {
    let all: Vec<String> = match known {
        Known::Ints(all) => all.iter().map(|dim| json::text(&dim.to_string())).collect(),
        Known::Floats(all) if dtype == Some(DType::F32) => {
            all.iter().map(|&number| json::text(&format!("{:?}", number as f32))).collect()
        }
        Known::Floats(all) => all.iter().map(|number| json::text(&format!("{number:?}"))).collect(),
        Known::Bools(all) => all.iter().map(bool::to_string).collect(),
        Known::Strings(all) => all.iter().map(|text| json::text(text)).collect(),
    };
    json::list(&all)
}

fn attribute(attribute: &Attribute) -> String {
    match attribute {
        Attribute::Nothing => "null".into(),
        Attribute::Flag(flag) => flag.to_string(),
        Attribute::Int(number) => number.to_string(),
        Attribute::Kept(input) => input.to_string(),
        Attribute::Single(bits) => json::text(&format!("{:?}", f32::from_bits(*bits))),
        Attribute::Double(bits) => json::text(&format!("{:?}", f64::from_bits(*bits))),
        Attribute::Size(size) => json::text(&size.to_string()),
        Attribute::Type(dtype) => json::text(dtype.name()),
        Attribute::Letter(letter) => json::text(&letter.to_string()),
        Attribute::Word(word) => json::text(word),
        Attribute::Text(inner) => json::text(inner),
        Attribute::List(items) => json::list(&items.iter().map(self::attribute).collect::<Vec<_>>()),
        Attribute::Fields(name, fields) => {
            let unnamed = fields.iter().all(|(name, _)| name.is_empty());
            let items: Vec<String> = fields.iter().map(|(_, field)| self::attribute(field)).collect();
            let named: Vec<_> =
                fields.iter().zip(items.clone()).map(|((name, _), item)| (*name, item)).collect();
            match (unnamed, fields.is_empty()) {
                (_, true) => json::text(name),
                (true, _) => json::object(&[(name, json::list(&items))]),
                _ => json::object(&named),
            }
        }
        Attribute::Row(row) => match &**row {
            // The name of the function, which distinguishes variants of an operator.
            Attribute::Fields(_, fields) => {
                let named = fields.iter().find(|(name, _)| ["name", "device"].contains(name));
                named.map_or_else(|| "null".into(), |(_, field)| self::attribute(field))
            }
            _ => "null".into(),
        },
    }
}
