//! Files of a model and the constants in them.

mod external;
mod given;
mod list;
mod missing;
pub mod signed;
mod sparse;
pub mod variables;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::diagnostics::{Problem, Topic, counted};
use crate::dtype::{DType, ElementClass};
use crate::proto::{DataLocation, TensorProto};
use crate::types::{MAX_AXES, fit};
use crate::weight::{ByteRange, Encoding, Weight};
use signed::Key;

pub use given::Given;
pub use missing::{distance, no_file, shown};

/// Maximum number of elements that are counted here. Those of larger constants are counted when their bytes are hashed.
const CHECKED: usize = 2048;

/// The model file, and the files that its constants name.
#[derive(Debug)]
pub struct Files {
    folder: Option<PathBuf>,
    /// The model first. Names are relative to its folder.
    open: RefCell<Vec<(PathBuf, Bytes)>>,
    /// Indices in `open` of the files with external data.
    indices: RefCell<BTreeMap<PathBuf, usize>>,
    /// Path of the model, if it is a file.
    model: Option<PathBuf>,
    /// Key of the signatures that the files must have.
    key: Option<Arc<Key>>,
    /// Source of external data, if the files are not opened here.
    given: Option<Given>,
}

impl Files {
    /// Maps the model file. If there is a key, this file and those that it names must be signed.
    pub fn open(path: &Path, key: Option<Arc<Key>>) -> Result<Self, Problem> {
        if !path.is_file() {
            return Err(no_file(&[path.to_owned()]));
        }
        let bytes =
            map(path).map_err(|error| Problem::new(format!("cannot read {}: {error}", shown(path))))?;
        if let Some(key) = &key {
            key.check(path, &bytes)?;
        }
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        Ok(Files {
            folder: Some(path.parent().unwrap_or(Path::new("")).to_owned()),
            open: RefCell::new(vec![(name, bytes)]),
            indices: RefCell::default(),
            model: path.canonicalize().ok(),
            key,
            given: None,
        })
    }

    /// Creates a model whose files are not opened here.
    pub fn given(given: &Given) -> Self {
        Files { given: Some(given.clone()), ..Self::memory(given.model()) }
    }

    /// Creates a model in memory, which cannot have external data.
    pub fn memory(bytes: Bytes) -> Self {
        Files {
            folder: None,
            open: RefCell::new(vec![(PathBuf::new(), bytes)]),
            indices: RefCell::default(),
            model: None,
            key: None,
            given: None,
        }
    }

    /// Returns the bytes of the model file.
    pub fn model(&self) -> Bytes {
        let open = self.open.borrow();
        open.first().map(|file| file.1.clone()).unwrap_or_default()
    }

    /// Returns all files in use, the model first, as `(name relative to the model's folder, bytes)`.
    pub fn list(&self) -> Vec<(PathBuf, Bytes)> {
        self.open.borrow().clone()
    }

    /// Returns the folder of the model.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the location of a tensor's elements.
    pub fn weight(&self, tensor: &TensorProto) -> Result<Weight, Problem> {
        let name = &tensor.name;
        let dtype = DType::from_onnx(tensor.data_type).ok_or_else(|| {
            let number = tensor.data_type;
            Problem::new(format!("constant `{name}` has unknown element type {number}"))
        })?;
        if tensor.segment.is_some() {
            return Err(Problem::new(format!(
                "constant `{name}` is stored in segments, which are not supported"
            ))
            .help("save the model again with a current version of the onnx package"));
        }
        let sizes = sizes(tensor)?;
        let count = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let bytes = count.and_then(|count| dtype.bytes(count));
        let (Some(count), Some(length)) = (count, bytes.filter(|_| fit(tensor.dims.iter().copied()))) else {
            let what = format!("constant `{name}`");
            return Err(match dtype.kind() {
                ElementClass::String => Problem::expected(what, "a string tensor", "numbers or booleans"),
                _ => Problem::new(format!("{what} has shape {sizes:?}, which does not fit in memory"))
                    .damaged(),
            });
        };
        let (encoding, parts) = self.parts(tensor, dtype, length)?;
        let weight = Weight { dtype, sizes, encoding, parts };
        let stored: usize = weight.parts.iter().map(|part| part.bytes.len()).sum();
        let (right, expected) = match encoding {
            Encoding::Raw => (stored == length, length.to_string()),
            Encoding::Varint | Encoding::Records => {
                let least = count.min(length);
                (stored >= least, format!("at least {least}"))
            }
        };
        if right && (count > CHECKED || weight.holds_all()) {
            Ok(weight)
        } else if right {
            let elements = counted(count, "elements");
            Err(Problem::new(format!("constant `{name}` does not contain the {elements} of its shape"))
                .damaged())
        } else {
            let stored = counted(stored, "bytes");
            Err(Problem::new(format!("constant `{name}` has {stored}, expected {expected}")).damaged())
        }
    }

    /// Returns the sizes and elements of a tensor of strings.
    pub fn strings(&self, tensor: &TensorProto) -> Result<(Vec<usize>, Vec<String>), Problem> {
        let sizes = sizes(tensor)?;
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let strings: Vec<String> = tensor.string_data.iter().map(text).collect();
        let count = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        if count == Some(strings.len()) {
            Ok((sizes, strings))
        } else {
            let (name, found) = (&tensor.name, strings.len());
            Err(Problem::new(format!(
                "the number of strings of constant `{name}` is {found}, which does not match shape {sizes:?}"
            ))
            .damaged())
        }
    }

