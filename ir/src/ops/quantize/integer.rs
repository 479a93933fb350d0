//! Products and convolutions of quantized integers.

mod conv;
mod matmul;

use proc_macro2::Literal;
use quote::format_ident;

use super::is_quantized;
use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{broadcast, sizes};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub use conv::{between_scales, conv, quantized_conv, quantized_conv_of_microsoft};
pub use matmul::{MatMul, dynamic, gemm, matmul, projection, quantized_matmul, to_float};

/// Indices of the inputs: operands, their zero points, bias and those of the epilogue.
#[derive(Clone, Debug)]
struct InputLayout {
    operands: [usize; 2],
    zeros: [usize; 2],
    bias: Option<usize>,
    end: End,
}

attributes!(struct InputLayout { operands, zeros, bias, end });

/// Conversion of the accumulators to the result.
#[derive(Clone, Debug)]
enum End {
    Sums,
    /// Integers, by the scales of both operands and of the result, and its zero point.
    Quantized {
        scales: [usize; 3],
        zero: usize,
    },
    /// Floats, by the scales of both operands, plus a bias.
    Float {
        scales: [usize; 2],
        bias: Option<usize>,
    },
}

attributes!(enum End { Sums, Quantized { scales, zero }, Float { scales, bias } });

const INTEGER: InputLayout = InputLayout { operands: [0, 1], zeros: [2, 3], bias: None, end: End::Sums };

const QUANTIZED: InputLayout = InputLayout {
    operands: [0, 3],
    zeros: [2, 5],
    bias: None,
    end: End::Quantized { scales: [1, 4, 6], zero: 7 },
};

/// Axis of an operand along which a scale or zero point may have several elements.
#[derive(Clone, Copy)]
enum Side {
    /// The axis of rows, or of channels.
    Before(usize),
    /// The last axis.
    Last,
}

impl InputLayout {
    /// Returns the inputs of the zero point and the scale of an operand.
    fn factors(&self, operand: usize) -> impl Iterator<Item = usize> {
        let scale = match &self.end {
            End::Sums => None,
            End::Quantized { scales, .. } => scales.get(operand).copied(),
            End::Float { scales, .. } => scales.get(operand).copied(),
        };
        self.zeros.get(operand).copied().into_iter().chain(scale)
    }

    /// Returns the inputs that are added to the accumulators, and to floats.
    fn biases(&self) -> impl Iterator<Item = usize> {
        let float = match self.end {
            End::Float { bias, .. } => bias,
            End::Sums | End::Quantized { .. } => None,
        };
        [self.bias, float].into_iter().flatten()
    }

    /// Returns the types of both operands and of the result.
    fn types(&self, cx: &Infer<'_>) -> Result<(TensorType, TensorType, DType), Problem> {
        let operand = |input: usize| {
            let tensor = cx.tensor(input)?;
            if is_quantized(tensor.dtype) && tensor.dtype.bits() <= 8 {
                return Ok(tensor);
            }
            Err(Problem::expected(format_args!("input {input}"), tensor, "integers of at most 8 bits"))
        };
        let [left, right] = self.operands;
        let (left, right) = (operand(left)?, operand(right)?);
        let (result, scales): (DType, &[usize]) = match &self.end {
            End::Sums => (DType::I32, &[]),
            End::Quantized { scales, zero } => {
                let tensor = cx.tensor(*zero)?;
                if !is_quantized(tensor.dtype) && tensor.dtype != DType::I32 {
                    let (what, expected) = (format!("input {zero}"), "int32 or integers of at most 16 bits");
                    return Err(Problem::expected(what, tensor, expected));
                }
                (tensor.dtype, scales)
            }
            End::Float { scales, .. } => {
                let tensor = cx.tensor(scales[0])?;
                if !tensor.dtype.is_float() {
                    return Err(Problem::expected(format_args!("input {}", scales[0]), tensor, "floats"));
                }
                (tensor.dtype, scales)
            }
        };
        let zeros = self.zeros.into_iter().filter(|&input| cx.has(input));
        for input in scales.iter().copied().chain(zeros) {
            cx.tensor(input)?;
        }
        Ok((left, right, result))
    }

