//! Constants of a model as byte ranges of its files.

use bytes::{Buf, Bytes};
use prost::encoding::{self, WireType};

use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::types::{Known, TensorType};

/// A constant whose elements remain in the model's files until the model is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    pub dtype: DType,
    pub sizes: Vec<usize>,
    pub encoding: Encoding,
    pub parts: Vec<ByteRange>,
}

/// Returns `true` if a constant of this type counts as a weight. Scalars, shapes, indices, booleans and strings do not.
pub fn is_weight(dtype: DType, sizes: &[usize]) -> bool {
    !sizes.is_empty() && !matches!(dtype, DType::I64 | DType::Bool | DType::String)
}

/// A byte range of a file. File 0 is the model, others contain external data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub file: usize,
    pub start: usize,
    /// The bytes, a slice of the mapped file.
    pub bytes: Bytes,
}

/// Encoding of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Consecutive little-endian elements. Types below 8 bits are packed.
    Raw,
    /// A protobuf varint for each element. Floats of at most 16 bits are stored as their bits.
    Varint,
    /// A protobuf record with its key for each element: a list of an attribute.
    Records,
}

/// Maximum number of elements of constants that are read at compile time.
const TINY: usize = 2048;

impl Weight {
    /// Returns the type of the tensor.
    pub fn tensor_type(&self) -> TensorType {
        let dim = |&size: &usize| Dim::from(i64::try_from(size).unwrap_or(i64::MAX));
        TensorType::new(self.dtype, self.sizes.iter().map(dim).collect())
    }

    /// Returns the index of the file in which the elements start, and the offset there, in bytes.
    pub fn start(&self) -> Option<(usize, usize)> {
        self.parts.first().map(|part| (part.file, part.start))
    }

    /// Returns the number of elements, `None` if it overflows.
    pub fn count(&self) -> Option<usize> {
        self.sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size))
    }

    /// Returns the elements, if they are few and of a type that the compiler computes with.
    pub fn known(&self) -> Option<Known> {
        if self.is_small() { self.elements() } else { None }
    }

    /// Returns `true` if the elements are so few that they may be read at compile time.
    pub fn is_small(&self) -> bool {
        self.count().is_some_and(|count| count <= TINY)
    }

    /// Returns all elements, if they are of a type that the compiler computes with.
    pub fn elements(&self) -> Option<Known> {
        let bits = self.bits()?;
        Some(match self.dtype.kind() {
            ElementClass::Int if matches!(self.dtype, DType::U64) => {
                let number = |bits: u64| i64::try_from(bits).ok().map(Dim::from);
                Known::Ints(bits.into_iter().map(number).collect::<Option<_>>()?)
            }
            ElementClass::Int => {
                let width = self.dtype.bits();
                let signed = self.dtype.is_signed();
                let number = |bits| Dim::from(extend(bits, width, signed));
                Known::Ints(bits.into_iter().map(number).collect())
            }
            ElementClass::Bool => Known::Bools(bits.into_iter().map(|bits| bits != 0).collect()),
            ElementClass::Float => {
                let float = |bits| float(self.dtype, bits);
                Known::Floats(bits.into_iter().map(float).collect::<Option<_>>()?)
            }
            ElementClass::String | ElementClass::Complex => return None,
        })
    }

    /// Returns the bits of all elements, of integers in any number of higher bits, `None` for strings.
    pub fn bits(&self) -> Option<Vec<u64>> {
        let count = self.count()?;
        match self.encoding {
            _ if self.dtype == DType::String => None,
            Encoding::Raw => self.raw_bits(count),
            Encoding::Varint => self.varints(count),
            Encoding::Records => self.records(count),
        }
    }

    /// Returns `true` if the number of encoded elements matches the sizes.
    pub fn holds_all(&self) -> bool {
        let Some(count) = self.count() else {
            return false;
        };
        match self.encoding {
            // Types below 8 bits are packed into bytes, which are stored as varints.
            Encoding::Varint if self.dtype.bits() < 8 => {
                let bytes = self.dtype.bytes(count);
                bytes.is_some_and(|bytes| self.varints(bytes).is_some())
            }
            Encoding::Varint => self.varints(count).is_some(),
            Encoding::Records => self.records(count).is_some(),
            Encoding::Raw => true,
        }
    }

    /// Returns the strings, if the records contain strings.
    pub fn strings(&self) -> Option<Vec<String>> {
        let count = self.count()?;
        let mut strings = Vec::new();
        for part in &self.parts {
            let mut bytes = part.bytes.as_ref();
            while !bytes.is_empty() && strings.len() <= count {
                let (_, wire) = encoding::decode_key(&mut bytes).ok()?;
                let length = usize::try_from(encoding::decode_varint(&mut bytes).ok()?).ok()?;
                let text = bytes.get(..length).filter(|_| wire == WireType::LengthDelimited)?;
                strings.push(String::from_utf8_lossy(text).into_owned());
                bytes = bytes.get(length..)?;
            }
        }
        (strings.len() == count).then_some(strings)
    }

    /// Returns `true` if all elements are known to be finite numbers.
    pub fn is_finite(&self) -> bool {
        self.elements().is_some_and(|known| known.is_finite())
    }

    fn raw_bits(&self, count: usize) -> Option<Vec<u64>> {
        let bytes: Vec<u8> = self.parts.iter().flat_map(|part| &part.bytes).copied().collect();
        let width = self.dtype.bits() as usize;
        if width < 8 {
            let per_byte = 8usize.checked_div(width)?;
            let element = |at: usize| {
                let byte = bytes.get(at.checked_div(per_byte)?)?;
                let shift = at.checked_rem(per_byte)?.checked_mul(width)?;
                Some(u64::from(byte >> shift) & ((1 << width) - 1))
            };
            return (0..count).map(element).collect();
        }
        let element = |chunk: &[u8]| {
            let fold = |bits, byte: &u8| (bits << 8) | u64::from(*byte);
            chunk.iter().rev().fold(0u64, fold)
        };
        let elements: Vec<u64> = bytes.chunks_exact(width / 8).map(element).collect();
        (elements.len() == count).then_some(elements)
    }

    fn varints(&self, count: usize) -> Option<Vec<u64>> {
        let mut elements = Vec::new();
        for part in &self.parts {
            let mut bytes = part.bytes.as_ref();
            while !bytes.is_empty() && elements.len() <= count {
                elements.push(encoding::decode_varint(&mut bytes).ok()?);
            }
        }
        (elements.len() == count).then_some(elements)
    }

    fn records(&self, count: usize) -> Option<Vec<u64>> {
        let mut elements = Vec::new();
        for part in &self.parts {
            let mut bytes = part.bytes.as_ref();
            while !bytes.is_empty() && elements.len() <= count {
                let (_, wire) = encoding::decode_key(&mut bytes).ok()?;
                elements.push(number(wire, &mut bytes)?);
            }
        }
        (elements.len() == count).then_some(elements)
    }
}

