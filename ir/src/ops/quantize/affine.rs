//! Per-tensor scales and zero points on the host.

use quote::format_ident;

use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
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
    if !is_carried(x.dtype, bits) {
        return Err(Problem::expected(format_args!("input {input}"), x, carried(bits)));
    }
    match zero_dtype {
        Some(zero_dtype) if zero_dtype != x.dtype => Err(Problem::new(format!(
            "input {input} has type {}, but its zero point has type {zero_dtype}",
            x.dtype
        ))),
        _ => Ok(x),
    }
}

/// Checks that these inputs are a per-tensor scale and zero point. Returns the type of the zero point, if any.
pub fn check(cx: &Infer<'_>, scale: usize, zero: usize) -> Result<Option<DType>, Problem> {
    check_of(cx, scale, zero, BYTE)
}

/// [`check`] for integers of at most `bits` bits.
pub fn check_of(cx: &Infer<'_>, scale: usize, zero: usize, bits: usize) -> Result<Option<DType>, Problem> {
    let one = |tensor: &TensorType| tensor.count().is_none_or(|count| count == 1);
    let tensor = cx.tensor(scale)?;
    if tensor.dtype.kind() != ElementClass::Float || !one(&tensor) {
        return Err(Problem::expected(format_args!("the scale in input {scale}"), tensor, "one float"));
    }
    if !cx.has(zero) {
        return Ok(None);
    }
    let tensor = cx.tensor(zero)?;
    if one(&tensor) && is_carried(tensor.dtype, bits) {
        Ok(Some(tensor.dtype))
    } else {
        let what = format_args!("the zero point in input {zero}");
        Err(Problem::expected(what, tensor, format_args!("one element of type {}", carried(bits))))
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

/// Returns the names of the types for which [`is_carried`] returns `true`.
fn carried(bits: usize) -> &'static str {
    if bits > BYTE { "uint8, int8, uint16 or int16" } else { "uint8 or int8" }
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
                the scale in input 1 is float32[2], expected one float
                the zero point in input 2 is uint8[2], expected one element of type uint8 or int8
                input 0 has type uint8, but its zero point has type int8
                input 0 is int16[4], expected uint8 or int8
                the scale in input 6 is int32[1], expected one float
                fine
            "#]],
        );
    }
}
