//! Decoding of stored bytes to numbers and strings.

use alloc::borrow::Cow;
use alloc::{string::String, vec, vec::Vec};

use burn::tensor::{Element, Shape, TensorData};
use bytemuck::{AnyBitPattern, NoUninit, pod_collect_to_vec};
use half::{bf16, f16};

use onnx_embed_kernels::float8;

use super::{Encoding, Entry, WeightSource, packed};
use crate::ElementType;

const _: () =
    assert!(cfg!(target_endian = "little"), "weights are copied as they are stored, in little endian");

/// Source of the bytes of a weight.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    pub source: WeightSource<'a>,
    /// A copy of the bytes, used instead of those of the source.
    pub kept: Option<&'a [u8]>,
}

const COUNT_DIFFERS: &str = "has a number of values that does not match its shape";

/// Returns the values of a weight in the dtype that carries its type.
pub fn numbers(entry: &Entry, stored: Stored<'_>) -> Result<TensorData, &'static str> {
    if let (Encoding::Raw, None) = (entry.encoding, stored.kept)
        && let Some(data) = copied(entry, stored.source)?
    {
        return Ok(data);
    }
    let stored = stored.joined(entry)?;
    let bytes = match entry.encoding {
        Encoding::Raw => stored,
        Encoding::Varint => Cow::Owned(packed::varints(&stored, width(entry.dtype))?),
        Encoding::Records => Cow::Owned(packed::records(&stored, width(entry.dtype))?),
    };
    let count: usize = entry.shape.iter().product();
    if bytes.len() == (count * entry.dtype.bits()).div_ceil(8) {
        typed(&bytes, entry.dtype, count, entry.shape)
    } else {
        Err(COUNT_DIFFERS)
    }
}

/// Returns the strings of a weight. Invalid UTF-8 is replaced.
pub fn strings(entry: &Entry, stored: Stored<'_>) -> Result<Vec<String>, &'static str> {
    let stored = stored.joined(entry)?;
    let texts = packed::texts(&stored)?;
    if texts.len() == entry.shape.iter().product::<usize>() {
        Ok(texts)
    } else {
        Err("has a number of strings that does not match its shape")
    }
}

impl<'a> Stored<'a> {
    /// Returns the bytes of a weight: a slice of the file if it is in memory and they are contiguous.
    pub fn joined(self, entry: &Entry) -> Result<Cow<'a, [u8]>, &'static str> {
        if let Some(kept) = self.kept {
            return Ok(Cow::Borrowed(kept));
        }
        match entry.parts {
            [] => Ok(Cow::Borrowed(&[])),
            [part] => self.source.part(part),
            parts => {
                let parts = parts.iter().map(|part| self.source.part(part));
                Ok(Cow::Owned(parts.collect::<Result<Vec<_>, _>>()?.concat()))
            }
        }
    }
}

/// Copies the values of a weight that is stored as in memory, once, to memory that is aligned for the dtype.
fn copied(entry: &Entry, source: WeightSource<'_>) -> Result<Option<TensorData>, &'static str> {
    use ElementType::*;
    let data = match entry.dtype {
        Float32 => filled::<f32>(entry, source),
        Float64 => filled::<f64>(entry, source),
        Float16 => filled::<f16>(entry, source),
        BFloat16 => filled::<bf16>(entry, source),
        Int64 => filled::<i64>(entry, source),
        Int32 => filled::<i32>(entry, source),
        Int16 => filled::<i16>(entry, source),
        Int8 => filled::<i8>(entry, source),
        UInt64 => filled::<u64>(entry, source),
        UInt32 => filled::<u32>(entry, source),
        UInt16 => filled::<u16>(entry, source),
        UInt8 => filled::<u8>(entry, source),
        _ => return Ok(None),
    };
    data.map(Some)
}

fn filled<T: Element + AnyBitPattern + NoUninit>(
    entry: &Entry,
    source: WeightSource<'_>,
) -> Result<TensorData, &'static str> {
    let count: usize = entry.shape.iter().product();
    let stored = entry.parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.length));
    if stored != count.checked_mul(size_of::<T>()) {
        return Err(COUNT_DIFFERS);
    }
    let mut values = vec![T::zeroed(); count];
    let mut rest: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    for part in entry.parts {
        let (bytes, behind) = core::mem::take(&mut rest).split_at_mut(part.length);
        source.read(part, bytes)?;
        rest = behind;
    }
    Ok(data(values, entry.shape))
}

