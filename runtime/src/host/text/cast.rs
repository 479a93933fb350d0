//! Conversion between numbers and strings.

use alloc::{borrow::ToOwned, format, string::String, string::ToString};
use core::str::FromStr;

use onnx_embed_kernels::fault::fail;

use crate::Array;
use crate::host::{Scalar, Wide};

/// Maximum number of significant digits of a float.
const DIGITS: usize = 8;

/// Computes ONNX's `Cast` to strings: integers and booleans as integers, floats with 8 significant digits, as ONNX
/// Runtime writes them.
pub fn print<T: Scalar>(array: &Array<T>) -> Array<String> {
    array.map(|value| match value.widen() {
        Wide::Int(value) => value.to_string(),
        Wide::Float(value) => float(value),
    })
}

/// Computes ONNX's `Cast` from strings. Integers that the type cannot represent wrap, and fractions are truncated.
///
/// # Panics
///
/// If a string is not a number.
#[track_caller]
pub fn parse<T: Scalar + FromStr>(array: &Array<String>) -> Array<T> {
    array.map(|text| parse_number(text))
}

/// Returns the number that a string contains.
#[track_caller]
pub fn parse_number<T: Scalar + FromStr>(text: &str) -> T {
    match number(text.trim()) {
        Some(value) => value,
        None => fail(format_args!("expected a number, found the string `{text}`")),
    }
}

fn number<T: Scalar + FromStr>(text: &str) -> Option<T> {
    let exact = text.parse().ok();
    let whole = || text.parse().ok().map(Wide::Int);
    let any = || text.parse().ok().map(Wide::Float);
    exact.or_else(|| whole().or_else(any).map(T::narrow))
}

/// Formats a float as C's `%.8g` does, except for the names of NaN and infinities.
fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "INF" } else { "-INF" }.to_owned();
    }
    let written = format!("{value:.*e}", DIGITS - 1);
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -4..8 => shortest(&format!("{value:.*}", (DIGITS as i32 - 1 - exponent) as usize)).to_owned(),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", shortest(digits), exponent.abs())
        }
    }
}

/// Removes trailing zeros of a fraction.
fn shortest(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    fn parsed<T: Scalar + FromStr>(text: &str) -> T {
        parse(&Array::scalar(text.to_owned())).into_data().remove(0)
    }

    #[test]
    fn floats_have_eight_digits() {
        let written = print(&Array::vector([
            0.1f32,
            1.0,
            -2.5,
            1e10,
            1e-7,
            123456789.0,
            314.15927,
            -0.0,
            0.0001,
            0.00001,
            16777216.0,
            100000.0,
            1e8,
            12345678.0,
            0.33333334,
            99999999.9,
        ]));
        let expected = [
            "0.1",
            "1",
            "-2.5",
            "1e+10",
            "1e-07",
            "1.2345679e+08",
            "314.15927",
            "-0",
            "9.9999997e-05",
            "9.9999997e-06",
            "16777216",
            "100000",
            "1e+08",
            "12345678",
            "0.33333334",
            "1e+08",
        ];
        assert_eq!(written.data(), expected);
        assert_eq!(print(&Array::scalar(1.0f64 / 3.0)).item(), "0.33333333");
        assert_eq!(print(&Array::scalar(f16::from_f32(0.1))).item(), "0.099975586");
    }

    #[test]
    fn what_is_no_number_has_a_name() {
        let special = Array::vector([f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!(print(&special).data(), ["NaN", "INF", "-INF"]);
        assert!(parsed::<f32>("nAn").is_nan());
        assert_eq!(parsed::<f64>("-inf"), f64::NEG_INFINITY);
        assert_eq!(parsed::<f16>("+INF"), f16::INFINITY);
    }

    #[test]
    fn integers_and_booleans_are_integers() {
        assert_eq!(print(&Array::vector([true, false])).data(), ["1", "0"]);
        assert_eq!(print(&Array::scalar(u64::MAX)).item(), "18446744073709551615");
        assert_eq!(parsed::<u64>("18446744073709551615"), u64::MAX);
        assert_eq!((parsed::<bool>("0"), parsed::<bool>("-2.5")), (false, true));
    }

    #[test]
    fn numbers_are_read_in_every_form() {
        assert_eq!((parsed::<f32>("1E-5"), parsed::<f32>(" .5 ")), (1e-5, 0.5));
        assert_eq!(parsed::<bf16>("100.5"), bf16::from_f32(100.5));
        assert_eq!((parsed::<i64>("100.5"), parsed::<i32>("1e5")), (100, 100_000));
        assert_eq!((parsed::<u8>("-3"), parsed::<i8>("300"), parsed::<i8>("+5")), (253, 44, 5));
    }

    #[test]
    fn words_are_no_numbers() {
        assert_eq!(number::<f32>("Hello"), None);
        assert_eq!(number::<i64>(""), None);
    }
}
