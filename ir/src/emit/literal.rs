//! Numbers as Rust literals.

use crate::dtype::DType;
use crate::rust::{Code, code};

/// Returns a float as a literal that rustc parses to the same number.
pub fn float_literal(value: f64, dtype: DType) -> Code {
    let double = dtype == DType::F64;
    let value = if double { value } else { f64::from(value as f32) };
    if value.is_finite() {
        let magnitude = magnitude(value, double);
        let magnitude = Code::number(&magnitude);
        return if value.is_sign_negative() { code!(-#magnitude) } else { magnitude };
    }
    let ty = if double { code!(f64) } else { code!(f32) };
    if value.is_nan() {
        code!(#ty::NAN)
    } else if value > 0.0 {
        code!(#ty::INFINITY)
    } else {
        code!(#ty::NEG_INFINITY)
    }
}

/// Returns a finite `f64` with an explicit type.
pub fn double(value: f64) -> Code {
    if value.is_sign_negative() {
        let literal = float_literal(value, DType::F64);
        return code!((#literal as f64));
    }
    Code::number(&format!("{}f64", magnitude(value, true)))
}

/// Returns the shortest text of the absolute value. Very small and very large numbers have an exponent.
fn magnitude(value: f64, double: bool) -> String {
    if double { format!("{:?}", value.abs()) } else { format!("{:?}", (value as f32).abs()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: f64, dtype: DType, expected: &str) {
        let text = float_literal(value, dtype).tokens().to_string();
        assert_eq!(text, expected);
    }

    #[test]
    fn numbers_are_short() {
        check(1e-12, DType::F32, "1e-12");
        check(1e-5, DType::F64, "1e-5");
        check(0.001, DType::F32, "0.001");
        check(-3.0, DType::F32, "- 3.0");
        check(-0.0, DType::F64, "- 0.0");
        check(f64::from(f32::MAX), DType::F32, "3.4028235e38");
        check(0.1f32.into(), DType::F32, "0.1");
        check(0.1f32.into(), DType::F64, "0.10000000149011612");
        assert_eq!(double(1e-12).tokens().to_string(), "1e-12f64");
        assert_eq!(double(-2.0).tokens().to_string(), "(- 2.0 as f64)");
    }

    #[test]
    fn what_is_no_number_has_a_name() {
        check(f64::NAN, DType::F32, "f32 :: NAN");
        check(f64::INFINITY, DType::F64, "f64 :: INFINITY");
        // Too large for `f32`.
        check(-1e300, DType::F32, "f32 :: NEG_INFINITY");
    }

    #[test]
    fn a_literal_is_the_number() {
        for value in [1e-45f32, 1.1754944e-38, 0.3, 123456790.0, 1e16, 3.4028235e38] {
            let text = float_literal(value.into(), DType::F32).tokens().to_string();
            assert_eq!(text.parse(), Ok(value));
        }
    }
}
