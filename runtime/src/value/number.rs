//! Conversion of single elements to text.

use alloc::{borrow::ToOwned, format, string::String, string::ToString};
use core::fmt::Display;

use burn::tensor::{BoolStore, DType, TensorData};
use bytemuck::AnyBitPattern;
use half::{bf16, f16};

/// Returns the element at an index in row-major order: all digits if `exact`, otherwise about five digits of a float.
pub fn number(data: &TensorData, at: usize, exact: bool) -> String {
    match data.dtype() {
        DType::F64 => float(read::<f64>(data, at), exact),
        DType::F32 | DType::Flex32 => float(read::<f32>(data, at), exact),
        DType::F16 => float(read::<f16>(data, at), exact),
        DType::BF16 => float(read::<bf16>(data, at), exact),
        DType::I64 => read::<i64>(data, at).to_string(),
        DType::I32 => read::<i32>(data, at).to_string(),
        DType::I16 => read::<i16>(data, at).to_string(),
        DType::I8 => read::<i8>(data, at).to_string(),
        DType::U64 => read::<u64>(data, at).to_string(),
        DType::U32 => read::<u32>(data, at).to_string(),
        DType::U16 => read::<u16>(data, at).to_string(),
        DType::U8 => read::<u8>(data, at).to_string(),
        DType::Bool(BoolStore::U32) => (read::<u32>(data, at) != 0).to_string(),
        DType::Bool(_) => (read::<u8>(data, at) != 0).to_string(),
        DType::QFloat(_) => "?".to_string(),
    }
}

fn read<T: AnyBitPattern>(data: &TensorData, at: usize) -> T {
    let size = size_of::<T>();
    bytemuck::pod_read_unaligned(&data.as_bytes()[at * size..][..size])
}

fn float<T: Copy + Display + Into<f64>>(value: T, exact: bool) -> String {
    if exact { value.to_string() } else { rounded(value.into()) }
}

/// Formats a number with four decimals, fewer if it is large, and with an exponent if it is very small or very large.
fn rounded(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = match size {
        1000.0.. => 1,
        100.0.. => 2,
        10.0.. => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(data: impl Into<TensorData>) -> Vec<String> {
        let data = data.into();
        let count = data.num_elements();
        (0..count).map(|at| number(&data, at, false)).collect()
    }

    #[test]
    fn floats_are_as_long_as_people_read_them() {
        let found = texts([0.1f32, 2.0 / 3.0, 3.0, -123.456, 98765.43, 0.0]);
        assert_eq!(found, ["0.1", "0.6667", "3", "-123.46", "98765.4", "0"]);
        let found = texts([1e-7f32, 1.5e12, f32::NAN, f32::NEG_INFINITY]);
        assert_eq!(found, ["1.000e-7", "1.500e12", "NaN", "-inf"]);
        assert_eq!(texts([f16::from_f32(0.5)]), ["0.5"]);
    }

    #[test]
    fn an_exact_float_has_all_its_digits() {
        let data = TensorData::from([0.123_456_79f32]);
        assert_eq!(number(&data, 0, true), "0.12345679");
    }

    #[test]
    fn integers_and_truths_are_exact() {
        assert_eq!(texts([i64::MAX, -1]), ["9223372036854775807", "-1"]);
        assert_eq!(texts([true, false]), ["true", "false"]);
        assert_eq!(texts([255u8]), ["255"]);
    }
}
