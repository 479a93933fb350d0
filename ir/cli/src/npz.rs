//! Inputs and outputs recorded by numpy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use npyz::{Deserialize, NpyFile, Order, TypeChar, TypeStr};
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::dtype::DType;

use crate::value::{Key, Tensor, Value, Values};

/// What an `io.npz` holds: arrays under `in/NAME` and `out/NAME`, and where the graph amplifies
/// roundings what it gives in double precision under `exact/NAME`.
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
    /// A map, or a sequence of maps with the same keys: row after row of values.
    Maps { keys: Vec<Key>, values: Tensor },
}

/// What names of arrays begin with.
const PREFIXES: [&str; 3] = ["in/", "out/", "exact/"];

impl Recording {
    pub fn open(path: &Path) -> Result<Self> {
        let failed = || format!("cannot read `{}`", path.display());
        let file = File::open(path).with_context(failed)?;
        let arrays = arrays(BufReader::new(file)).with_context(failed)?;
        check_keys(path, &arrays)?;
        sort(&arrays).with_context(failed)
    }
}

/// The array in a file of numpy.
pub fn single(path: &Path) -> Result<Value> {
    let failed = || format!("cannot read `{}`", path.display());
    let file = File::open(path).with_context(failed)?;
    array(BufReader::new(file)).with_context(failed)
}

/// Refuses arrays of which none is called as those of a recording are.
fn check_keys(path: &Path, arrays: &BTreeMap<String, Value>) -> Result<()> {
    let is_known = |name: &String| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    if arrays.keys().any(is_known) {
        return Ok(());
    }
    let file = path.file_name().unwrap_or_default().display();
    if arrays.is_empty() {
        bail!("{file} has no arrays; keys must be `in/NAME` or `out/NAME`");
    }
    let names: Vec<String> = arrays
        .keys()
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    bail!(
        "{file} has {}; keys must be `in/NAME` or `out/NAME`",
        names.join(", ")
    )
}

fn arrays<R: Read + Seek>(reader: R) -> Result<BTreeMap<String, Value>> {
    let mut zip = zip::ZipArchive::new(reader)?;
    let mut arrays = BTreeMap::new();
    for at in 0..zip.len() {
        let entry = zip.by_index(at)?;
        let file = entry.name()?.into_owned();
        if let Some(name) = npyz::npz::array_name_from_file_name(&file) {
            let value = array(entry).with_context(|| format!("array `{name}`"))?;
            arrays.insert(name.to_owned(), value);
        }
    }
    Ok(arrays)
}

