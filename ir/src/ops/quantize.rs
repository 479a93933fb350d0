//! Integers that stand for floats by a scale and a zero point.

pub mod affine;
pub mod gather_block_quantized;
pub mod integer;
mod layout;
mod linear;
pub mod qattention;
pub mod qlinear;
pub mod qlinear_pool;
pub mod qlinear_softmax;

pub use linear::Linear;

use super::{MICROSOFT, Row, row};
use crate::dtype::DType;

pub const FAMILIES: &[&[Row]] = &[
    ROWS,
    gather_block_quantized::ROWS,
    qattention::ROWS,
    qlinear::ROWS,
    qlinear_pool::ROWS,
    qlinear_softmax::ROWS,
];

pub const ROWS: &[Row] = &[
    row(
        "QuantizeLinear",
        &[10, 13, 19, 21, 23, 24, 25, 28],
        linear::quantize,
    )
    .arity(3, 1),
    row(
        "DequantizeLinear",
        &[10, 13, 19, 21, 23, 24, 25, 28],
        linear::dequantize,
    )
    .hoisted()
    .arity(3, 1),
    row("QuantizeLinear", &[1], linear::quantize)
        .arity(3, 1)
        .of(MICROSOFT),
    row("DequantizeLinear", &[1], linear::dequantize)
        .hoisted()
        .arity(3, 1)
        .of(MICROSOFT),
    row("DynamicQuantizeLinear", &[11], linear::dynamic).arity(1, 3),
    row("MatMulInteger", &[10], |_| integer::matmul()).arity(4, 1),
    row("ConvInteger", &[10], integer::conv).arity(4, 1),
    row("QLinearMatMul", &[10, 21], |_| integer::quantized_matmul()).arity(8, 1),
    row("QLinearConv", &[10], integer::quantized_conv).arity(9, 1),
    row("QLinearConv", &[1], integer::quantized_conv_of_microsoft)
        .arity(9, 1)
        .of(MICROSOFT),
    row("QGemm", &[1], integer::gemm).arity(9, 1).of(MICROSOFT),
    row("MatMulIntegerToFloat", &[1], |_| integer::to_float())
        .arity(7, 1)
        .of(MICROSOFT),
    row("DynamicQuantizeMatMul", &[1], |_| integer::dynamic())
        .arity(5, 1)
        .of(MICROSOFT),
];

/// Whether values of the type are quantized ones that are computed with here.
fn is_quantized(dtype: DType) -> bool {
    dtype.is_int() && dtype.bits() <= 16
}
