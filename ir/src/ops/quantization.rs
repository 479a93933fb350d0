//! Integers that stand for floats by a scale and a zero point.

pub mod affine;
pub mod integer;
mod layout;
mod linear;

pub use linear::Linear;

use super::{MICROSOFT, Row, row};
use crate::dtype::DType;

pub const ROWS: &[Row] = &[
    row(
        "QuantizeLinear",
        &[10, 13, 19, 21, 23, 24, 25, 28],
        linear::quantize,
    ),
    row(
        "DequantizeLinear",
        &[10, 13, 19, 21, 23, 24, 25, 28],
        linear::dequantize,
    ),
    row("QuantizeLinear", &[1], linear::quantize).of(MICROSOFT),
    row("DequantizeLinear", &[1], linear::dequantize).of(MICROSOFT),
    row("DynamicQuantizeLinear", &[11], linear::dynamic),
    row("MatMulInteger", &[10], |_| integer::matmul()),
    row("ConvInteger", &[10], integer::conv),
    row("QLinearMatMul", &[10, 21], |_| integer::quantized_matmul()),
    row("QLinearConv", &[10], integer::quantized_conv),
    row("QLinearConv", &[1], integer::quantized_conv_of_microsoft).of(MICROSOFT),
    row("QGemm", &[1], integer::gemm).of(MICROSOFT),
    row("MatMulIntegerToFloat", &[1], |_| integer::to_float()).of(MICROSOFT),
    row("DynamicQuantizeMatMul", &[1], |_| integer::dynamic()).of(MICROSOFT),
];

/// Whether values of the type are quantized ones that are computed with here.
fn is_quantized(dtype: DType) -> bool {
    dtype.is_int() && dtype.bits() <= 16
}
