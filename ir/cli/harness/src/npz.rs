//! Recorded inputs and outputs in numpy's format.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::dtype::DType;

use crate::value::{Key, Tensor, Value, Values};

mod npy;

use npy::array;

/// Contents of an `io.npz`: arrays `in/NAME` and `out/NAME` and, if the graph amplifies rounding errors, its results in
/// double precision as `exact/NAME`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    pub inputs: Values,
    pub outputs: Vec<(String, Expected)>,
    pub exact: Values,
}

/// A recorded output.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A tensor of numbers or strings.
    Value(Value),
    /// A map, or a sequence of maps with the same keys: one row of values per map.
    Maps { keys: Vec<Key>, values: Tensor },
}

impl Expected {
    /// Returns the kind of the output, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Expected::Value(value) => value.kind(),
            Expected::Maps { .. } => "a map or a sequence of maps",
        }
    }
}

/// Maximum size of all arrays of a file, in bytes.
///
/// A file of a few kilobytes may decompress to any size.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Prefixes of array names.
const PREFIXES: [&str; 3] = ["in/", "out/", "exact/"];

impl Recording {
    pub fn open(path: &Path) -> Result<Self> {
        let failed = || format!("cannot read `{}`", path.display());
        let file = File::open(path).with_context(failed)?;
        Self::read(BufReader::new(file), MAX_FILE_BYTES).with_context(failed)
    }

    /// Reads a file. Returns an error if its arrays have more than `most` bytes.
    pub fn read(reader: impl Read + Seek, most: u64) -> Result<Self> {
        let arrays = arrays(reader, most)?;
        check_keys(&arrays)?;
        sort(&arrays)
    }
}

/// Reads the array in a `.npy` file.
pub fn single(path: &Path) -> Result<Value> {
    let failed = || format!("cannot read `{}`", path.display());
    let file = File::open(path).with_context(failed)?;
    let bytes = bytes(BufReader::new(file), MAX_FILE_BYTES).with_context(failed)?;
    array(&bytes).with_context(failed)
}

/// Returns an error if no array has a name with one of the [`PREFIXES`].
fn check_keys(arrays: &BTreeMap<String, Value>) -> Result<()> {
    let is_known = |name: &String| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    if arrays.keys().any(is_known) {
        return Ok(());
    }
    if arrays.is_empty() {
        bail!("the file contains no arrays, expected `in/NAME` or `out/NAME`");
    }
    let names: Vec<String> = arrays.keys().map(|name| format!("`{}`", shown(name))).collect();
    bail!("the file contains {}, expected `in/NAME` or `out/NAME`", names.join(", "))
}

/// Reads the arrays of a file. Returns an error if they have more than `most` bytes.
fn arrays<R: Read + Seek>(reader: R, most: u64) -> Result<BTreeMap<String, Value>> {
    let mut zip = zip::ZipArchive::new(reader)?;
    let mut arrays = BTreeMap::new();
    let mut left = most;
    for at in 0..zip.len() {
        let entry = zip.by_index(at)?;
        let file = entry.name()?.into_owned();
        if let Some(name) = npyz::npz::array_name_from_file_name(&file) {
            let failed = || format!("array `{}`", shown(name));
            if entry.size() > left {
                return Err(too_large(most)).with_context(failed);
            }
            let bytes = bytes(entry, left).with_context(failed)?;
            left -= bytes.len() as u64;
            arrays.insert(name.to_owned(), array(&bytes).with_context(failed)?);
        }
    }
    Ok(arrays)
}