/// Returns the number of bytes of a stored number. Smaller types are packed into bytes.
fn width(dtype: ElementType) -> usize {
    dtype.bits().div_ceil(8)
}

/// Decodes or copies the bytes to memory that is aligned for the dtype.
fn typed(
    bytes: &[u8],
    dtype: ElementType,
    count: usize,
    shape: &[usize],
) -> Result<TensorData, &'static str> {
    use ElementType::*;
    let small = |decode: fn(u8) -> f32| data(bytes.iter().map(|&byte| decode(byte)).collect(), shape);
    Ok(match dtype {
        Float32 => aligned::<f32>(bytes, shape),
        Float64 => aligned::<f64>(bytes, shape),
        Float16 => aligned::<f16>(bytes, shape),
        BFloat16 => aligned::<bf16>(bytes, shape),
        Int64 => aligned::<i64>(bytes, shape),
        Int32 => aligned::<i32>(bytes, shape),
        Int16 => aligned::<i16>(bytes, shape),
        Int8 => aligned::<i8>(bytes, shape),
        UInt64 => aligned::<u64>(bytes, shape),
        UInt32 => aligned::<u32>(bytes, shape),
        UInt16 => aligned::<u16>(bytes, shape),
        UInt8 => aligned::<u8>(bytes, shape),
        Bool => data(bytes.iter().map(|&byte| byte != 0).collect(), shape),
        Float8E4M3FN => small(float8::e4m3fn),
        Float8E4M3FNUZ => small(float8::e4m3fnuz),
        Float8E5M2 => small(float8::e5m2),
        Float8E5M2FNUZ => small(float8::e5m2fnuz),
        Float8E8M0 => small(float8::e8m0),
        Float4E2M1 => {
            let codes = packed::fields(bytes, 4, count);
            data(codes.map(float8::e2m1).collect(), shape)
        }
        UInt4 => data(packed::fields(bytes, 4, count).collect::<Vec<u8>>(), shape),
        UInt2 => data(packed::fields(bytes, 2, count).collect::<Vec<u8>>(), shape),
        Int4 => data(packed::fields(bytes, 4, count).map(|code| signed(code, 4)).collect(), shape),
        Int2 => data(packed::fields(bytes, 2, count).map(|code| signed(code, 2)).collect(), shape),
        String | Complex64 | Complex128 => return Err("has a type that tensors do not support"),
    })
}

fn aligned<T: Element + AnyBitPattern + NoUninit>(bytes: &[u8], shape: &[usize]) -> TensorData {
    data(pod_collect_to_vec::<u8, T>(bytes), shape)
}

fn data<T: Element>(values: Vec<T>, shape: &[usize]) -> TensorData {
    TensorData::new(values, Shape::from(shape.to_vec()))
}

/// Returns a two's complement number of `bits` bits.
fn signed(code: u8, bits: u32) -> i8 {
    ((code << (8 - bits)) as i8) >> (8 - bits)
}

#[cfg(test)]
mod tests {
    use super::super::ByteRange;
    use super::*;
    use burn::tensor::DType;

