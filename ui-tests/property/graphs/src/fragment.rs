//! Graphs as parts of other graphs.

use onnx_embed_ir::passes::rules;
use onnx_embed_ir::proto::{
    AttributeProto, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorType, TypeProto, TypeValue, ValueInfoProto,
};
use onnx_embed_ir::text;

/// Opset of the examples of rules.
pub const NEWEST: i64 = 25;

/// Parses a graph in ONNX's text syntax without its name.
///
/// # Panics
///
/// If the text is invalid.
pub fn parse(graph: &str) -> GraphProto {
    let text = format!("<ir_version: 10, opset_import: [\"\": {NEWEST}]> g {graph}");
    let model = text::model(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    model.graph.expect("the text is that of a graph")
}

/// Returns the examples of all rules.
pub fn examples() -> Vec<GraphProto> {
    rules::all().map(|rule| parse(rule.example)).collect()
}

/// Returns a model with the graph.
pub fn model(graph: &GraphProto, opset: i64) -> ModelProto {
    let import =
        |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version: Some(version) };
    ModelProto {
        ir_version: Some(10),
        opset_import: vec![import("", opset), import("com.microsoft", 1)],
        graph: Some(graph.clone()),
        ..ModelProto::default()
    }
}

/// Renames all values, also those in nested graphs.
pub fn rename(graph: &mut GraphProto, name: &dyn Fn(&str) -> String) {
    let values = graph.input.iter_mut().chain(&mut graph.output);
    for value in values.chain(&mut graph.value_info) {
        value.name = name(&value.name);
    }
    for tensor in &mut graph.initializer {
        tensor.name = name(&tensor.name);
    }
    for node in &mut graph.node {
        let values = node.input.iter_mut().chain(&mut node.output);
        for value in values.filter(|value| !value.is_empty()) {
            *value = name(value);
        }
        for inner in node.attribute.iter_mut().filter_map(nested) {
            rename(inner, name);
        }
    }
}

/// Returns the nested graph of an attribute.
fn nested(attribute: &mut AttributeProto) -> Option<&mut GraphProto> {
    attribute.g.as_deref_mut()
}

/// Returns all names that a node reads, including those in its nested graphs.
pub fn reads(node: &NodeProto) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).collect();
    for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()) {
        names.extend(graph.node.iter().flat_map(reads));
        names.extend(graph.output.iter().map(|value| value.name.as_str()));
    }
    names
}

/// Returns the element type and the sizes of an input, if it is a tensor.
pub fn tensor(value: &mut ValueInfoProto) -> Option<(&mut i32, &mut Vec<Dimension>)> {
    match value.r#type.as_mut()?.value.as_mut()? {
        TypeValue::Tensor(TensorType { elem_type, shape }) => {
            Some((elem_type, &mut shape.get_or_insert_default().dim))
        }
        _ => None,
    }
}

/// Returns an input of a graph.
pub fn input(name: &str, dtype: i32, sizes: Vec<DimensionValue>) -> ValueInfoProto {
    let dim = sizes.into_iter().map(|value| Dimension { value: Some(value), ..Dimension::default() });
    let mut info = output(name);
    info.r#type = Some(TypeProto {
        value: Some(TypeValue::Tensor(TensorType {
            elem_type: dtype,
            shape: Some(onnx_embed_ir::proto::TensorShapeProto { dim: dim.collect() }),
        })),
        ..TypeProto::default()
    });
    info
}

/// Returns an output of a graph. Its type is inferred.
pub fn output(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: name.to_owned(), ..ValueInfoProto::default() }
}