    /// Returns the locations of the elements, which take `length` bytes in memory.
    fn parts(
        &self,
        tensor: &TensorProto,
        dtype: DType,
        length: usize,
    ) -> Result<(Encoding, Vec<ByteRange>), Problem> {
        let name = &tensor.name;
        if tensor.data_location == DataLocation::External as i32 {
            let external = self.external(tensor, length);
            let part = external.map_err(|problem| problem.about(Topic::ExternalData))?;
            return Ok((Encoding::Raw, vec![part]));
        }
        if tensor.data_location != DataLocation::Default as i32 {
            let number = tensor.data_location;
            return Err(
                Problem::new(format!("constant `{name}` has the unknown `data_location` {number}")).damaged()
            );
        }
        let typed = [
            &tensor.float_data,
            &tensor.double_data,
            &tensor.int32_data,
            &tensor.int64_data,
            &tensor.uint64_data,
        ];
        if tensor.raw_data.is_some() && typed.iter().any(|chunks| !chunks.is_empty()) {
            return Err(Problem::new(format!(
                "constant `{name}` has elements in `raw_data` and in another field"
            ))
            .damaged());
        }
        if let Some(raw) = &tensor.raw_data {
            return Ok((Encoding::Raw, vec![self.part(raw)?]));
        }
        let (encoding, chunks) = match dtype {
            DType::F32 | DType::C64 => (Encoding::Raw, &tensor.float_data),
            DType::F64 | DType::C128 => (Encoding::Raw, &tensor.double_data),
            DType::I64 => (Encoding::Varint, &tensor.int64_data),
            DType::U64 | DType::U32 => (Encoding::Varint, &tensor.uint64_data),
            _ => (Encoding::Varint, &tensor.int32_data),
        };
        let parts: Result<Vec<ByteRange>, Problem> = chunks.iter().map(|chunk| self.part(chunk)).collect();
        // The packed bytes of types below 8 bits are in `int32_data`.
        Ok((encoding, parts?))
    }

    /// Returns the location in the model file of a slice of it.
    fn part(&self, bytes: &Bytes) -> Result<ByteRange, Problem> {
        let model = self.model();
        let start = (bytes.as_ptr() as usize).checked_sub(model.as_ptr() as usize);
        let inside = |start: &usize| {
            let end = start.checked_add(bytes.len());
            end.is_some_and(|end| end <= model.len())
        };
        let start = match start.filter(inside) {
            Some(start) => start,
            None if bytes.is_empty() => 0,
            None => return Err(Problem::defect("a constant is outside the model file")),
        };
        Ok(ByteRange { file: 0, start, bytes: bytes.clone() })
    }
}

fn sizes(tensor: &TensorProto) -> Result<Vec<usize>, Problem> {
    if tensor.dims.len() > MAX_AXES {
        let message = format!("constant `{}` has more than {MAX_AXES} axes", tensor.name);
        return Err(Problem::new(message).damaged());
    }
    let size = |&size: &i64| {
        usize::try_from(size).map_err(|_| {
            Problem::new(format!("constant `{}` has negative size {size}", tensor.name)).damaged()
        })
    };
    tensor.dims.iter().map(size).collect()
}

/// Maps a whole file.
fn map(path: &Path) -> std::io::Result<Bytes> {
    whole(&open_file(path, true)?)
}

/// Maximum number of bytes of a key or a signature.
const SHORT: u64 = 4096;

/// Reads a text file that must be short.
pub fn read_short(path: &Path) -> std::io::Result<String> {
    use std::io::Read;

    let mut text = String::new();
    open_file(path, true)?.take(SHORT).read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a regular file, not a pipe or a device. A link is an error unless links may be followed.
fn open_file(path: &Path, follow: bool) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Opening a pipe would wait for a writer.
        let links = if follow { 0 } else { libc::O_NOFOLLOW };
        options.custom_flags(libc::O_NONBLOCK | links);
    }
    #[cfg(not(unix))]
    let _ = follow;
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::Error::other("not a regular file")) }
}

fn whole(file: &File) -> std::io::Result<Bytes> {
    match file.metadata()?.len() {
        0 => Ok(Bytes::new()),
        _ => Ok(Bytes::from_owner(mapped(file)?)),
    }
}

#[allow(unsafe_code)]
fn mapped(file: &File) -> std::io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is read only while one model is compiled. If another program truncates the file meanwhile,
    // the compilation ends, as any reader of a mapped file would.
    unsafe { memmap2::Mmap::map(file) }
}

/// Returns `true` if the elements of a tensor are strings.
pub fn is_strings(tensor: &TensorProto) -> bool {
    DType::from_onnx(tensor.data_type).is_some_and(|dtype| dtype.kind() == ElementClass::String)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_overflows_is_a_problem() {
        for dims in [vec![i64::MAX, i64::MAX], vec![1, 0, i64::MAX], vec![0, 1 << 49]] {
            let tensor = TensorProto { data_type: 1, dims, ..TensorProto::default() };
            let problem = Files::memory(Bytes::new()).weight(&tensor).unwrap_err().to_string();
            assert!(problem.contains("does not fit in memory"), "{problem}");
        }
        let tensor = TensorProto { data_type: 1, dims: vec![-1], ..TensorProto::default() };
        let problem = Files::memory(Bytes::new()).weight(&tensor).unwrap_err().to_string();
        assert!(problem.starts_with("constant `` has negative size -1"), "{problem}");
    }
}
