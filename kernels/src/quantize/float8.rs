//! Decoding of 8- and 4-bit floats.

#[cfg(not(feature = "std"))]
use num_traits::Float as _;

/// Decodes 4 bits of exponent, 3 of mantissa; no infinity.
pub fn e4m3fn(code: u8) -> f32 {
    match code & 0x7f {
        0x7f => f32::NAN,
        _ => float(code, 3, 7),
    }
}

/// Decodes 4 bits of exponent, 3 of mantissa; no infinity, no negative zero.
pub fn e4m3fnuz(code: u8) -> f32 {
    match code {
        0x80 => f32::NAN,
        _ => float(code, 3, 8),
    }
}

/// Decodes 5 bits of exponent, 2 of mantissa.
pub fn e5m2(code: u8) -> f32 {
    let sign = if code < 0x80 { 1.0 } else { -1.0 };
    match code & 0x7f {
        0x7c => sign * f32::INFINITY,
        0x7d.. => f32::NAN,
        _ => float(code, 2, 15),
    }
}

/// Decodes 5 bits of exponent, 2 of mantissa; no infinity, no negative zero.
pub fn e5m2fnuz(code: u8) -> f32 {
    match code {
        0x80 => f32::NAN,
        _ => float(code, 2, 16),
    }
}

/// Decodes a power of two.
pub fn e8m0(code: u8) -> f32 {
    match code {
        0xff => f32::NAN,
        _ => 2f32.powi(i32::from(code) - 127),
    }
}

/// Decodes 2 bits of exponent, 1 of mantissa, in the low half of a byte.
pub fn e2m1(code: u8) -> f32 {
    float((code & 8) << 4 | code & 7, 1, 1)
}

/// Decodes a finite float: sign bit, exponent, and `mantissa_bits` of mantissa.
fn float(code: u8, mantissa_bits: i32, bias: i32) -> f32 {
    let magnitude = i32::from(code & 0x7f);
    let mantissa = magnitude & ((1 << mantissa_bits) - 1);
    let value = match magnitude >> mantissa_bits {
        0 => mantissa as f32 * 2f32.powi(1 - bias - mantissa_bits),
        exponent => {
            let whole = (1 << mantissa_bits) + mantissa;
            whole as f32 * 2f32.powi(exponent - bias - mantissa_bits)
        }
    };
    if code < 0x80 { value } else { -value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_values_are_those_of_the_formats() {
        assert_eq!(e4m3fn(0x7e), 448.0);
        assert_eq!(e4m3fnuz(0x7f), 240.0);
        assert_eq!(e5m2(0x7b), 57344.0);
        assert_eq!(e5m2fnuz(0x7f), 57344.0);
        assert_eq!(e2m1(0x7), 6.0);
        assert_eq!(e8m0(0xfe), 2f32.powi(127));
    }

    #[test]
    fn the_smallest_values_are_subnormal() {
        assert_eq!(e4m3fn(0x01), 2f32.powi(-9));
        assert_eq!(e4m3fnuz(0x01), 2f32.powi(-10));
        assert_eq!(e5m2(0x81), -(2f32.powi(-16)));
        assert_eq!(e5m2fnuz(0x01), 2f32.powi(-17));
        assert_eq!(e2m1(0x9), -0.5);
        assert_eq!(e8m0(0), 2f32.powi(-127));
    }

    #[test]
    fn each_format_has_its_own_nan() {
        assert!(e4m3fn(0xff).is_nan() && e4m3fnuz(0x80).is_nan());
        assert!(e5m2(0x7d).is_nan() && e5m2fnuz(0x80).is_nan());
        assert!(e8m0(0xff).is_nan());
        assert_eq!(e5m2(0xfc), f32::NEG_INFINITY);
    }
}
