//! Recorded values in the format of ONNX test data.

mod small;

use std::collections::BTreeMap;

use onnx_embed::{Array, ElementType, Key, TensorData, Value, ValueType};
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    data_type: i32,
    #[prost(bytes = "vec", repeated, tag = "6")]
    string_data: Vec<Vec<u8>>,
    #[prost(bytes = "vec", tag = "9")]
    raw_data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Sequence {
    #[prost(message, repeated, tag = "3")]
    tensors: Vec<Tensor>,
    #[prost(message, repeated, tag = "5")]
    sequences: Vec<Sequence>,
    #[prost(message, repeated, tag = "6")]
    maps: Vec<Map>,
    #[prost(message, repeated, tag = "7")]
    optionals: Vec<Optional>,
}

#[derive(Clone, PartialEq, Message)]
struct Map {
    #[prost(int64, repeated, tag = "3")]
    keys: Vec<i64>,
    #[prost(string, repeated, tag = "4")]
    string_keys: Vec<String>,
    #[prost(message, optional, tag = "5")]
    values: Option<Sequence>,
}

#[derive(Clone, PartialEq, Message)]
struct Optional {
    #[prost(message, optional, tag = "3")]
    tensor: Option<Tensor>,
    #[prost(message, optional, tag = "5")]
    sequence: Option<Sequence>,
}

/// Decodes a value from a file. It must have this kind.
pub fn value(bytes: &[u8], kind: &ValueType) -> Result<Value, String> {
    let broken = |error: prost::DecodeError| error.to_string();
    match kind {
        ValueType::Tensor { dtype, .. } | ValueType::Unranked(dtype) => {
            tensor(Tensor::decode(bytes).map_err(broken)?, *dtype)
        }
        ValueType::Sequence(item) => sequence(Sequence::decode(bytes).map_err(broken)?, item),
        ValueType::Optional(item) => optional(Optional::decode(bytes).map_err(broken)?, item),
        ValueType::Map { key, value } => map(Map::decode(bytes).map_err(broken)?, *key, value),
    }
}

fn sequence(message: Sequence, item: &ValueType) -> Result<Value, String> {
    let values: Result<Vec<Value>, String> = match item {
        ValueType::Tensor { dtype, .. } | ValueType::Unranked(dtype) => {
            let items = message.tensors.into_iter();
            items.map(|item| tensor(item, *dtype)).collect()
        }
        ValueType::Sequence(item) => {
            let items = message.sequences.into_iter();
            items.map(|inner| sequence(inner, item)).collect()
        }
        ValueType::Optional(item) => {
            let items = message.optionals.into_iter();
            items.map(|inner| optional(inner, item)).collect()
        }
        ValueType::Map { key, value } => {
            let items = message.maps.into_iter();
            items.map(|item| map(item, *key, value)).collect()
        }
    };
    Ok(Value::Sequence(values?))
}

fn optional(message: Optional, item: &ValueType) -> Result<Value, String> {
    let value = match (message.tensor, message.sequence, item) {
        (Some(inner), _, ValueType::Tensor { dtype, .. } | ValueType::Unranked(dtype)) => {
            Some(tensor(inner, *dtype)?)
        }
        (_, Some(inner), ValueType::Sequence(item)) => Some(sequence(inner, item)?),
        (None, None, _) => None,
        _ => return Err(format!("the file does not hold an optional {item}")),
    };
    Ok(Value::Optional(value.map(Box::new)))
}

fn map(message: Map, key: ElementType, value: &ValueType) -> Result<Value, String> {
    let keys: Vec<Key> = match key {
        ElementType::String => message.string_keys.into_iter().map(Key::Text).collect(),
        _ => message.keys.into_iter().map(Key::Int).collect(),
    };
    let Value::Sequence(values) = sequence(message.values.unwrap_or_default(), value)? else {
        return Err("a map has values".to_owned());
    };
    Ok(Value::Map(keys.into_iter().zip(values).collect::<BTreeMap<_, _>>()))
}

fn tensor(message: Tensor, dtype: ElementType) -> Result<Value, String> {
    let recorded = small::element_type(message.data_type);
    if recorded != Some(dtype) {
        let recorded = recorded.map_or("no known type".to_owned(), |recorded| recorded.to_string());
        return Err(format!("recorded as {recorded}, the model says {dtype}"));
    }
    let shape: Vec<usize> = message.dims.iter().map(|&size| size as usize).collect();
    let count = shape.iter().product();
    if dtype == ElementType::String {
        let texts = message.string_data.into_iter();
        let texts: Vec<String> = texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
        return Ok(Value::Strings(Array::new(shape, texts)));
    }
    let carrier = dtype.carrier().ok_or("complex numbers")?;
    let bytes = small::carried(dtype, &message.raw_data, count);
    let bytes = onnx_embed::burn::tensor::Bytes::from_bytes_vec(bytes);
    Ok(Value::Tensor(TensorData::from_bytes(bytes, shape, carrier)))
}
