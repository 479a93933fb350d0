//! Elements of constants as numbers.

use half::{bf16, f16};

use super::elements;
use super::layout::{Layout, Root};
use crate::dtype::DType;
use crate::types::Known;

/// Greatest magnitude up to which all integers are numbers of double precision.
const EXACT: i64 = 1 << 53;

/// Returns the elements of a constant, `None` if double precision cannot represent them.
pub(super) fn of(root: Root<'_>, dtype: DType) -> Option<Vec<f64>> {
    if let Root::Known(known) = root {
        return computed(known);
    }
    read(&elements::of(root, dtype)?, dtype)
}

/// Returns the numbers of bytes.
pub(super) fn read(bytes: &[u8], dtype: DType) -> Option<Vec<f64>> {
    let width = elements::width(dtype)?;
    bytes.chunks(width).map(|element| number(element, dtype)).collect()
}

/// Returns the bytes of numbers, `None` if this type is not written.
pub(super) fn bytes(numbers: &[f64], dtype: DType) -> Option<Vec<u8>> {
    let width = elements::width(dtype)?;
    let mut all = Vec::with_capacity(numbers.len().checked_mul(width)?);
    for &number in numbers {
        let bits = match dtype {
            DType::F64 => number.to_bits(),
            DType::F32 => u64::from((number as f32).to_bits()),
            DType::F16 => u64::from(f16::from_f64(number).to_bits()),
            DType::Bf16 => u64::from(bf16::from_f64(number).to_bits()),
            _ if dtype.is_int() || dtype == DType::Bool => integer(number)?.cast_unsigned(),
            _ => return None,
        };
        all.extend(bits.to_le_bytes().into_iter().take(width));
    }
    Some(all)
}

/// Returns the elements of a matrix with these sizes in the order of its columns.
pub(super) fn transposed(numbers: &[f64], sizes: &[usize]) -> Option<Vec<f64>> {
    let layout = Layout::default().followed_by_transposition(sizes.to_vec());
    read(&layout.applied(bytes(numbers, DType::F64)?, 8)?, DType::F64)
}

fn computed(known: &Known) -> Option<Vec<f64>> {
    match known {
        Known::Floats(all) => Some(all.clone()),
        Known::Bools(all) => Some(all.iter().map(|&flag| f64::from(u8::from(flag))).collect()),
        Known::Ints(all) => all.iter().map(|dim| exact(dim.number()?)).collect(),
        Known::Strings(_) => None,
    }
}

fn number(element: &[u8], dtype: DType) -> Option<f64> {
    let bits = element.iter().rev().fold(0u64, |bits, &byte| bits.wrapping_shl(8) | u64::from(byte));
    Some(match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f64::from(f32::from_bits(u32::try_from(bits).ok()?)),
        DType::F16 => f16::from_bits(u16::try_from(bits).ok()?).to_f64(),
        DType::Bf16 => bf16::from_bits(u16::try_from(bits).ok()?).to_f64(),
        DType::Bool => bits as f64,
        _ if dtype.is_int() => {
            let shift = 64u32.checked_sub(dtype.bits())?;
            let signed = bits.wrapping_shl(shift).cast_signed().wrapping_shr(shift);
            let unsigned = || i64::try_from(bits).ok();
            exact(if dtype.is_signed() { signed } else { unsigned()? })?
        }
        _ => return None,
    })
}

fn exact(number: i64) -> Option<f64> {
    (-EXACT..=EXACT).contains(&number).then_some(number as f64)
}

fn integer(number: f64) -> Option<i64> {
    let whole = number as i64;
    (whole as f64 == number).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_same_bytes() {
        let check = |dtype: DType, numbers: &[f64]| {
            let written = bytes(numbers, dtype).unwrap();
            assert_eq!(read(&written, dtype).as_deref(), Some(numbers), "{dtype:?}");
        };
        check(DType::F32, &[0.5, -0.0, f64::INFINITY]);
        check(DType::F16, &[0.5, -2.0]);
        check(DType::Bf16, &[0.5, -2.0]);
        check(DType::F64, &[0.1, -1e300]);
        check(DType::I8, &[-128.0, 127.0]);
        check(DType::U8, &[0.0, 255.0]);
        check(DType::I64, &[-9007199254740992.0, 3.0]);
        check(DType::Bool, &[1.0, 0.0]);
    }

    #[test]
    fn integers_beyond_double_precision_are_not_read() {
        assert_eq!(number(&i64::MAX.to_le_bytes(), DType::I64), None);
        assert_eq!(number(&u64::MAX.to_le_bytes(), DType::U64), None);
        assert_eq!(bytes(&[0.5], DType::I32), None);
    }
}