/// Reads all bytes. Returns an error if there are more than `most`, whatever size a header specifies.
fn bytes(reader: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

fn too_large(most: u64) -> anyhow::Error {
    anyhow!("the arrays exceed the limit of {most} bytes")
}

/// Sorts arrays by their prefixes.
fn sort(arrays: &BTreeMap<String, Value>) -> Result<Recording> {
    let mut recording = Recording::default();
    let mut maps = BTreeSet::new();
    for (name, value) in arrays {
        if let Some(input) = name.strip_prefix("in/") {
            recording.inputs.push((input.to_owned(), value.clone()));
        } else if let Some(output) = name.strip_prefix("exact/") {
            recording.exact.push((output.to_owned(), value.clone()));
        } else if let Some(output) = name.strip_prefix("out/") {
            let map = output.strip_suffix("#keys").or(output.strip_suffix("#vals"));
            let plain = || (output.to_owned(), Expected::Value(value.clone()));
            match map {
                Some(map) => _ = maps.insert(map),
                None => recording.outputs.push(plain()),
            }
        }
    }
    for map in maps {
        let part = |end: &str| {
            let found = arrays.get(&format!("out/{map}#{end}"));
            found.ok_or_else(|| anyhow!("`out/{map}#{end}` is missing"))
        };
        let keys = keys(part("keys")?).with_context(|| format!("`out/{map}#keys`"))?;
        let values = match part("vals")?.clone() {
            Value::Tensor(values) => values,
            other => bail!("`out/{map}#vals` is {}, expected numbers", other.kind()),
        };
        let maps = Expected::Maps { keys, values };
        recording.outputs.push((map.to_owned(), maps));
    }
    Ok(recording)
}

fn keys(value: &Value) -> Result<Vec<Key>> {
    match value {
        Value::Strings { texts, .. } => Ok(texts.iter().cloned().map(Key::Text).collect()),
        Value::Tensor(tensor) if tensor.dtype == DType::I64 => {
            let chunks = tensor.bytes.as_chunks().0.iter();
            Ok(chunks.map(|chunk| Key::Int(i64::from_le_bytes(*chunk))).collect())
        }
        Value::Tensor(tensor) => bail!("keys have type {}, expected int64 or strings", tensor.dtype),
        other => bail!("keys are {}, expected int64 or strings", other.kind()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use npyz::Order;
    use zip::write::SimpleFileOptions;

    use super::npy::tests::{npy, tensor};
    use super::*;

    /// Files of kilobytes that decompress to megabytes, in one array or in many.
    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let zipped = |count: usize, length: usize| {
            let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
            for at in 0..count {
                let name = format!("in/{at}.npy");
                zip.start_file(name, SimpleFileOptions::default()).unwrap();
                let zeros = vec![0u8; length];
                zip.write_all(&npy("|u1", Order::C, &[length as u64], &zeros)).unwrap();
            }
            zip.finish().unwrap()
        };
        assert_eq!(arrays(zipped(2, 1000), 10_000).unwrap().len(), 2);
        for (count, length) in [(1, 8 << 20), (9, 4000)] {
            let problem = arrays(zipped(count, length), 10_000).unwrap_err();
            let reason = "the arrays exceed the limit of 10000 bytes";
            assert_eq!(problem.root_cause().to_string(), reason);
        }
        // A size in the directory that is smaller than that of the data.
        let mut file = zipped(1, 8 << 20).into_inner();
        let length = npy("|u1", Order::C, &[8 << 20], &vec![0u8; 8 << 20]).len() as u32;
        let offsets: Vec<usize> =
            (0..file.len() - 4).filter(|&at| file[at..at + 4] == length.to_le_bytes()).collect();
        assert!(!offsets.is_empty());
        for at in offsets {
            file[at..at + 4].copy_from_slice(&100u32.to_le_bytes());
        }
        assert!(arrays(Cursor::new(file), 10_000).is_err());
    }

    #[test]
    fn names_say_what_an_array_is() {
        let one = [1i64, 2].map(i64::to_le_bytes).concat();
        let arrays = BTreeMap::from([
            ("in/a/b:0".to_owned(), tensor(DType::Bool, &[1], &[1])),
            ("out/p#keys".to_owned(), tensor(DType::I64, &[2], &one)),
            ("out/p#vals".to_owned(), tensor(DType::U8, &[1, 2], &[3, 4])),
        ]);
        let recording = sort(&arrays).unwrap();
        assert_eq!(recording.inputs[0].0, "a/b:0");
        let (name, Expected::Maps { keys, .. }) = &recording.outputs[0] else {
            panic!("{recording:?}");
        };
        assert_eq!((name.as_str(), keys), ("p", &vec![Key::Int(1), Key::Int(2)]));
    }

    #[test]
    fn names_without_a_prefix_are_refused() {
        let one = || tensor(DType::U8, &[0], &[]);
        let arrays = [("features".to_owned(), one()), ("logits".to_owned(), one())];
        let problem = check_keys(&arrays.into()).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "the file contains `features`, `logits`, expected `in/NAME` or `out/NAME`"
        );
    }

    #[test]
    fn a_map_needs_its_values() {
        let keys = tensor(DType::I64, &[0], &[]);
        let problem = sort(&BTreeMap::from([("out/p#keys".to_owned(), keys)])).unwrap_err();
        assert_eq!(problem.to_string(), "`out/p#vals` is missing");
    }
}