/// Reads the number of a record after its key.
fn number(wire: WireType, bytes: &mut &[u8]) -> Option<u64> {
    match wire {
        WireType::Varint => encoding::decode_varint(bytes).ok(),
        WireType::ThirtyTwoBit => bytes.try_get_u32_le().ok().map(u64::from),
        WireType::SixtyFourBit => bytes.try_get_u64_le().ok(),
        _ => None,
    }
}

/// Converts the low `width` bits to a number.
fn extend(bits: u64, width: u32, signed: bool) -> i64 {
    let shift = 64u32.saturating_sub(width);
    let high = bits.wrapping_shl(shift);
    if signed { (high as i64).wrapping_shr(shift) } else { high.wrapping_shr(shift) as i64 }
}

fn float(dtype: DType, bits: u64) -> Option<f64> {
    Some(match dtype {
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        DType::F64 => f64::from_bits(bits),
        DType::F16 => half::f16::from_bits(bits as u16).to_f64(),
        DType::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(dtype: DType, count: usize, encoding: Encoding, bytes: &'static [u8]) -> Weight {
        Weight {
            dtype,
            sizes: vec![count],
            encoding,
            parts: vec![ByteRange { file: 0, start: 0, bytes: Bytes::from_static(bytes) }],
        }
    }

    #[test]
    fn raw_integers_keep_their_sign() {
        let ints = weight(DType::I16, 2, Encoding::Raw, &[0xfe, 0xff, 2, 0]);
        assert_eq!(ints.known(), Some(Known::Ints(vec![(-2).into(), 2.into()])));
    }

    #[test]
    fn infinite_elements_are_found() {
        let floats = |bytes| weight(DType::Bf16, 2, Encoding::Raw, bytes);
        assert!(floats(&[0x80, 0x3f, 0, 0]).is_finite());
        assert!(!floats(&[0x80, 0x3f, 0x80, 0x7f]).is_finite());
        assert!(!floats(&[0xc0, 0x7f, 0, 0]).is_finite());
        assert!(!floats(&[0]).is_finite());
    }

    #[test]
    fn nibbles_come_low_half_first() {
        let ints = weight(DType::I4, 3, Encoding::Raw, &[0xf1, 0x07]);
        let expected = vec![1.into(), (-1).into(), 7.into()];
        assert_eq!(ints.known(), Some(Known::Ints(expected)));
    }

    #[test]
    fn varints_hold_the_bits_of_half_floats() {
        let floats = weight(DType::F16, 1, Encoding::Varint, &[0x80, 0x78]);
        assert_eq!(floats.known(), Some(Known::Floats(vec![1.0])));
    }

    #[test]
    fn records_have_keys() {
        let ints = weight(DType::I64, 2, Encoding::Records, b"\x40\x05\x40\x80\x01");
        assert_eq!(ints.known(), Some(Known::Ints(vec![5.into(), 128.into()])));
        let float = weight(DType::F32, 1, Encoding::Records, b"\x3d\0\0\x80\x3f");
        assert_eq!(float.known(), Some(Known::Floats(vec![1.0])));
    }

    #[test]
    fn a_wrong_length_is_not_known() {
        assert_eq!(weight(DType::F32, 2, Encoding::Raw, &[0; 7]).known(), None);
    }
}
