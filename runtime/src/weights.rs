//! Weights from the bytes of model files.

mod check;
mod decode;
mod fingerprint;
mod layers;
#[cfg(feature = "std")]
mod open;
mod packed;
#[cfg(feature = "std")]
mod signed;
mod source;
#[cfg(feature = "structure")]
mod structure;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use burn::module::Param;
use burn::tensor::{Bool, DType, Device, Int, Shape, Tensor, TensorData};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::fault::fail;
use onnx_embed_kernels::stored::{self, give_back};
use onnx_embed_kernels::{most_bytes, settle};

use crate::convert::{convert, elements, with_shape};
use crate::host::Scalar;
use crate::{Array, ElementType};
use check::Kept;
use decode::Stored;

pub use source::WeightSource;
#[cfg(feature = "structure")]
pub use structure::or_adapted;

/// Table of the weights of a model, which the macro generates.
#[derive(Debug)]
pub struct Table {
    /// The `.onnx` file, then its external data files.
    pub files: &'static [File],
    pub entries: &'static [Entry],
    /// Weights whose values the code depends on.
    pub fixed: &'static [Fixed],
}

/// A file from which a model was compiled.
#[derive(Debug)]
pub struct File {
    /// Path of an external data file relative to the folder of the model; name of the `.onnx` file.
    pub name: &'static str,
    pub length: usize,
    /// FNV-1a hash of the bytes after the last part of any weight.
    pub tail: u64,
}

/// A weight.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    pub dtype: ElementType,
    pub shape: &'static [usize],
    /// Parts of the file that contain its bytes, in the order of the bytes.
    pub parts: &'static [ByteRange],
    pub encoding: Encoding,
}

/// A weight whose value must be the compiled one in every file.
#[derive(Debug)]
pub struct Fixed {
    /// Index in [`Table::entries`].
    pub entry: usize,
    /// FNV-1a hash of its parts in their order.
    pub hash: u64,
}

/// A range of bytes of a weight.
#[derive(Debug)]
pub struct ByteRange {
    /// Index of the file in [`Table::files`].
    pub file: usize,
    pub start: usize,
    pub length: usize,
    /// FNV-1a hash of the bytes of the file between this part and the furthest end of the parts before it; of no bytes
    /// if they touch or overlap. Parts are ordered by start, then by index in the table.
    pub gap: u64,
}

/// Encoding of a weight in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Little endian, types of less than 8 bits packed, as in `raw_data`, packed `float_data` and `double_data`.
    Raw,
    /// Varints, as in packed `int32_data`, `int64_data` and `uint64_data`: numbers, the bits of 16- and 8-bit floats,
    /// or bytes into which smaller types are packed.
    Varint,
    /// Whole protobuf records of one repeated field, including tags: `string_data`, or `floats`, `ints` or `strings` of
    /// an attribute.
    Records,
}

/// Source of the weights of a model while it is loaded to a device.
///
/// When it is dropped, the pages from which weights were read are returned to the system.
pub struct Weights<'a> {
    entries: BTreeMap<&'static str, &'static Entry>,
    table: &'static [Entry],
    source: WeightSource<'a>,
    /// Copies of checked bytes, which are used instead of the source.
    kept: Kept,
    /// Files of the source, if they are part of the program.
    embedded: Option<&'a [&'static [u8]]>,
    device: Device,
    /// Maximum number of bytes of a tensor on the device, if limited.
    most_bytes: Option<u64>,
}

/// Minimum number of bytes of a weight that a tensor reads in place: the pages of a smaller one need more memory than a
/// copy.
const LEAST_IN_PLACE: usize = 16 << 10;

impl<'a> Weights<'a> {
    /// Returns the weights of `table` in files of the program.
    ///
    /// # Panics
    ///
    /// If they are not the files that the macro read.
    pub fn new(table: &'static Table, files: &'a [&'static [u8]], device: &Device) -> Self {
        #[cfg(feature = "std")]
        table.check_embedded(files);
        Self::embedded(table, files, device)
    }

    fn embedded(table: &'static Table, files: &'a [&'static [u8]], device: &Device) -> Self {
        let mut weights = Self::of(table, WeightSource::Memory(files), Kept::new(), device);
        weights.embedded = Some(files);
        weights
    }

    /// Returns the weights of `table` in a source, from which `kept` was copied.
    fn of(table: &'static Table, source: WeightSource<'a>, kept: Kept, device: &Device) -> Self {
        settle();
        let entries = table.entries.iter().map(|entry| (entry.name, entry));
        Self {
            entries: entries.collect(),
            table: table.entries,
            source,
            kept,
            embedded: None,
            device: device.clone(),
            most_bytes: most_bytes(device),
        }
    }

    /// Returns the device of the weights.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns a weight that training changes. A scalar becomes a tensor of one element.
    pub fn float<const D: usize>(&self, name: &str) -> Param<Tensor<D>> {
        Param::from_tensor(self.tensor(name))
    }

    /// Returns a statistic of training, which is a parameter without gradients.
    pub fn statistic<const D: usize>(&self, name: &str) -> Param<Tensor<D>> {
        self.float(name).set_require_grad(false)
    }

    /// Returns a float weight that training does not change, or that is part of an expression.
    pub fn tensor<const D: usize>(&self, name: &str) -> Tensor<D> {
        let (data, dtype) = self.lowered(name, D);
        self.device.memory_persistent_allocations(data, |data| Tensor::from_data(data, (&self.device, dtype)))
    }

    /// Returns an integer weight.
    pub fn int<const D: usize>(&self, name: &str) -> Tensor<D, Int> {
        let (data, dtype) = self.lowered(name, D);
        self.device.memory_persistent_allocations(data, |data| Tensor::from_data(data, (&self.device, dtype)))
    }

    /// Returns a boolean weight.
    pub fn boolean<const D: usize>(&self, name: &str) -> Tensor<D, Bool> {
        let (data, dtype) = self.lowered(name, D);
        self.device.memory_persistent_allocations(data, |data| Tensor::from_data(data, (&self.device, dtype)))
    }

    /// Returns a weight on the host.
    pub fn array<T: Scalar>(&self, name: &str) -> Array<T> {
        let shape = self.entry(name).shape;
        Array::new(shape, elements(self.tensor_data(name)))
    }

    /// Returns a weight of strings.
    pub fn strings(&self, name: &str) -> Array<String> {
        let entry = self.entry(name);
        Array::new(entry.shape, sound(name, decode::strings(entry, self.stored(entry))))
    }

    /// Returns a weight in the dtype that carries its type, with the rank that it has in ONNX.
    pub fn tensor_data(&self, name: &str) -> TensorData {
        let entry = self.entry(name);
        let data = sound(name, decode::numbers(entry, self.stored(entry)));
        for part in entry.parts {
            if let Some(file) = self.source.file(part.file) {
                give_back(&file[part.start..][..part.length]);
            }
        }
        data
    }

    fn stored(&self, entry: &Entry) -> Stored<'_> {
        Stored { source: self.source, kept: self.kept.get(entry.name).map(Vec::as_slice) }
    }

    fn entry(&self, name: &str) -> &'static Entry {
        match self.entries.get(name) {
            Some(entry) => entry,
            None => panic!("the model has no weight `{name}`"),
        }
    }

