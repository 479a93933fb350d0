//! Files that pass values between this command and its programs.
//!
//! The counterpart is `wire.rs` of the package `onnx-embed-runner`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};

use crate::value::{Key, Tensor, Value, Values, dtype};

/// Writes tensors and strings to a file at `path`. Other values are errors.
pub fn write(path: &Path, values: &Values) -> Result<()> {
    let bytes = encode(values)?;
    std::fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

pub fn read(path: &Path) -> Result<Values> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    decode(&bytes).with_context(|| format!("cannot decode the values in `{}`", path.display()))
}

fn encode(values: &Values) -> Result<Vec<u8>> {
    let mut elements: Vec<u8> = Vec::new();
    let mut entries = Vec::new();
    for (name, value) in values {
        entries.push(match value {
            Value::Tensor(tensor) => {
                elements.extend(&tensor.bytes);
                json!({ "name": name, "shape": tensor.shape, "dtype": tensor.dtype.name() })
            }
            Value::Strings { shape, texts } => {
                json!({ "name": name, "shape": shape, "strings": texts })
            }
            other => bail!("input `{name}` is {}, expected a tensor", other.kind()),
        });
    }
    let mut bytes = Json::Array(entries).to_string().into_bytes();
    bytes.push(b'\n');
    bytes.extend(elements);
    Ok(bytes)
}

fn decode(bytes: &[u8]) -> Option<Values> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, mut elements) = bytes.split_at_checked(end + 1)?;
    let entries: Json = serde_json::from_slice(line).ok()?;
    let entries = entries.as_array()?.iter().map(|entry| {
        let name = entry["name"].as_str()?.to_owned();
        Some((name, value(entry, &mut elements)?))
    });
    entries.collect()
}

fn value(entry: &Json, elements: &mut &[u8]) -> Option<Value> {
    if let Some(items) = entry["sequence"].as_array() {
        return list(items, elements).map(Value::Sequence);
    }
    if let Some(items) = entry["optional"].as_array() {
        let item = list(items, elements)?.pop();
        return Some(Value::Optional(item.map(Box::new)));
    }
    if let Some(keys) = entry["keys"].as_array() {
        let key = |key: &Json| match key.as_str() {
            Some(text) => Some(Key::Text(text.to_owned())),
            None => key.as_i64().map(Key::Int),
        };
        let keys: Vec<Key> = keys.iter().map(key).collect::<Option<_>>()?;
        let values = list(entry["values"].as_array()?, elements)?;
        return Some(Value::Map(keys.into_iter().zip(values).collect()));
    }
    let sizes = entry["shape"].as_array()?.iter();
    let shape: Vec<usize> = sizes.map(|size| usize::try_from(size.as_u64()?).ok()).collect::<Option<_>>()?;
    if let Some(texts) = entry["strings"].as_array() {
        let texts = texts.iter().map(|text| Some(text.as_str()?.to_owned()));
        let texts = texts.collect::<Option<_>>()?;
        return Some(Value::Strings { shape, texts });
    }
    let dtype = dtype(entry["dtype"].as_str()?)?;
    let count = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size))?;
    let (bytes, rest) = elements.split_at_checked(dtype.bytes(count)?)?;
    *elements = rest;
    let bytes = bytes.to_vec();
    Some(Value::Tensor(Tensor { dtype, shape, bytes }))
}

fn list(items: &[Json], elements: &mut &[u8]) -> Option<Vec<Value>> {
    items.iter().map(|item| value(item, elements)).collect()
}

#[cfg(test)]
mod tests {
    use onnx_embed_ir::dtype::DType;

    use super::*;

    fn number(byte: u8) -> Value {
        Value::Tensor(Tensor { dtype: DType::U8, shape: Vec::new(), bytes: vec![byte] })
    }

    #[test]
    fn what_is_written_can_be_read() {
        let (shape, texts) = (vec![1], vec!["a\n".to_owned()]);
        let strings = Value::Strings { shape, texts };
        let values = vec![("s".to_owned(), strings), ("x".to_owned(), number(7))];
        assert_eq!(decode(&encode(&values).unwrap()), Some(values));
    }

    #[test]
    fn nested_values_take_their_elements_in_order() {
        let u8 = |name: &str| format!(r#"{{"name":"{name}","shape":[],"dtype":"uint8"}}"#);
        let map = format!(r#"{{"keys":[5,"k"],"values":[{},{}]}}"#, u8(""), u8(""));
        let line = format!(r#"[{{"name":"s","sequence":[{map}]}},{{"name":"o","optional":[]}},{}]"#, u8("x"));
        let bytes = [line.as_bytes(), b"\n\x01\x02\x03"].concat();
        let map = vec![(Key::Int(5), number(1)), (Key::Text("k".to_owned()), number(2))];
        let expected = vec![
            ("s".to_owned(), Value::Sequence(vec![Value::Map(map)])),
            ("o".to_owned(), Value::Optional(None)),
            ("x".to_owned(), number(3)),
        ];
        assert_eq!(decode(&bytes), Some(expected));
    }
}
