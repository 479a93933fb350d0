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
        if let WeightSource::Memory(files) = self.source {
            for part in entry.parts {
                give_back(&files[part.file][part.start..][..part.length]);
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
        let in_place = self.in_place(self.entry(name));
        in_place.unwrap_or_else(|| self.tensor_data(name))
    }

    fn in_place(&self, entry: &Entry) -> Option<TensorData> {
        let ([part], Encoding::Raw) = (entry.parts, entry.encoding) else {
            return None;
        };
        let dtype = entry.dtype.carrier()?;
        let is_number = !dtype.is_bool() && 8 * dtype.size() == entry.dtype.bits();
        if !is_number || part.length < LEAST_IN_PLACE || lowered(&self.device, dtype) != dtype {
            return None;
        }
        let bytes = &self.embedded?[part.file][part.start..][..part.length];
        let shape = Shape::from(entry.shape.to_vec());
        stored::data(bytes, shape, dtype, &self.device)
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
        if let WeightSource::Memory(files) = self.source {
            files.iter().for_each(|file| give_back(file));
        }
    }
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
mod tests {
    use onnx_embed_kernels::attempt::attempt;

    use super::*;

    static TABLE: Table = Table {
        files: &[],
        entries: &[
            Entry {
                name: "fc.weight",
                dtype: ElementType::Float32,
                shape: &[1, 2],
                parts: &[at(1, 8)],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "axis",
                dtype: ElementType::Int64,
                shape: &[],
                parts: &[at(9, 10)],
                encoding: Encoding::Varint,
            },
            Entry {
                name: "mask",
                dtype: ElementType::Bool,
                shape: &[2],
                parts: &[at(19, 2)],
                encoding: Encoding::Raw,
            },
            Entry {
                name: "words",
                dtype: ElementType::String,
                shape: &[2],
                parts: &[at(21, 3), at(24, 2)],
                encoding: Encoding::Records,
            },
        ],
        fixed: &[],
    };

    const fn at(start: usize, length: usize) -> ByteRange {
        ByteRange { file: 0, start, length, gap: 0 }
    }

    /// A byte that misaligns the others, 1.5 and -2.0, -1 as a varint, false and true, "a" and "".
    const FILE: &[u8] = b"#\x00\x00\xc0\x3f\x00\x00\x00\xc0\
        \xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x01\x32\x01a\x32\x00";

    #[test]
    fn weights_arrive_on_the_device_in_their_dtype() {
        let weights = Weights::embedded(&TABLE, &[FILE], &Device::flex());
        let weight = weights.float::<2>("fc.weight");
        assert_eq!(weight.val().into_data(), TensorData::from([[1.5f32, -2.0]]));
        let mask = weights.boolean::<1>("mask");
        assert_eq!(mask.into_data(), TensorData::from([false, true]));
    }

    #[test]
    fn a_large_weight_of_the_program_is_the_same_as_one_of_a_file() {
        static LARGE: Table = Table {
            files: &[],
            entries: &[Entry {
                name: "table",
                dtype: ElementType::Float32,
                shape: &[128, 64],
                parts: &[at(3, 4 * 128 * 64)],
                encoding: Encoding::Raw,
            }],
            fixed: &[],
        };
        let values: Vec<f32> = (0..128 * 64).map(|at| at as f32).collect();
        for shift in 0..4 {
            let mut file = vec![0; shift + 3];
            file.extend_from_slice(bytemuck::cast_slice(&values));
            let files: [&'static [u8]; 1] = [&file.leak()[shift..]];
            let device = Device::flex();
            let expected =
                Weights::of(&LARGE, WeightSource::Memory(&files), Kept::new(), &device).tensor::<2>("table");
            let weights = Weights::embedded(&LARGE, &files, &device);
            let table = weights.tensor::<2>("table");
            let rows = Tensor::<1, Int>::from_data([127i64, 2], &device);
            let picked: Tensor<2> = onnx_embed_kernels::gather::gather(table.clone(), 0, rows.clone());
            let of_file = expected.clone().select(0, rows);
            assert_eq!(picked.into_data(), of_file.into_data());
            assert_eq!(table.into_data(), expected.into_data());
            let flat = weights.tensor::<2>("table").flatten::<1>(0, 1).into_data();
            assert_eq!(flat.try_into_vec::<f32>().unwrap(), values);
        }
    }

    #[test]
    fn a_scalar_has_one_axis_on_the_device_alone() {
        let weights = Weights::embedded(&TABLE, &[FILE], &Device::flex());
        assert_eq!(weights.int::<1>("axis").into_data(), TensorData::from([-1i64]));
        assert_eq!(weights.array::<i64>("axis"), Array::scalar(-1));
        assert_eq!(weights.tensor_data("axis").rank(), 0);
    }

    #[test]
    fn strings_stay_on_the_host() {
        let weights = Weights::embedded(&TABLE, &[FILE], &Device::flex());
        assert_eq!(weights.strings("words").data(), ["a", ""]);
    }

    #[test]
    fn a_weight_that_the_device_cannot_bind_is_named() {
        let check = |elements| {
            let checked = attempt(|| check_bytes("embed", elements, DType::F32, Some(128 << 20)));
            checked.map_err(|fault| fault.reason)
        };
        assert_eq!(check(32 << 20), Ok(()));
        assert_eq!(
            check(50 << 20).unwrap_err(),
            "weight `embed` requires 200.0 MiB, the limit for a tensor on this device is 128.0 MiB"
        );
        assert_eq!(most_bytes(&Device::flex()), None);
    }
}