    /// Returns a weight as tensor data, in place if possible.
    fn data(&self, name: &str) -> TensorData {
        let entry = self.entry(name);
        let Some((part, dtype)) = plain(entry) else {
            return self.tensor_data(name);
        };
        if let Some(data) = self.in_place(entry, part, dtype) {
            return data;
        }
        match self.read(entry, part, dtype) {
            Some(read) => sound(name, read),
            None => self.tensor_data(name),
        }
    }

    fn in_place(&self, entry: &Entry, part: &ByteRange, dtype: DType) -> Option<TensorData> {
        if part.length < LEAST_IN_PLACE || lowered(&self.device, dtype) != dtype {
            return None;
        }
        let shape = Shape::from(entry.shape.to_vec());
        if let WeightSource::Shared(files) = self.source {
            let range = part.start..part.start + part.length;
            // A fixed weight has a copy that was checked.
            let bytes = files.get(part.file).filter(|_| !self.kept.contains_key(entry.name))?;
            return stored::shared(bytes, range, shape, dtype, &self.device);
        }
        let bytes = &self.embedded?[part.file][part.start..][..part.length];
        stored::data(bytes, shape, dtype, &self.device)
    }

    /// Reads a large weight of an open file, by several threads, into memory that another one used.
    #[cfg(feature = "std")]
    fn read(
        &self,
        entry: &Entry,
        part: &ByteRange,
        dtype: DType,
    ) -> Option<Result<TensorData, &'static str>> {
        let WeightSource::Open(files) = self.source else {
            return None;
        };
        let file = files.get(part.file).filter(|_| !self.kept.contains_key(entry.name))?;
        let shape = Shape::from(entry.shape.to_vec());
        let read = |offset, bytes: &mut [u8]| file.read(part.start + offset, bytes);
        stored::filled(part.length, &shape, dtype, &self.device, read)
    }

    #[cfg(not(feature = "std"))]
    fn read(&self, _: &Entry, _: &ByteRange, _: DType) -> Option<Result<TensorData, &'static str>> {
        None
    }

    fn lowered(&self, name: &str, rank: usize) -> (TensorData, DType) {
        let data = self.data(name);
        let dtype = lowered(&self.device, data.dtype());
        check_bytes(name, data.num_elements(), dtype, self.most_bytes);
        (with_shape(convert(data, dtype), rank), dtype)
    }
}

impl Drop for Weights<'_> {
    fn drop(&mut self) {
        (0..self.source.count()).filter_map(|at| self.source.file(at)).for_each(give_back);
    }
}

/// Returns the bytes of a weight that is stored as tensors have it, and its dtype.
fn plain(entry: &Entry) -> Option<(&ByteRange, DType)> {
    let ([part], Encoding::Raw) = (entry.parts, entry.encoding) else {
        return None;
    };
    let dtype = entry.dtype.carrier()?;
    let is_number = !dtype.is_bool() && 8 * dtype.size() == entry.dtype.bits();
    is_number.then_some((part, dtype))
}

/// Fails if a weight exceeds the largest tensor of the device.
fn check_bytes(name: &str, elements: usize, dtype: DType, most: Option<u64>) {
    let bytes = elements as u64 * dtype.size() as u64;
    if let Some(most) = most.filter(|&most| bytes > most) {
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        fail(format_args!(
            "weight `{name}` requires {:.1} MiB, the limit for a tensor on this device is {:.1} MiB",
            mebibytes(bytes),
            mebibytes(most)
        ));
    }
}

/// Returns the decoded weight. The macro or [`Table::check`] found that it can be decoded, but the file may have
/// changed since.
fn sound<T>(name: &str, decoded: Result<T, &'static str>) -> T {
    match decoded {
        Ok(value) => value,
        Err(reason) => fail(format_args!("weight `{name}` {reason}")),
    }
}

#[cfg(test)]
mod tests;
