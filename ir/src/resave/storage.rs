//! Where the copy of a model stores its tensors.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

use super::Failure;
use super::shards::{Location, Shards};
use super::wire::{append, records};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::files::{Files, is_strings};
use crate::proto::{
    AttributeProto, DataLocation, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto,
};
use crate::structure::stored_elements;
use crate::weight::{Encoding, Weight};

/// Stored elements of a tensor.
#[derive(Clone, Debug)]
pub(super) enum Data {
    Raw(Bytes),
    External(Location),
}

/// The files of a model, and those of its copy.
pub(super) struct Storage<'a> {
    pub files: &'a Files,
    /// External data of the copy. Without it, all tensors are in the model file.
    pub shards: Option<Shards<'a>>,
    /// Bytes of the files that have been copied: file, start and length.
    copied: BTreeMap<(usize, usize, usize), Location>,
}

/// Number of bytes of the largest tensors that stay in the model file.
pub(super) const SMALL: usize = 1024;

/// Fields of a tensor that say where its elements are.
const DATA: [u32; 9] = [4, 5, 6, 7, 9, 10, 11, 13, 14];
const RAW: u32 = 9;
const EXTERNAL: u32 = 13;
const DATA_LOCATION: u32 = 14;

impl<'a> Storage<'a> {
    pub fn new(files: &'a Files, shards: Option<Shards<'a>>) -> Self {
        Self { files, shards, copied: BTreeMap::new() }
    }

    /// Stores a tensor of the model again. `None` if it can stay as it is.
    pub fn moved(&mut self, tensor: &TensorProto) -> Result<Option<Data>, Failure> {
        if is_strings(tensor) {
            return Ok(None);
        }
        let weight = self.files.weight(tensor)?;
        let Some(parts) = raw(&weight) else {
            return Ok(None);
        };
        let length: usize = parts.iter().map(Bytes::len).sum();
        let Some(shards) = self.shards.as_mut().filter(|_| length > SMALL) else {
            return Ok(is_external(tensor).then(|| Data::Raw(joined(&parts))));
        };
        // Tensors that are the same bytes of a file remain so.
        let of = match &weight.parts[..] {
            [part] if weight.encoding == Encoding::Raw => Some((part.file, part.start, length)),
            _ => None,
        };
        if let Some(location) = of.and_then(|of| self.copied.get(&of)) {
            return Ok(Some(Data::External(location.clone())));
        }
        let location = shards.add(&parts)?;
        self.copied.extend(of.map(|of| (of, location.clone())));
        Ok(Some(Data::External(location)))
    }

    /// Stores a new tensor.
    pub fn tensor(
        &mut self,
        name: String,
        dtype: DType,
        dims: &[usize],
        bytes: Vec<u8>,
    ) -> Result<TensorProto, Failure> {
        let bytes = Bytes::from(bytes);
        let mut tensor = TensorProto {
            name,
            data_type: dtype.number(),
            dims: dims.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect(),
            ..TensorProto::default()
        };
        match self.shards.as_mut().filter(|_| bytes.len() > SMALL) {
            Some(shards) => {
                tensor.external_data = entries(&shards.add(&[bytes])?);
                tensor.data_location = DataLocation::External as i32;
            }
            None => tensor.raw_data = Some(bytes),
        }
        Ok(tensor)
    }
}

/// Returns the message of a tensor with other data.
pub(super) fn with_data(message: &Bytes, data: &Data) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::new();
    for record in records(message)? {
        if !DATA.contains(&record.tag) {
            out.extend_from_slice(&record.whole);
        }
    }
    match data {
        Data::Raw(bytes) => append(RAW, bytes, &mut out),
        Data::External(location) => {
            for entry in entries(location) {
                append(EXTERNAL, &entry.encode_to_vec(), &mut out);
            }
            let external = DataLocation::External as i32;
            prost::encoding::int32::encode(DATA_LOCATION, &external, &mut out);
        }
    }
    Ok(out)
}

/// Returns `true` if the elements of a tensor are in another file.
pub(super) fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location == DataLocation::External as i32
}

/// Finds the files of all initializers, and those of attributes. Returns whether there are any.
pub(super) fn locations(model: &ModelProto, files: &Files) -> Result<bool, Problem> {
    let mut found = false;
    let mut tensor = |tensor: &TensorProto| {
        if is_external(tensor) {
            found = true;
            files.weight(tensor)?;
        }
        Ok(())
    };
    model.graph.iter().try_for_each(|graph| in_graph(graph, &mut tensor))?;
    let nodes = model.functions.iter().flat_map(|function| &function.node);
    nodes.into_iter().try_for_each(|node| in_node(node, &mut tensor))?;
    Ok(found)
}

type Visit<'v> = dyn FnMut(&TensorProto) -> Result<(), Problem> + 'v;

fn in_graph(graph: &GraphProto, visit: &mut Visit<'_>) -> Result<(), Problem> {
    graph.initializer.iter().try_for_each(&mut *visit)?;
    graph.node.iter().try_for_each(|node| in_node(node, visit))
}

fn in_node(node: &NodeProto, visit: &mut Visit<'_>) -> Result<(), Problem> {
    for AttributeProto { t, tensors, g, graphs, .. } in &node.attribute {
        t.as_deref().into_iter().chain(tensors).try_for_each(&mut *visit)?;
        g.as_deref().into_iter().chain(graphs).try_for_each(|graph| in_graph(graph, visit))?;
    }
    Ok(())
}

fn entries(location: &Location) -> Vec<StringStringEntryProto> {
    let entry = |key: &str, value: String| StringStringEntryProto { key: key.to_owned(), value };
    vec![
        entry("location", location.file.clone()),
        entry("offset", location.offset.to_string()),
        entry("length", location.length.to_string()),
    ]
}

/// Returns the elements as they would be in `raw_data`. `None` for types of less than a byte that are not stored so.
fn raw(weight: &Weight) -> Option<Vec<Bytes>> {
    match weight.encoding {
        Encoding::Raw => Some(weight.parts.iter().map(|part| part.bytes.clone()).collect()),
        Encoding::Varint if weight.dtype.bits() >= 8 => Some(vec![stored_elements(weight)?.into()]),
        Encoding::Varint | Encoding::Records => None,
    }
}

/// Returns parts as one.
pub(super) fn joined(parts: &[Bytes]) -> Bytes {
    match parts {
        [part] => part.clone(),
        parts => parts.concat().into(),
    }
}

/// Returns the data of a tensor that was in another file.
pub(super) fn required(data: Option<Data>, tensor: &TensorProto) -> Result<Data, Failure> {
    data.ok_or_else(|| {
        let name = &tensor.name;
        Problem::new(format!("the external data of constant `{name}` cannot be copied")).into()
    })
}
