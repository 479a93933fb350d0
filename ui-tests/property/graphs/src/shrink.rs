//! Derives smaller graphs from a graph.

use std::collections::BTreeMap;

use onnx_embed_ir::proto::{DimensionValue, GraphProto};
use onnx_embed_ir::types::TensorType;

use crate::fragment::{input, output};
use crate::grow::{all_put_out, in_use};
use crate::load;

/// Returns smaller graphs that compile, the smallest first: with a single output, without the nodes that compute a
/// value, or without one node.
pub fn shrink(graph: &GraphProto, opset: i64) -> Vec<GraphProto> {
    let Some(types) = load::types(&all_put_out(graph), opset) else {
        return Vec::new();
    };
    let mut smaller = Vec::new();
    if graph.output.len() > 1 {
        for value in &graph.output {
            smaller.push(GraphProto { output: vec![value.clone()], ..graph.clone() });
        }
    }
    for (at, node) in graph.node.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            smaller.push(GraphProto { output: vec![output(name)], ..graph.clone() });
            smaller.extend(taken(graph, name, &types));
            for input in &node.input {
                if types.get(input).map(|ty| ty.dtype) == types.get(name).map(|ty| ty.dtype) {
                    smaller.push(passed(graph, at, name, input));
                }
            }
        }
    }
    let size = |graph: &GraphProto| (graph.node.len(), graph.output.len(), graph.input.len());
    let mut smaller: Vec<GraphProto> = smaller.into_iter().map(in_use).collect();
    smaller.retain(|candidate| size(candidate) < size(graph) && !candidate.node.is_empty());
    smaller.retain(|candidate| load::types(candidate, opset).is_some());
    smaller.sort_by_key(size);
    smaller.dedup();
    smaller
}

/// Returns the graph with an input in place of a node's output.
fn taken(graph: &GraphProto, name: &str, types: &BTreeMap<String, TensorType>) -> Option<GraphProto> {
    let ty = types.get(name)?;
    let sizes = ty.shape.iter().map(|size| {
        Some(match (size.number(), size.name()) {
            (Some(number), _) => DimensionValue::Value(number),
            (None, Some(name)) => DimensionValue::Name(name.to_string()),
            _ => return None,
        })
    });
    let value = input(name, ty.dtype.number(), sizes.collect::<Option<_>>()?);
    let mut graph = graph.clone();
    graph.node.retain(|node| !node.output.iter().any(|made| made == name));
    graph.output.retain(|output| output.name != name);
    graph.input.push(value);
    (!graph.output.is_empty()).then_some(graph)
}

/// Returns the graph without a node, whose output is replaced by one of its inputs.
fn passed(graph: &GraphProto, at: usize, name: &str, input: &str) -> GraphProto {
    let mut graph = graph.clone();
    graph.node.remove(at);
    for read in graph.node.iter_mut().flat_map(|node| &mut node.input) {
        if read == name {
            input.clone_into(read);
        }
    }
    graph.output.retain(|output| output.name != name);
    if graph.output.is_empty() && graph.node.iter().any(|node| node.output.iter().any(|o| o == input)) {
        graph.output.push(output(input));
    }
    graph
}
