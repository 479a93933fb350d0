//! Tensors in files.
//!
//! A line of JSON describes them. Their elements follow it, in little-endian order.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::Result;

/// A tensor with the name of its input or output.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub name: String,
    /// Name of the dtype in numpy.
    pub dtype: String,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Value {
    /// Returns the elements, which have `N` bytes each.
    pub fn elements<const N: usize, T>(&self, read: fn([u8; N]) -> T) -> Vec<T> {
        let (elements, _) = self.bytes.as_chunks::<N>();
        elements.iter().copied().map(read).collect()
    }

    /// Creates a tensor whose elements are written as `N` bytes each.
    pub fn new<const N: usize, T: Copy>(
        name: &str,
        dtype: &str,
        shape: &[usize],
        elements: &[T],
        write: fn(T) -> [u8; N],
    ) -> Self {
        Self {
            name: name.to_owned(),
            dtype: dtype.to_owned(),
            shape: shape.to_vec(),
            bytes: elements.iter().copied().flat_map(write).collect(),
        }
    }
}

pub fn read(path: &Path) -> Result<Vec<Value>> {
    let bytes = std::fs::read(path)?;
    decode(&bytes).ok_or_else(|| format!("{} has no values", path.display()).into())
}

pub fn write(path: &Path, values: &[Value]) -> Result<()> {
    Ok(std::fs::write(path, encode(values))?)
}

fn decode(bytes: &[u8]) -> Option<Vec<Value>> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let (line, mut rest) = bytes.split_at(end + 1);
    let entries: Json = serde_json::from_slice(line).ok()?;
    let value = |entry: &Json| {
        let sizes = entry["shape"].as_array()?.iter();
        let shape = sizes.map(|size| usize::try_from(size.as_u64()?).ok());
        let length = usize::try_from(entry["bytes"].as_u64()?).ok()?;
        let (elements, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(Value {
            name: entry["name"].as_str()?.to_owned(),
            dtype: entry["dtype"].as_str()?.to_owned(),
            shape: shape.collect::<Option<_>>()?,
            bytes: elements.to_vec(),
        })
    };
    entries.as_array()?.iter().map(value).collect()
}

fn encode(values: &[Value]) -> Vec<u8> {
    let entry = |value: &Value| {
        json!({
            "name": value.name,
            "dtype": value.dtype,
            "shape": value.shape,
            "bytes": value.bytes.len(),
        })
    };
    let entries: Vec<Json> = values.iter().map(entry).collect();
    let mut bytes = json!(entries).to_string().into_bytes();
    bytes.push(b'\n');
    bytes.extend(values.iter().flat_map(|value| &value.bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written() {
        let values = vec![
            Value::new("x", "float32", &[2, 1], &[1.5, -0.0], f32::to_le_bytes),
            Value::new("y\n", "int64", &[0], &[], i64::to_le_bytes),
        ];
        let bytes = encode(&values);
        assert_eq!(decode(&bytes), Some(values));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }
}
