//! Integers that stand for floats by a scale and a zero point.

mod integer;
mod layout;
mod linear;

use super::{Row, row};
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
    row("DynamicQuantizeLinear", &[11], linear::dynamic),
    row("MatMulInteger", &[10], |_| integer::matmul()),
    row("ConvInteger", &[10], integer::conv),
    row("QLinearMatMul", &[10, 21], |_| integer::quantized_matmul()),
    row("QLinearConv", &[10], integer::quantized_conv),
];

/// Whether values of the type are quantized ones that are computed with here.
fn is_quantized(dtype: DType) -> bool {
    dtype.is_int() && dtype.bits() <= 16
}
