//! Models whose inputs have dynamic sizes.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_embed_ir::proto::{Dimension, DimensionValue, ModelProto, TypeValue};
use prost::Message;

/// Naming of the sizes.
#[derive(Clone, Copy, Debug)]
pub enum Naming {
    /// Equal sizes have one name.
    Shared,
    /// Each size has its own name.
    Own,
}

/// Names the sizes of a model's inputs that are larger than 1. Returns `None` if there are none or the file is not a
/// model.
pub fn open(model: &Bytes, naming: Naming) -> Option<Bytes> {
    let mut model = ModelProto::decode(model.clone()).ok()?;
    let graph = model.graph.as_mut()?;
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (at, input) in graph.input.iter_mut().enumerate() {
        let is_constant = |name: &str| graph.initializer.iter().any(|tensor| tensor.name == name);
        let ty = input.r#type.as_mut().filter(|_| !is_constant(&input.name));
        let Some(TypeValue::Tensor(tensor)) = ty.and_then(|ty| ty.value.as_mut()) else {
            continue;
        };
        let sizes = tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim);
        for (axis, size) in sizes.enumerate() {
            if let Some(name) = name(size, naming, (at, axis)) {
                size.value = Some(DimensionValue::Name(name.clone()));
                *names.entry(name).or_default() += 1;
            }
        }
    }
    (!names.is_empty()).then(|| model.encode_to_vec().into())
}

fn name(size: &Dimension, naming: Naming, (input, axis): (usize, usize)) -> Option<String> {
    match (&size.value, naming) {
        (Some(DimensionValue::Value(2..)), Naming::Own) => Some(format!("open_{input}_{axis}")),
        (Some(DimensionValue::Value(size @ 2..)), Naming::Shared) => Some(format!("open_{size}")),
        _ => None,
    }
}
