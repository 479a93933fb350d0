//! Copies the records of a model except for what an edit changes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use prost::Message;

use super::Failure;
use super::storage::{self, Data};
use super::wire::{Record, append, records};
use crate::diagnostics::Problem;
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
};

/// Changes of the graphs of a model.
pub(super) trait Edit {
    /// Returns the changes of a graph. Graphs in its nodes follow.
    fn graph(&mut self, graph: &GraphProto) -> Result<Changes, Failure>;

    /// Stores a tensor of an attribute whose elements are in another file.
    fn attribute(&mut self, tensor: &TensorProto) -> Result<Data, Failure>;

    /// Returns the operator set that new nodes need.
    fn opset(&self) -> Option<OperatorSetIdProto>;

    /// Returns the minimum IR version of the copy.
    fn ir_version(&self) -> i64;
}

/// Changes of one graph. Keys are indices of its lists.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub initializers: BTreeMap<usize, Initializer>,
    pub nodes: BTreeMap<usize, Vec<NodeProto>>,
    /// Nodes in front of all others.
    pub first: Vec<NodeProto>,
    /// Names of inputs that the copy lacks.
    pub hidden: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) enum Initializer {
    /// The same tensor, stored in another way.
    Stored(Data),
    /// Other tensors.
    Replaced(Vec<TensorProto>),
}

/// Fields of the messages, see [`crate::proto`].
mod tags {
    pub const MODEL_IR_VERSION: u32 = 1;
    pub const MODEL_GRAPH: u32 = 7;
    pub const MODEL_OPSET: u32 = 8;
    pub const MODEL_FUNCTION: u32 = 25;
    pub const FUNCTION_NODE: u32 = 7;
    pub const GRAPH_NODE: u32 = 1;
    pub const GRAPH_INITIALIZER: u32 = 5;
    pub const GRAPH_INPUT: u32 = 11;
    pub const GRAPH_SPARSE: u32 = 15;
    pub const NODE_ATTRIBUTE: u32 = 5;
    pub const ATTRIBUTE_TENSOR: u32 = 5;
    pub const ATTRIBUTE_GRAPH: u32 = 6;
    pub const ATTRIBUTE_TENSORS: u32 = 10;
    pub const ATTRIBUTE_GRAPHS: u32 = 11;
}

/// Returns the bytes of the changed model.
pub(super) fn copy(file: &Bytes, model: &ModelProto, edit: &mut dyn Edit) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let mut functions = model.functions.iter();
    let all = records(file)?;
    once(&all, tags::MODEL_GRAPH)?;
    for record in &all {
        match (record.tag, &model.graph) {
            (tags::MODEL_GRAPH, Some(of)) => {
                append(tags::MODEL_GRAPH, &graph(&record.content, of, edit)?, &mut body);
            }
            (tags::MODEL_FUNCTION, _) => {
                let of = functions.next().ok_or_else(unlike)?;
                append(tags::MODEL_FUNCTION, &function(&record.content, of, edit)?, &mut body);
            }
            (tags::MODEL_IR_VERSION, _) => {}
            _ => body.extend_from_slice(&record.whole),
        }
    }
    let mut out = Vec::new();
    let version = model.ir_version.unwrap_or_default().max(edit.ir_version());
    prost::encoding::int64::encode(tags::MODEL_IR_VERSION, &version, &mut out);
    out.append(&mut body);
    if let Some(opset) = edit.opset()
        && !model.opset_import.iter().any(|known| known.domain == opset.domain)
    {
        append(tags::MODEL_OPSET, &opset.encode_to_vec(), &mut out);
    }
    Ok(out)
}

fn graph(content: &Bytes, of: &GraphProto, edit: &mut dyn Edit) -> Result<Vec<u8>, Failure> {
    let mut changes = edit.graph(of)?;
    let mut out = Vec::new();
    let (mut nodes, mut initializers, mut inputs) = (0, 0, 0);
    for record in records(content)? {
        match record.tag {
            tags::GRAPH_NODE => {
                for node in changes.first.drain(..) {
                    append(tags::GRAPH_NODE, &node.encode_to_vec(), &mut out);
                }
                match changes.nodes.remove(&nodes) {
                    Some(others) => others
                        .iter()
                        .for_each(|node| append(tags::GRAPH_NODE, &node.encode_to_vec(), &mut out)),
                    None => {
                        let of = of.node.get(nodes).ok_or_else(unlike)?;
                        node(&record, of, edit, &mut out)?;
                    }
                }
                nodes += 1;
            }
            tags::GRAPH_INITIALIZER => {
                match changes.initializers.remove(&initializers) {
                    Some(Initializer::Stored(data)) => {
                        let tensor = storage::with_data(&record.content, &data)?;
                        append(tags::GRAPH_INITIALIZER, &tensor, &mut out);
                    }
                    Some(Initializer::Replaced(others)) => others.iter().for_each(|tensor| {
                        append(tags::GRAPH_INITIALIZER, &tensor.encode_to_vec(), &mut out)
                    }),
                    None => out.extend_from_slice(&record.whole),
                }
                initializers += 1;
            }
            tags::GRAPH_INPUT => {
                let name = of.input.get(inputs).map(|input| &input.name);
                if !name.is_some_and(|name| changes.hidden.contains(name)) {
                    out.extend_from_slice(&record.whole);
                }
                inputs += 1;
            }
            tags::GRAPH_SPARSE => {
                let tensor = crate::proto::SparseTensorProto::decode(record.content.clone());
                let tensor = tensor.map_err(|_| unlike())?;
                let parts = [&tensor.values, &tensor.indices];
                if parts.into_iter().flatten().any(storage::is_external) {
                    return Err(sparse().into());
                }
                out.extend_from_slice(&record.whole);
            }
            _ => out.extend_from_slice(&record.whole),
        }
    }
    Ok(out)
}

