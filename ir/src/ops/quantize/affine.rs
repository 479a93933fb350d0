//! Per-tensor scales and zero points on the host.

use quote::format_ident;

use crate::diagnostics::Problem;
use crate::dtype::{DType, Kind};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};

/// Maximum number of bits in operators of files.
pub const BYTE: usize = 8;

/// Maximum number of bits between DequantizeLinear and QuantizeLinear.
pub const WIDE: usize = 16;

/// Returns the type of a quantized input, which is followed by its scale and optional zero point.
pub fn quantized(cx: &Infer<'_>, input: usize) -> Result<TensorType, Problem> {
    quantized_of(cx, input, BYTE)
}

/// [`quantized`] for integers of at most `bits` bits.
pub fn quantized_of(cx: &Infer<'_>, input: usize, bits: usize) -> Result<TensorType, Problem> {
    let x = cx.tensor(input)?;
    let zero_dtype = check_of(cx, input.saturating_add(1), input.saturating_add(2), bits)?;
    if zero_dtype.is_some_and(|zero_dtype| zero_dtype != x.dtype) || !is_carried(x.dtype, bits) {
        Err(Problem::new(format!(
            "input {input} is {x}, and its zero point of type {}",
            zero_dtype.unwrap_or(x.dtype)
        )))
    } else {
        Ok(x)
    }
}

/// Checks that these inputs are a per-tensor scale and zero point. Returns the type of the zero point, if any.
pub fn check(cx: &Infer<'_>, scale: usize, zero: usize) -> Result<Option<DType>, Problem> {
    check_of(cx, scale, zero, BYTE)
}

/// [`check`] for integers of at most `bits` bits.
pub fn check_of(cx: &Infer<'_>, scale: usize, zero: usize, bits: usize) -> Result<Option<DType>, Problem> {
    let one = |tensor: &TensorType| tensor.count().is_none_or(|count| count == 1);
    let scale = cx.tensor(scale)?;
    if scale.dtype.kind() != Kind::Float || !one(&scale) {
        return Err(Problem::new(format!("a scale is {scale}")));
    }
    if !cx.has(zero) {
        return Ok(None);
    }
    let zero = cx.tensor(zero)?;
    if one(&zero) && is_carried(zero.dtype, bits) {
        Ok(Some(zero.dtype))
    } else {
        Err(Problem::new(format!("a zero point is {zero}")))
    }
}

/// Generates `ops::quantize::Affine::u8(0.1, 3)`, from a scale and a zero point on the host.
pub fn emit(cx: &mut Emit<'_, '_>, scale: usize, zero: usize, dtype: DType) -> Result<Code, Problem> {
    let known = match cx.known(scale) {
        Some(Known::Floats(values)) => values.first().copied(),
        _ => None,
    };
    let scale = match known {
        Some(value) => float_literal(value, DType::F32),
        None => {
            let value = cx.host_float(scale)?;
            code!(#value as f32)
        }
    };
    let zero = if cx.has(zero) { cx.host_int(zero)? } else { code!(0) };
    let of = format_ident!(
        "{}",
        match dtype {
            DType::I8 => "i8",
            DType::U16 => "u16",
            DType::I16 => "i16",
            _ => "u8",
        }
    );
    Ok(code!(ops::quantize::Affine::#of(#scale, #zero)))
}

/// Generates `(x, ops::quantize::Affine::u8(0.1, 3))`, with the tensor in `rank` axes.
pub fn pair(cx: &mut Emit<'_, '_>, input: usize, rank: usize) -> Result<Code, Problem> {
    let dtype = cx.tensor_type(input)?.dtype;
    let x = cx.tensor_of_rank(input, rank)?;
    let affine = emit(cx, input.saturating_add(1), input.saturating_add(2), dtype)?;
    Ok(code!((#x, #affine)))
}

/// Returns `true` for an integer of 8 bits, or of 16 if `bits` permits.
fn is_carried(dtype: DType, bits: usize) -> bool {
    match dtype {
        DType::U8 | DType::I8 => true,
        DType::U16 | DType::I16 => bits > BYTE,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn scales_and_zero_points_are_single_elements() {
        problems(
            &[
                r#"(uint8[4] a, uint8[4] b, float[2] s, float[1] t, uint8[1] z) => (uint8[4] y) { y = com.microsoft.QLinearAdd (a, s, z, b, t, z, t, z) }"#,
                r#"(uint8[4] a, uint8[4] b, float[1] t, uint8[2] z, uint8[1] o) => (uint8[4] y) { y = com.microsoft.QLinearAdd (a, t, z, b, t, o, t, o) }"#,
                r#"(uint8[4] a, uint8[4] b, float[1] t, int8[1] z, uint8[1] o) => (uint8[4] y) { y = com.microsoft.QLinearAdd (a, t, z, b, t, o, t, o) }"#,
                r#"(int16[4] a, uint8[4] b, float[1] t, uint8[1] o) => (uint8[4] y) { y = com.microsoft.QLinearAdd (a, t, , b, t, o, t, o) }"#,
                r#"(uint8[4] a, uint8[4] b, int32[1] t, uint8[1] o) => (uint8[4] y) { y = com.microsoft.QLinearAdd (a, t, o, b, t, o, t, o) }"#,
                r#"(uint8[4] a, uint8[4] b, float t, uint8[1] o) => (uint8[4] y) { y = com.microsoft.QLinearAdd (a, t, o, b, t, o, t, o) }"#,
            ],
            expect![[r#"
                a scale is float32[2]
                a zero point is uint8[2]
                input 0 is uint8[4], and its zero point of type int8
                input 0 is int16[4], and its zero point of type int16
                a scale is int32[1]
                fine
            "#]],
        );
    }
}
