//! Elements of constants as bytes of equal width.

use super::layout::Root;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::types::Known;
use crate::weight::{Encoding, Weight};

/// Returns the number of bytes of an element, `None` for strings. Elements of less than 8 bits have a byte each.
pub(super) fn width(dtype: DType) -> Option<usize> {
    let bits = usize::try_from(dtype.bits()).ok()?;
    (dtype != DType::String && bits > 0).then(|| (bits / 8).max(1))
}

/// Returns the elements of a constant in little endian.
pub(super) fn of(root: Root<'_>, dtype: DType) -> Option<Vec<u8>> {
    match root {
        Root::Stored(weight) => stored(weight),
        Root::Known(known) => computed(known, dtype),
        Root::Computed(_) | Root::Missing => None,
    }
}

/// Returns the stored elements of a constant in little endian.
pub(crate) fn stored(weight: &Weight) -> Option<Vec<u8>> {
    let width = width(weight.dtype)?;
    if weight.encoding == Encoding::Raw && weight.dtype.bits() >= 8 {
        let bytes: Vec<u8> = weight.parts.iter().flat_map(|part| part.bytes.iter().copied()).collect();
        return (bytes.len() == weight.count()?.checked_mul(width)?).then_some(bytes);
    }
    let elements = weight.bits()?.into_iter();
    Some(elements.flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect())
}

/// Returns elements that the compiler computed, `None` if they are symbolic or not exact in this type.
fn computed(known: &Known, dtype: DType) -> Option<Vec<u8>> {
    let width = width(dtype)?;
    let bits: Vec<u64> = match known {
        Known::Ints(all) if dtype.is_int() => {
            all.iter().map(|dim| dim.number().map(i64::cast_unsigned)).collect::<Option<_>>()?
        }
        Known::Bools(all) if dtype == DType::Bool => all.iter().map(|&flag| u64::from(flag)).collect(),
        Known::Floats(all) => all.iter().map(|&value| float(value, dtype)).collect::<Option<_>>()?,
        _ => return None,
    };
    Some(bits.into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect())
}

fn float(value: f64, dtype: DType) -> Option<u64> {
    let (bits, back) = match dtype {
        DType::F64 => (value.to_bits(), value),
        DType::F32 => (u64::from((value as f32).to_bits()), f64::from(value as f32)),
        DType::F16 => {
            let half = half::f16::from_f64(value);
            (u64::from(half.to_bits()), half.to_f64())
        }
        DType::Bf16 => {
            let half = half::bf16::from_f64(value);
            (u64::from(half.to_bits()), half.to_f64())
        }
        _ => return None,
    };
    (back.to_bits() == value.to_bits()).then_some(bits)
}

/// Returns elements in the encoding of a weight, `None` if this encoding is not written.
pub(super) fn encoded(weight: &Weight, elements: &[u8]) -> Option<Vec<u8>> {
    let bits = weight.dtype.bits();
    let width = width(weight.dtype)?;
    match weight.encoding {
        Encoding::Raw if bits >= 8 => Some(elements.to_vec()),
        Encoding::Raw => {
            let per_byte = usize::try_from(8u32.checked_div(bits)?).ok()?;
            let packed = elements.chunks(per_byte).map(|chunk| {
                chunk.iter().rev().fold(0u8, |byte, &element| byte.wrapping_shl(bits) | element)
            });
            Some(packed.collect())
        }
        Encoding::Varint if bits >= 8 => {
            let mut bytes = Vec::new();
            for element in elements.chunks(width) {
                let number =
                    element.iter().rev().fold(0u64, |bits, &byte| bits.wrapping_shl(8) | u64::from(byte));
                prost::encoding::encode_varint(extended(number, weight.dtype), &mut bytes);
            }
            Some(bytes)
        }
        Encoding::Varint | Encoding::Records => None,
    }
}

/// Extends the sign of an integer to 64 bits, as protobuf encodes it.
fn extended(bits: u64, dtype: DType) -> u64 {
    if dtype.is_float() || !dtype.is_signed() {
        return bits;
    }
    let shift = 64u32.saturating_sub(dtype.bits());
    (bits.wrapping_shl(shift).cast_signed().wrapping_shr(shift)).cast_unsigned()
}

/// Returns the strings of a constant.
pub(super) fn strings(root: Root<'_>) -> Option<Vec<String>> {
    match root {
        Root::Stored(weight) if weight.dtype == DType::String => weight.strings(),
        Root::Known(Known::Strings(strings)) => Some(strings.clone()),
        _ => None,
    }
}

/// Returns `true` if known elements contain symbolic sizes.
pub(super) fn is_symbolic(root: Root<'_>) -> bool {
    matches!(root, Root::Known(Known::Ints(sizes)) if sizes.iter().any(|size: &Dim| size.number().is_none()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::weight::ByteRange;

    fn weight(dtype: DType, count: usize, encoding: Encoding, bytes: &'static [u8]) -> Weight {
        let parts = vec![ByteRange { file: 0, start: 0, bytes: Bytes::from_static(bytes) }];
        Weight { dtype, sizes: vec![count], encoding, parts }
    }

    #[test]
    fn elements_keep_their_encoding() {
        let all: [(DType, usize, Encoding, &[u8]); 5] = [
            (DType::F32, 1, Encoding::Raw, &[0, 0, 0x80, 0x3f]),
            (DType::I4, 3, Encoding::Raw, &[0xf1, 0x07]),
            (DType::U2, 5, Encoding::Raw, &[0b11_10_01_00, 0b10]),
            (DType::I32, 2, Encoding::Varint, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02"),
            (DType::F16, 2, Encoding::Varint, b"\x80\x78\x80\xf8\x02"),
        ];
        for (dtype, count, encoding, bytes) in all {
            let weight = weight(dtype, count, encoding, bytes);
            let elements = stored(&weight).unwrap();
            assert_eq!(elements.len(), count * width(dtype).unwrap());
            assert_eq!(encoded(&weight, &elements).as_deref(), Some(bytes), "{dtype:?}");
        }
    }

    #[test]
    fn computed_elements_must_be_exact() {
        let float = |value: f64, dtype| computed(&Known::Floats(vec![value]), dtype);
        assert_eq!(float(0.5, DType::F16), Some(vec![0, 0x38]));
        assert_eq!(float(-0.0, DType::F32), Some(vec![0, 0, 0, 0x80]));
        assert_eq!(float(0.1, DType::F32), None);
        assert_eq!(computed(&Known::Ints(vec![(-2).into()]), DType::I16), Some(vec![0xfe, 0xff]));
        assert_eq!(computed(&Known::Ints(vec![Dim::named("n")]), DType::I64), None);
    }

    #[test]
    fn a_wrong_number_of_elements_is_not_read() {
        assert_eq!(stored(&weight(DType::F32, 2, Encoding::Raw, &[0; 7])), None);
        assert_eq!(stored(&weight(DType::String, 1, Encoding::Records, b"\x32\x01a")), None);
    }
}