/// Puts arrays where their prefixes say.
fn sort(arrays: &BTreeMap<String, Value>) -> Result<Recording> {
    let mut recording = Recording::default();
    let mut maps = BTreeSet::new();
    for (name, value) in arrays {
        if let Some(input) = name.strip_prefix("in/") {
            recording.inputs.push((input.to_owned(), value.clone()));
        } else if let Some(output) = name.strip_prefix("exact/") {
            recording.exact.push((output.to_owned(), value.clone()));
        } else if let Some(output) = name.strip_prefix("out/") {
            let map = output
                .strip_suffix("#keys")
                .or(output.strip_suffix("#vals"));
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
        let Value::Tensor(values) = part("vals")?.clone() else {
            bail!("`out/{map}#vals` holds no numbers");
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
            Ok(chunks
                .map(|chunk| Key::Int(i64::from_le_bytes(*chunk)))
                .collect())
        }
        _ => bail!("keys are strings or of type int64"),
    }
}

fn array(reader: impl Read) -> Result<Value> {
    let file = NpyFile::new(reader)?;
    let npyz::DType::Plain(kind) = file.dtype() else {
        bail!("structured arrays are not tensors");
    };
    let sizes = file.shape().iter().map(|&size| usize::try_from(size));
    let shape: Vec<usize> = sizes.collect::<Result<_, _>>()?;
    let column_major = file.order() == Order::Fortran;
    if kind.type_char() == TypeChar::UnicodeStr {
        let texts = sorted(file.into_vec()?, &shape, column_major);
        return Ok(Value::Strings { shape, texts });
    }
    macro_rules! numbers {
        ($($dtype:ident $number:ty,)*) => {
            match dtype(&kind)? {
                $(DType::$dtype => {
                    let numbers: Vec<$number> = elements(file, &shape, column_major)?;
                    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
                })*
                _ => {
                    let all: Vec<bool> = elements(file, &shape, column_major)?;
                    all.into_iter().map(u8::from).collect()
                }
            }
        };
    }
    let dtype = dtype(&kind)?;
    let bytes = numbers! {
        F16 half::f16, F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64,
        U8 u8, U16 u16, U32 u32, U64 u64,
    };
    let tensor = Tensor {
        dtype,
        shape,
        bytes,
    };
    Ok(Value::Tensor(tensor))
}

fn dtype(kind: &TypeStr) -> Result<DType> {
    Ok(match (kind.type_char(), kind.size_field()) {
        (TypeChar::Bool, _) => DType::Bool,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        _ => bail!("elements of type `{kind}` cannot be read"),
    })
}

fn elements<T: Deserialize + Clone>(
    file: NpyFile<impl Read>,
    shape: &[usize],
    column_major: bool,
) -> Result<Vec<T>> {
    Ok(sorted(file.into_vec()?, shape, column_major))
}

/// Elements in row-major order; `column_major` says that they are in column-major order.
fn sorted<T: Clone>(elements: Vec<T>, shape: &[usize], column_major: bool) -> Vec<T> {
    if !column_major || shape.len() < 2 {
        return elements;
    }
    let mut sorted = Vec::with_capacity(elements.len());
    let mut index = vec![0; shape.len()];
    for _ in 0..elements.len() {
        let axes = index.iter().zip(shape).rev();
        let position = axes.fold(0, |position, (at, size)| position * size + at);
        sorted.extend(elements.get(position).cloned());
        for (at, size) in index.iter_mut().zip(shape).rev() {
            *at = (*at + 1) % size;
            if *at > 0 {
                break;
            }
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use npyz::WriterBuilder;

    use super::*;

    fn npy<T: npyz::Serialize>(dtype: &str, order: Order, shape: &[u64], all: &[T]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let dtype = npyz::DType::new_scalar(dtype.parse().unwrap());
        let options = npyz::WriteOptions::new().dtype(dtype).shape(shape);
        let writer = options.order(order).writer(&mut bytes);
        let mut writer = writer.begin_nd().unwrap();
        writer.extend(all.iter()).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn tensor(dtype: DType, shape: &[usize], bytes: &[u8]) -> Value {
        let (shape, bytes) = (shape.to_vec(), bytes.to_vec());
        Value::Tensor(Tensor {
            dtype,
            shape,
            bytes,
        })
    }

    #[test]
    fn elements_keep_their_type_and_shape() {
        let bytes = npy(">f2", Order::C, &[1, 2], &[half::f16::ONE, half::f16::ZERO]);
        let expected = tensor(DType::F16, &[1, 2], &[0, 0x3c, 0, 0]);
        assert_eq!(array(bytes.as_slice()).unwrap(), expected);
    }

    #[test]
    fn column_major_arrays_are_transposed() {
        let bytes = npy("|u1", Order::Fortran, &[2, 3], &[0u8, 3, 1, 4, 2, 5]);
        let expected = tensor(DType::U8, &[2, 3], &[0, 1, 2, 3, 4, 5]);
        assert_eq!(array(bytes.as_slice()).unwrap(), expected);
    }

    #[test]
    fn strings_lose_their_padding() {
        let bytes = npy("<U3", Order::C, &[2], &["ab".to_owned(), String::new()]);
        let (shape, texts) = (vec![2], vec!["ab".to_owned(), String::new()]);
        assert_eq!(
            array(bytes.as_slice()).unwrap(),
            Value::Strings { shape, texts }
        );
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
        assert_eq!(
            (name.as_str(), keys),
            ("p", &vec![Key::Int(1), Key::Int(2)])
        );
    }

    #[test]
    fn names_without_a_prefix_are_refused() {
        let one = || tensor(DType::U8, &[0], &[]);
        let arrays = [("features".to_owned(), one()), ("logits".to_owned(), one())];
        let problem = check_keys(Path::new("/a/io.npz"), &arrays.into()).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "io.npz has `features`, `logits`; keys must be `in/NAME` or `out/NAME`"
        );
    }

    #[test]
    fn a_map_needs_its_values() {
        let keys = tensor(DType::I64, &[0], &[]);
        let problem = sort(&BTreeMap::from([("out/p#keys".to_owned(), keys)])).unwrap_err();
        assert_eq!(problem.to_string(), "`out/p#vals` is missing");
    }
}
