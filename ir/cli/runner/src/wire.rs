//! Files that pass values between the command and its programs.
//!
//! A file consists of one line of JSON and the elements of all tensors, little-endian, in the order of that line.

use std::path::Path;

use half::{bf16, f16};
use onnx_embed::{Array, ElementType, Key, TensorData, Value, Values};
use serde_json::{Value as Json, json};

pub fn read(path: &Path) -> Result<Values, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    decode(&bytes).ok_or_else(|| format!("cannot decode the values in `{}`", path.display()))
}

pub fn write(path: &Path, values: &Values) -> Result<(), String> {
    let bytes = encode(values)?;
    std::fs::write(path, bytes).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

/// Decodes the contents of a file. Returns `None` if they are malformed or incomplete.
pub fn decode(bytes: &[u8]) -> Option<Values> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, mut elements) = bytes.split_at(end + 1);
    let entries: Json = serde_json::from_slice(line).ok()?;
    let entries = entries.as_array()?.iter().map(|entry| {
        let name = entry["name"].as_str()?.to_owned();
        Some((name, value(entry, &mut elements)?))
    });
    entries.collect()
}

fn value(entry: &Json, elements: &mut &[u8]) -> Option<Value> {
    let mut list = |items: &Json| -> Option<Vec<Value>> {
        let items = items.as_array()?.iter();
        items.map(|item| value(item, elements)).collect()
    };
    if let Some(items) = list(&entry["sequence"]) {
        return Some(Value::Sequence(items));
    }
    if let Some(mut items) = list(&entry["optional"]) {
        return Some(Value::Optional(items.pop().map(Box::new)));
    }
    let sizes = entry["shape"].as_array()?.iter();
    let shape: Vec<usize> = sizes.map(|size| usize::try_from(size.as_u64()?).ok()).collect::<Option<_>>()?;
    if let Some(texts) = entry["strings"].as_array() {
        let texts = texts.iter().map(|text| Some(text.as_str()?.to_owned()));
        return Some(Array::new(shape, texts.collect::<Option<Vec<_>>>()?).into());
    }
    tensor(entry["dtype"].as_str()?, shape, elements)
}

fn tensor(dtype: &str, shape: Vec<usize>, elements: &mut &[u8]) -> Option<Value> {
    let count: usize = shape.iter().product();
    macro_rules! numbers {
        ($($name:literal $number:ty,)*) => {
            match dtype {
                $($name => {
                    const SIZE: usize = size_of::<$number>();
                    let (these, rest) = elements.split_at_checked(count * SIZE)?;
                    *elements = rest;
                    let numbers = these.as_chunks::<SIZE>().0.iter().copied();
                    let numbers: Vec<_> = numbers.map(<$number>::from_le_bytes).collect();
                    TensorData::new(numbers, shape)
                })*
                "bool" => {
                    let (these, rest) = elements.split_at_checked(count)?;
                    *elements = rest;
                    TensorData::new(these.iter().map(|&byte| byte != 0).collect::<Vec<_>>(), shape)
                }
                _ => return None,
            }
        };
    }
    let data = numbers! {
        "float16" f16, "bfloat16" bf16, "float32" f32, "float64" f64,
        "int8" i8, "int16" i16, "int32" i32, "int64" i64,
        "uint8" u8, "uint16" u16, "uint32" u32, "uint64" u64,
    };
    Some(data.into())
}

/// Encodes values as the contents of a file. Returns an error if a type has no encoding.
pub fn encode(values: &Values) -> Result<Vec<u8>, String> {
    let mut elements = Vec::new();
    let mut entries = Vec::new();
    for (name, value) in values.iter() {
        let mut entry = describe(value, &mut elements)?;
        entry["name"] = json!(name);
        entries.push(entry);
    }
    let mut bytes = json!(entries).to_string().into_bytes();
    bytes.push(b'\n');
    bytes.extend(elements);
    Ok(bytes)
}

fn describe(value: &Value, elements: &mut Vec<u8>) -> Result<Json, String> {
    let mut list = |values: &[Value]| -> Result<Json, String> {
        let entries = values.iter().map(|value| describe(value, elements));
        Ok(Json::Array(entries.collect::<Result<_, _>>()?))
    };
    Ok(match value {
        Value::Tensor(data) => {
            let dtype = ElementType::of(data.dtype())
                .ok_or("an output has a quantized type, which is not supported")?;
            elements.extend(data.as_bytes());
            json!({ "shape": data.shape().as_slice(), "dtype": dtype.name() })
        }
        Value::Strings(array) => json!({ "shape": array.shape(), "strings": array.data() }),
        Value::Sequence(items) => json!({ "sequence": list(items)? }),
        Value::Optional(None) => json!({ "optional": [] }),
        Value::Optional(Some(item)) => json!({ "optional": list(std::slice::from_ref(item))? }),
        Value::Map(map) => {
            let key = |key: &Key| match key {
                Key::Int(number) => json!(number),
                Key::Text(text) => json!(text),
            };
            let keys: Vec<Json> = map.keys().map(key).collect();
            let items: Vec<Value> = map.values().cloned().collect();
            json!({ "keys": keys, "values": list(&items)? })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_way() {
        let values = Values::from([
            ("s", Value::from(Array::scalar("a\n\"".to_owned()))),
            ("h", TensorData::from([[f16::ONE], [f16::NAN]]).into()),
            ("b", TensorData::from([true, false, true]).into()),
            ("e", TensorData::new(Vec::<f64>::new(), [0, 2]).into()),
            ("u", TensorData::from([u64::MAX]).into()),
            ("l", Value::Sequence(vec![TensorData::from([1u8]).into(), TensorData::from([2i8]).into()])),
            ("n", Value::Optional(None)),
            ("o", Value::Optional(Some(Box::new(TensorData::from([1.0f32]).into())))),
        ]);
        let bytes = encode(&values).unwrap();
        assert_eq!(encode(&decode(&bytes).unwrap()).unwrap(), bytes);
    }

    #[test]
    fn keys_of_maps_keep_their_kind() {
        let one = || Value::from(TensorData::new(vec![1.0f32], [0usize; 0]));
        let map = Value::Map([(Key::Int(-1), one()), (Key::from("a"), one())].into());
        let values = Values::from([("m", Value::Sequence(vec![map]))]);
        let bytes = encode(&values).unwrap();
        let line = bytes.split(|&byte| byte == b'\n').next().unwrap();
        let entries: Json = serde_json::from_slice(line).unwrap();
        assert_eq!(entries[0]["sequence"][0]["keys"], json!([-1, "a"]));
        assert_eq!(bytes.len(), line.len() + 1 + 8);
    }

    #[test]
    fn a_cut_file_holds_no_values() {
        let bytes = encode(&Values::from([("x", TensorData::from([1.0f32]))])).unwrap();
        assert!(decode(&bytes[..bytes.len() - 1]).is_none());
        assert!(decode(b"").is_none());
    }
}
