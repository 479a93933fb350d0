//! Quantized values: integers with a scale and a zero point.

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
    row("QuantizeLinear", &[10, 13, 19, 21, 23, 24, 25, 28], linear::quantize)
        .newer(&[("axis", 13), ("saturate", 19), ("block_size", 21), ("output_dtype", 21), ("precision", 23)])
        .arity("rro", "r"),
    row("DequantizeLinear", &[10, 13, 19, 21, 23, 24, 25, 28], linear::dequantize)
        .newer(&[("axis", 13), ("block_size", 21), ("output_dtype", 23)])
        .hoisted()
        .arity("rro", "r"),
    row("QuantizeLinear", &[1], linear::quantize).arity("rro", "r").of(MICROSOFT),
    row("DequantizeLinear", &[1], linear::dequantize).hoisted().arity("rro", "r").of(MICROSOFT),
    row("DynamicQuantizeLinear", &[11], linear::dynamic).arity("r", "rrr"),
    row("MatMulInteger", &[10], |_| integer::matmul()).arity("rroo", "r"),
    row("ConvInteger", &[10], integer::conv).arity("rroo", "r"),
    row("QLinearMatMul", &[10, 21], |_| integer::quantized_matmul()).arity("rrrrrrrr", "r"),
    row("QLinearConv", &[10], integer::quantized_conv).arity("rrrrrrrro", "r"),
    row("QLinearConv", &[1], integer::quantized_conv_of_microsoft).arity("rrrrrrrro", "r").of(MICROSOFT),
    row("QGemm", &[1], integer::gemm).arity("rrrrrrooo", "r").of(MICROSOFT),
    row("MatMulIntegerToFloat", &[1], |_| integer::to_float()).arity("rrrrooo", "r").of(MICROSOFT),
    row("DynamicQuantizeMatMul", &[1], |_| integer::dynamic()).arity("rrroo", "r").of(MICROSOFT),
];

/// Returns `true` if the quantized operators compute with values of the type.
fn is_quantized(dtype: DType) -> bool {
    dtype.is_int() && dtype.bits() <= 16
}