    fn memory<'a>(files: &'a [&'a [u8]]) -> Stored<'a> {
        Stored { source: WeightSource::Memory(files), kept: None }
    }

    fn decoded(dtype: ElementType, encoding: Encoding, shape: &'static [usize], file: &[u8]) -> TensorData {
        let part = ByteRange { file: 0, start: 0, length: file.len(), gap: 0 };
        let entry = Entry { name: "w", dtype, shape, parts: Box::leak(Box::new([part])), encoding };
        numbers(&entry, memory(&[file])).unwrap()
    }

    #[test]
    fn numbers_below_a_byte_fill_it_from_its_low_end() {
        let int4 = decoded(ElementType::Int4, Encoding::Raw, &[3], &[0x8f, 0x07]);
        assert_eq!(int4, TensorData::from([-1i8, -8, 7]));
        let uint2 = decoded(ElementType::UInt2, Encoding::Raw, &[4], &[0b11_10_01_00]);
        assert_eq!(uint2, TensorData::from([0u8, 1, 2, 3]));
        let float4 = decoded(ElementType::Float4E2M1, Encoding::Raw, &[2], &[0x97]);
        assert_eq!(float4, TensorData::from([6.0f32, -0.5]));
    }

    #[test]
    fn odd_counts_end_within_a_byte() {
        let run = |dtype, shape: &'static [usize], file: &[u8]| {
            let part = ByteRange { file: 0, start: 0, length: file.len(), gap: 0 };
            let entry = Entry {
                name: "w",
                dtype,
                shape,
                parts: Box::leak(Box::new([part])),
                encoding: Encoding::Raw,
            };
            numbers(&entry, memory(&[file]))
        };
        let codes = [0b11_10_01_00, 0b01_01_01_10];
        let uint2 = |shape| run(ElementType::UInt2, shape, &codes);
        assert_eq!(uint2(&[5]), Ok(TensorData::from([0u8, 1, 2, 3, 2])));
        assert_eq!(uint2(&[7]), Ok(TensorData::from([0u8, 1, 2, 3, 2, 1, 1])));
        let float4 = |shape, file: &[u8]| run(ElementType::Float4E2M1, shape, file);
        assert_eq!(float4(&[3, 1], &[0x97, 0xF1]), Ok(TensorData::from([[6.0f32], [-0.5], [0.5]])));
        assert_eq!(float4(&[1], &[0x9F]), Ok(TensorData::from([-6.0f32])));
        for (shape, file) in [(&[3][..], &[0x97][..]), (&[3], &[0; 3]), (&[0], &[0]), (&[1], &[])] {
            assert_eq!(float4(shape, file), Err(COUNT_DIFFERS));
        }
        for shape in [&[4][..], &[9], &[0]] {
            assert_eq!(uint2(shape), Err(COUNT_DIFFERS));
        }
    }

    #[test]
    fn varints_carry_the_bits_of_half_floats() {
        let decoded_floats = decoded(ElementType::Float16, Encoding::Varint, &[2], b"\x80\x78\x80\x80\x02");
        assert_eq!(decoded_floats.dtype(), DType::F16);
        assert_eq!(decoded_floats, TensorData::from([f16::ONE, f16::NEG_ZERO]));
    }

    #[test]
    fn attributes_are_read_with_their_tags() {
        let floats = decoded(
            ElementType::Float32,
            Encoding::Records,
            &[2],
            b"\x3d\x00\x00\x80\x3f\x3d\x00\x00\x00\x40",
        );
        assert_eq!(floats, TensorData::from([1.0f32, 2.0]));
        let ints = decoded(ElementType::Int64, Encoding::Records, &[2], b"\x40\x05\x40\x80\x01");
        assert_eq!(ints, TensorData::from([5i64, 128]));
    }

    #[test]
    fn a_weight_of_several_parts_is_put_together() {
        let part = |start| ByteRange { file: 0, start, length: 2, gap: 0 };
        let entry = Entry {
            name: "w",
            dtype: ElementType::UInt16,
            shape: &[2],
            parts: Box::leak(Box::new([part(3), part(0)])),
            encoding: Encoding::Raw,
        };
        let data = numbers(&entry, memory(&[&[1, 0, 9, 2, 0]])).unwrap();
        assert_eq!(data, TensorData::from([2u16, 1]));
    }

    #[test]
    fn a_part_outside_of_the_file_is_an_error() {
        let entry = Entry {
            name: "w",
            dtype: ElementType::UInt8,
            shape: &[1],
            parts: &[ByteRange { file: 0, start: usize::MAX, length: 1, gap: 0 }],
            encoding: Encoding::Raw,
        };
        assert_eq!(numbers(&entry, memory(&[&[]])), Err("is outside its file"));
    }
}
