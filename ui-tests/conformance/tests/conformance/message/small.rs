//! Element types, and conversion of those that a larger type represents.

use onnx_embed::ElementType;

/// Returns the element type with this number in ONNX.
pub fn element_type(number: i32) -> Option<ElementType> {
    use ElementType::*;
    let all = [
        Float32,
        UInt8,
        Int8,
        UInt16,
        Int16,
        Int32,
        Int64,
        String,
        Bool,
        Float16,
        Float64,
        UInt32,
        UInt64,
        Complex64,
        Complex128,
        BFloat16,
        Float8E4M3FN,
        Float8E4M3FNUZ,
        Float8E5M2,
        Float8E5M2FNUZ,
        UInt4,
        Int4,
        Float4E2M1,
        Float8E8M0,
        UInt2,
        Int2,
    ];
    all.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

/// Converts the elements to the type that represents them.
pub fn carried(dtype: ElementType, raw: &[u8], count: usize) -> Vec<u8> {
    use ElementType::*;
    let floats = |decode: fn(u8) -> f32, codes: Vec<u8>| {
        codes.into_iter().flat_map(|code| decode(code).to_le_bytes()).collect()
    };
    match dtype {
        Float8E4M3FN => floats(|code| float(code, 4, 3, 7, Special::Top), raw.to_vec()),
        Float8E4M3FNUZ => floats(|code| float(code, 4, 3, 8, Special::Minus), raw.to_vec()),
        Float8E5M2 => floats(|code| float(code, 5, 2, 15, Special::Ieee), raw.to_vec()),
        Float8E5M2FNUZ => floats(|code| float(code, 5, 2, 16, Special::Minus), raw.to_vec()),
        Float4E2M1 => floats(|code| float(code, 2, 1, 1, Special::None), unpacked(raw, 4, count)),
        Float8E8M0 => floats(power, raw.to_vec()),
        UInt4 => unpacked(raw, 4, count),
        UInt2 => unpacked(raw, 2, count),
        Int4 => signed(unpacked(raw, 4, count), 4),
        Int2 => signed(unpacked(raw, 2, count), 2),
        _ => raw.to_vec(),
    }
}

/// Codes that are not finite numbers.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// The largest exponent is infinity or NaN.
    Ieee,
    /// Exponent and mantissa of all ones are NaN.
    Top,
    /// Negative zero is NaN.
    Minus,
    None,
}

fn float(code: u8, exponent: u32, mantissa: u32, bias: i32, special: Special) -> f32 {
    let negative = code >> (exponent + mantissa) & 1 == 1;
    let field = i32::from(code >> mantissa & ((1 << exponent) - 1));
    let fraction = f32::from(code & ((1 << mantissa) - 1)) / (1 << mantissa) as f32;
    let top = field == (1 << exponent) - 1;
    let full = code & ((1 << mantissa) - 1) == (1 << mantissa) - 1;
    let magnitude = match special {
        Special::Ieee if top && fraction == 0.0 => f32::INFINITY,
        Special::Ieee if top => f32::NAN,
        Special::Top if top && full => f32::NAN,
        Special::Minus if negative && field == 0 && fraction == 0.0 => f32::NAN,
        _ if field == 0 => fraction * 2f32.powi(1 - bias),
        _ => (1.0 + fraction) * 2f32.powi(field - bias),
    };
    if negative { -magnitude } else { magnitude }
}

fn power(code: u8) -> f32 {
    match code {
        255 => f32::NAN,
        _ => 2f64.powi(i32::from(code) - 127) as f32,
    }
}

/// Unpacks codes of `bits` bits. The lowest bits come first.
fn unpacked(raw: &[u8], bits: usize, count: usize) -> Vec<u8> {
    let each = 8 / bits;
    let code = |at: usize| raw[at / each] >> (at % each * bits) & ((1 << bits) - 1);
    (0..count).map(code).collect()
}

fn signed(codes: Vec<u8>, bits: u32) -> Vec<u8> {
    let extend = |code: u8| ((code << (8 - bits)) as i8 >> (8 - bits)) as u8;
    codes.into_iter().map(extend).collect()
}
