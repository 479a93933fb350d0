//! Compilation of a graph.

use std::collections::BTreeMap;

use onnx_embed_ir::emit::Item;
use onnx_embed_ir::graph::Node;
use onnx_embed_ir::options::Options;
use onnx_embed_ir::proto::GraphProto;
use onnx_embed_ir::types::TensorType;
use prost::Message;

use crate::fragment::model;

/// Returns the types of all values by name, or `None` if the graph does not compile, contains other values than
/// tensors of numbers, or computes values that vary from run to run.
pub fn types(graph: &GraphProto, opset: i64) -> Option<BTreeMap<String, TensorType>> {
    let bytes = model(graph, opset).encode_to_vec();
    let loaded = onnx_embed_ir::load_bytes(bytes.into(), &options(false)).ok()?;
    let nodes = loaded.graph.body.nodes.iter();
    // Without a third input, Dropout drops nothing.
    let repeats =
        |node: &Node| node.operator.is_pure() || (&*node.kind == "Dropout" && node.input(2).is_none());
    if !nodes.into_iter().all(repeats) {
        return None;
    }
    onnx_embed_ir::code(&loaded, &item(), &options(false)).ok()?;
    let mut types = BTreeMap::new();
    for (_, value) in loaded.graph.values.iter() {
        let Some(ty) = &value.ty else { continue };
        types.insert(value.name.clone(), ty.as_tensor()?.clone());
    }
    Some(types)
}

/// Returns the code of a graph, or the errors of the compiler.
pub fn code(graph: &GraphProto, opset: i64, simplify: bool) -> Result<String, String> {
    let options = options(simplify);
    let bytes = model(graph, opset).encode_to_vec();
    let report = |problems: onnx_embed_ir::diagnostics::Diagnostics| problems.report("graph");
    let loaded = onnx_embed_ir::load_bytes(bytes.into(), &options).map_err(report)?;
    let tokens = onnx_embed_ir::code(&loaded, &item(), &options).map_err(report)?;
    Ok(tokens.to_string())
}

fn item() -> Item {
    Item::model("model.onnx")
}

fn options(simplify: bool) -> Options {
    Options { simplify, ..Options::default() }
}