    /// Returns the bias and the conversion of the accumulators. `sides` are the axes of the scales and zero points of
    /// operands and result, which have `rank` axes; `alpha` multiplies the scales.
    fn ended(
        &self,
        cx: &mut Emit<'_, '_>,
        rank: usize,
        sides: [Side; 3],
        alpha: f32,
    ) -> Result<Ended, Problem> {
        let output = cx.output_tensor(0)?.clone();
        let bias = match self.bias {
            Some(bias) => optional(cx, bias, rank, sides[2])?,
            None => code!(None),
        };
        let scaled = |cx: &mut Emit<'_, '_>, scales: &[usize]| {
            let pairs = scales.iter().zip(sides);
            let scales = pairs.map(|(&input, side)| spread(cx, input, rank, side));
            let mut scales = scales.collect::<Result<Vec<_>, Problem>>()?;
            if let (Some(first), true) = (scales.first_mut(), alpha != 1.0) {
                let alpha = float_literal(f64::from(alpha), DType::F32);
                *first = code!(#first.mul_scalar(#alpha));
            }
            Ok::<_, Problem>(scales)
        };
        Ok(match &self.end {
            End::Sums => Ended::Sums,
            End::Quantized { scales, zero } => {
                let scales = scaled(cx, scales)?;
                let zero = spread(cx, *zero, rank, sides[2])?;
                let (dtype, bits) = (
                    format_ident!("{}", output.dtype.carrier()),
                    Literal::u32_unsuffixed(output.dtype.bits()),
                );
                let to = code! {
                    ops::quantize::Requantize {
                        scales: [#(#scales),*],
                        zero: #zero,
                        dtype: DType::#dtype,
                        bits: #bits,
                    }
                };
                Ended::Quantized { bias, to }
            }
            End::Float { scales, bias: added } => {
                let scales = scaled(cx, scales)?;
                let added = match added {
                    Some(added) => optional(cx, *added, rank, Side::Last)?,
                    None => code!(None),
                };
                Ended::Float { bias, scales: code!([#(#scales),*]), added }
            }
        })
    }
}

/// Arguments of a product in addition to its operands and their zero points.
enum Ended {
    Sums,
    Quantized { bias: Code, to: Code },
    Float { bias: Code, scales: Code, added: Code },
}

/// Returns operand B. If it is a weight, a layer keeps its packed form.
fn right(cx: &mut Emit<'_, '_>, input: usize) -> Result<Code, Problem> {
    if !cx.is_stored(input) {
        let values = cx.tensor(input)?;
        return Ok(shared(cx, input, values, false));
    }
    let values = cx.loaded(input)?;
    layer(cx, input, code!(layers::QuantizedWeight::new(#values)))
}

/// Returns the filters of a convolution. If they are stored, they are a layer, which has them in the order that the
/// device reads.
fn filters(cx: &mut Emit<'_, '_>, input: usize) -> Result<Code, Problem> {
    if !cx.is_stored(input) {
        return cx.tensor(input);
    }
    let values = cx.loaded(input)?;
    layer(cx, input, code!(layers::QuantizedWeight::filters(#values)))
}

/// Returns operand B of a matrix product, as a layer for matrices if possible.
fn right_matrix(cx: &mut Emit<'_, '_>, input: usize, is_transposed: bool) -> Result<Code, Problem> {
    let operand = |x: Code| {
        if is_transposed { code!(#x.transpose()) } else { x }
    };
    if !cx.is_stored(input) {
        let values = operand(cx.tensor(input)?);
        return Ok(shared(cx, input, values, is_transposed));
    }
    if cx.tensor_type(input)?.burn_rank() != 2 {
        return Ok(operand(right(cx, input)?));
    }
    let values = operand(cx.loaded(input)?);
    layer(cx, input, code!(layers::QuantizedWeight::matrix(#values)))
}

/// Returns an operand that the layer does not contain. If it is a weight, which several layers use, the layer keeps its packed form.
fn shared(cx: &mut Emit<'_, '_>, input: usize, values: Code, is_transposed: bool) -> Code {
    if !cx.is_layer_constant(input) {
        return values;
    }
    let load = code!(layers::SharedQuantizedWeight::new());
    let layer = cx.packed_layer(input, is_transposed, code!(layers::SharedQuantizedWeight), load);
    code!(#layer.weight(#values))
}

fn layer(cx: &mut Emit<'_, '_>, input: usize, load: Code) -> Result<Code, Problem> {
    let rank = Literal::usize_unsuffixed(cx.tensor_type(input)?.burn_rank());
    let hint = cx.layer_hint(input);
    let layer = cx.layer(&hint, code!(layers::QuantizedWeight<#rank>), load);
    Ok(code!(#layer.weight()))
}

/// Reports a scale or zero point that has neither one element nor one for each of the `things`.
fn check_factor(cx: &Infer<'_>, input: usize, (size, things): (&Dim, &str)) -> Result<(), Problem> {
    if !cx.has(input) {
        return Ok(());
    }
    match cx.tensor(input)?.shape.as_slice() {
        [length] if !length.is(1) => {
            let whose = format!("input {input}");
            sizes::equal((&whose, length, "elements"), ("the operand it belongs to", size, things))
        }
        _ => Ok(()),
    }
}

/// Returns zero points that broadcast to their operands; `None` for those that are 0.
fn zeros(
    cx: &mut Emit<'_, '_>,
    inputs: [usize; 2],
    ranks: [usize; 2],
    sides: [Side; 2],
) -> Result<Vec<Code>, Problem> {
    let all = inputs.into_iter().zip(ranks).zip(sides);
    let zeros = all.map(|((input, rank), side)| {
        if is_zero(cx, input) {
            return Ok(code!(None));
        }
        optional(cx, input, rank, side)
    });
    zeros.collect()
}

fn is_zero(cx: &Emit<'_, '_>, input: usize) -> bool {
    let none = |zeros: Vec<i64>| zeros.iter().all(|&zero| zero == 0);
    !cx.has(input) || cx.numbers(input).is_some_and(none)
}

/// Returns the input in `rank` axes as `Some`, or `None` in the generated code if it is absent.
fn optional(cx: &mut Emit<'_, '_>, input: usize, rank: usize, side: Side) -> Result<Code, Problem> {
    if cx.has(input) {
        let spread_input = spread(cx, input, rank, side)?;
        Ok(code!(Some(#spread_input)))
    } else {
        Ok(code!(None))
    }
}

/// Returns the input in `rank` axes, with its elements along the axis of `side`.
fn spread(cx: &mut Emit<'_, '_>, input: usize, rank: usize, side: Side) -> Result<Code, Problem> {
    let operand = cx.tensor_type(input)?.clone();
    match (side, operand.shape.as_slice()) {
        (Side::Before(at), [size]) if at + 1 < rank && !size.is(1) => {
            let mut shape = vec![Dim::from(1); rank];
            if let Some(slot) = shape.get_mut(at) {
                *slot = size.clone();
            }
            let tensor = cx.tensor(input)?;
            Ok(broadcast::reshaped(cx, tensor, &shape))
        }
        (_, shape) if shape.len() <= rank => cx.tensor_of_rank(input, rank),
        _ => {
            let expected = format_args!("at most rank {rank}");
            Err(Problem::expected(format_args!("input {input}"), operand, expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn factors_and_biases_must_fit() {
        problems(
            &[
                r#"(uint8[1, 4, 5, 5] x, uint8[6, 3, 2, 2] w) => (int32[1, 6, 4, 4] y) { y = ConvInteger (x, w) }"#,
                r#"(uint8[1, 4, 5, 5] x, uint8[6, 4, 2, 2] w, float s, float[5] t, uint8 z) => (uint8[1, 6, 4, 4] y) { y = QLinearConv (x, s, z, w, t, z, s, z) }"#,
                r#"(uint8[1, 4, 5, 5] x, uint8[6, 4, 2, 2] w, float s, uint8 z, int32[4] b) => (uint8[1, 6, 4, 4] y) { y = QLinearConv (x, s, z, w, s, z, s, z, b) }"#,
                r#"(uint8[2, 4] a, uint8[4, 3] b, uint8 z, uint8[2] v) => (int32[2, 3] y) { y = MatMulInteger (a, b, z, v) }"#,
                r#"(uint8[2, 4] a, uint8[4, 3] b, uint8[3] z) => (int32[2, 3] y) { y = MatMulInteger (a, b, z) }"#,
                r#"(uint8[2, 4] a, uint8[5, 3] b) => (int32[2, 3] y) { y = MatMulInteger (a, b) }"#,
                r#"(float[2, 6, 4] x, float[3, 2, 4] s) => (uint8[2, 6, 4] y) { y = QuantizeLinear <axis = 1, block_size = 3> (x, s) }"#,
                r#"(uint8[2, 4] a, uint8[4, 3] b, float s, float[4] c) => (float[2, 3] y) { y = com.microsoft.MatMulIntegerToFloat (a, b, s, s, , , c) }"#,
            ],
            expect![[r#"
                the weight has 3 input channels, but the input has 4 channels
                input 4 has 5 elements, but the operand it belongs to has 6 output channels
                the bias has 4 elements, but the result has 6 channels
                input 3 has 2 elements, but the operand it belongs to has 3 columns
                input 2 has 3 elements, but the operand it belongs to has 2 rows
                the right operand has 5 rows, but the left operand has 4 columns
                the scale is float32[3, 2, 4], expected one element for each block of 3 along axis 1 of float32[2, 6, 4]
                the bias is float32[4], expected a shape that broadcasts to [2, 3]
            "#]],
        );
    }
}