fn function(content: &Bytes, of: &FunctionProto, edit: &mut dyn Edit) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let mut nodes = of.node.iter();
    for record in records(content)? {
        match record.tag {
            tags::FUNCTION_NODE => {
                let mut copied = Vec::new();
                node(&record, nodes.next().ok_or_else(unlike)?, edit, &mut copied)?;
                // `node` writes a record of a graph.
                let inner = records(&copied.into())?.into_iter().next().ok_or_else(unlike)?;
                append(tags::FUNCTION_NODE, &inner.content, &mut out);
            }
            _ => out.extend_from_slice(&record.whole),
        }
    }
    Ok(out)
}

/// Appends a node as a record of a graph.
fn node(record: &Record, of: &NodeProto, edit: &mut dyn Edit, out: &mut Vec<u8>) -> Result<(), Failure> {
    if of.attribute.iter().all(is_plain) {
        append(tags::GRAPH_NODE, &record.content, out);
        return Ok(());
    }
    let mut copied = Vec::new();
    let mut attributes = of.attribute.iter();
    for record in records(&record.content)? {
        match record.tag {
            tags::NODE_ATTRIBUTE => {
                let of = attributes.next().ok_or_else(unlike)?;
                append(tags::NODE_ATTRIBUTE, &attribute(&record.content, of, edit)?, &mut copied);
            }
            _ => copied.extend_from_slice(&record.whole),
        }
    }
    append(tags::GRAPH_NODE, &copied, out);
    Ok(())
}

/// Returns true if an attribute contains neither graphs nor tensors in other files.
fn is_plain(attribute: &AttributeProto) -> bool {
    let tensors = attribute.t.as_deref().into_iter().chain(&attribute.tensors);
    let sparse = attribute.sparse_tensor.as_deref().into_iter().chain(&attribute.sparse_tensors);
    let parts = sparse.flat_map(|tensor| [&tensor.values, &tensor.indices]).flatten();
    attribute.g.is_none() && attribute.graphs.is_empty() && !tensors.chain(parts).any(storage::is_external)
}

fn attribute(content: &Bytes, of: &AttributeProto, edit: &mut dyn Edit) -> Result<Vec<u8>, Failure> {
    let lists = of.sparse_tensor.as_deref().into_iter().chain(&of.sparse_tensors);
    if lists.flat_map(|tensor| [&tensor.values, &tensor.indices]).flatten().any(storage::is_external) {
        return Err(sparse().into());
    }
    let mut out = Vec::new();
    let (mut graphs, mut tensors) = (of.graphs.iter(), of.tensors.iter());
    let all = records(content)?;
    once(&all, tags::ATTRIBUTE_TENSOR)?;
    once(&all, tags::ATTRIBUTE_GRAPH)?;
    for record in all {
        let inner = match record.tag {
            tags::ATTRIBUTE_GRAPH => graph(&record.content, of.g.as_ref().ok_or_else(unlike)?, edit)?,
            tags::ATTRIBUTE_GRAPHS => graph(&record.content, graphs.next().ok_or_else(unlike)?, edit)?,
            tags::ATTRIBUTE_TENSOR => tensor(&record, of.t.as_ref().ok_or_else(unlike)?, edit)?,
            tags::ATTRIBUTE_TENSORS => tensor(&record, tensors.next().ok_or_else(unlike)?, edit)?,
            _ => {
                out.extend_from_slice(&record.whole);
                continue;
            }
        };
        append(record.tag, &inner, &mut out);
    }
    Ok(out)
}

fn tensor(record: &Record, of: &TensorProto, edit: &mut dyn Edit) -> Result<Vec<u8>, Failure> {
    if storage::is_external(of) {
        Ok(storage::with_data(&record.content, &edit.attribute(of)?)?)
    } else {
        Ok(record.content.to_vec())
    }
}

/// Fails if a message that is read from several records has several.
fn once(all: &[Record], tag: u32) -> Result<(), Problem> {
    match all.iter().filter(|record| record.tag == tag).count() {
        0 | 1 => Ok(()),
        _ => Err(Problem::new("the file has a message in several records, which cannot be copied")),
    }
}

fn sparse() -> Problem {
    Problem::new("sparse tensors with external data cannot be copied")
}

fn unlike() -> Problem {
    Problem::defect("the records of the file differ from its messages")
}
