//! Products with matrices of 2, 4 or 8 bits per weight.
//!
//! Codes are decoded in registers. If the operand is rounded to 8 bits, block by block, the product is one of integers.
//! Otherwise one or two rows are separated into digits, where the processor sums products of bytes. For other rows, codes are
//! decoded to floats: in registers for few rows, panel by panel for the float microkernel for many.

mod digits;
mod floats;
mod integers;
mod operand;
#[cfg(test)]
mod tests;

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::DType;

use super::{
    gemm::{ProductEpilogue, multiply_unpacked},
    memory::{Buffer, Cuts, Grid, Unwritten, Written},
    plan::{
        threads,
        tuning::{codes_per_float, max_register_rows},
    },
    simd::{DotInstructions, InstructionSet},
    tile::{Bias, FloatEpilogue, Tile},
    view::{Dense, Matrix},
};
use crate::deterministic;
use crate::spec::bits::{BitMatrix, Line, MAX_BYTE_BLOCK, PANEL, Panels, ZeroPoints};
use crate::spec::epilogue::Activation;

/// Evaluates an expression with the number of bits of a panel's codes as a constant.
macro_rules! with_bits {
    ($panel:expr, $bits:ident => $run:expr) => {
        match $panel.of.blocks.bits {
            2 => {
                const $bits: usize = 2;
                $run
            }
            4 => {
                const $bits: usize = 4;
                $run
            }
            _ => {
                const $bits: usize = 8;
                $run
            }
        }
    };
}

use with_bits;

/// A panel of a matrix.
#[derive(Clone, Copy)]
struct Panel<'a> {
    of: &'a Panels,
    number: usize,
}

/// A block of a panel.
struct Block<'a> {
    codes: &'a [Line<u32>],
    numbers: Numbers<'a>,
}

/// The numbers that codes of a block stand for.
#[derive(Clone, Copy)]
enum Numbers<'a> {
    /// `(code - zero point) * scale`.
    Scaled(&'a Line<f32>, BlockZeros<'a>),
    /// `code * scale - offset`, with the scale in the lower half of each word and the offset in the upper one, as f16.
    Halves(&'a Line<u32>),
}

/// Zero points of a block.
#[derive(Clone, Copy)]
enum BlockZeros<'a> {
    Middle,
    Whole(&'a [u8; PANEL]),
    Floats(&'a Line<f32>),
}

impl<'a> Panel<'a> {
    /// Index of the panel's first output.
    fn first_output(self) -> usize {
        self.number * PANEL
    }

    /// Number of words of all its blocks.
    #[inline(always)]
    fn words(self) -> usize {
        self.of.count * self.of.words()
    }

    /// Returns a block by its number.
    #[inline(always)]
    fn block(self, number: usize) -> Block<'a> {
        let (of, block, words) = (self.of, self.number * self.of.count + number, self.of.words());
        let codes = &of.codes[block * words..][..words];
        let numbers = match &of.zeros {
            ZeroPoints::Middle => Numbers::Scaled(&of.scales[block], BlockZeros::Middle),
            ZeroPoints::Whole(zeros) => Numbers::Scaled(&of.scales[block], BlockZeros::Whole(&zeros[block])),
            ZeroPoints::Floats(zeros) => {
                Numbers::Scaled(&of.scales[block], BlockZeros::Floats(&zeros[block]))
            }
            ZeroPoints::Halves(words) => Numbers::Halves(&words[block]),
        };
        Block { codes, numbers }
    }
}

/// Returns `x * matrix + bias` over the last axis of `x`, or `None` if the product is empty.
pub fn matmul(x: FlexTensor, bias: Option<FlexTensor>, matrix: BitMatrix) -> Option<FlexTensor> {
    let dtype = x.dtype();
    let panels = matrix.panels();
    let (inputs, outputs) = (panels.blocks.inputs, panels.blocks.outputs);
    let mut shape = x.shape().to_vec();
    let (last, before) = shape.split_last_mut()?;
    let rows = before.iter().product::<usize>();
    if *last != inputs || rows * inputs * outputs == 0 || dtype == DType::F64 {
        return None;
    }
    *last = outputs;
    let (x, bias) = (Dense::new(&x), bias.map(|bias| Dense::new(&bias)));
    let bias = bias.as_ref().map(Dense::values);
    let x = Matrix::dense(x.values(), inputs);
    let values = Buffer::filled(rows * outputs, |out| {
        if matrix.is_in_bytes() {
            integers::multiply(x, panels, bias, out)
        } else if let Some((dot, digits)) = digits(x, panels) {
            digits::multiply(dot, &digits, panels, bias, out)
        } else if rows <= max_register_rows() || deterministic::is_on() {
            floats::multiply(x, panels, bias, out)
        } else {
            unpacked(x, panels, bias, out)
        }
    });
    let y = values.tensor(shape);
    Some(match dtype {
        DType::F32 => y,
        _ => Flex::float_cast(y, dtype.into()),
    })
}

/// Returns the digits of few rows, where products of bytes are faster than those of floats.
fn digits(x: Matrix<'_>, panels: &Panels) -> Option<(DotInstructions, digits::Digits)> {
    let dot = DotInstructions::best();
    let is_faster = x.rows <= digits::ROWS && dot.adds_bytes_at_once() && !deterministic::is_on();
    // Sums of a block are exact as floats.
    if !is_faster || panels.blocks.size > MAX_BYTE_BLOCK {
        return None;
    }
    let digits = digits::Digits::new(x, panels, digits::offset(dot, panels.blocks.bits))?;
    Some((dot, digits))
}

/// Writes the product with the float microkernel, for which panels are decoded as they are needed.
fn unpacked<'a>(x: Matrix<'_>, panels: &Panels, bias: Option<&[f32]>, out: Unwritten<'a>) -> Written<'a> {
    let set = InstructionSet::best();
    let epilogue = ProductEpilogue { bias, addend: None, activation: Activation::Identity };
    let unpack = |first: usize, to: &mut [f32]| floats::unpack(set, panels, first, to);
    let outputs = panels.blocks.outputs;
    if panels.order.is_none() {
        return multiply_unpacked(set, x, outputs, &unpack, epilogue, out);
    }
    let positions = panels.count * panels.blocks.size;
    let mut ordered = vec![0.0; x.rows * positions];
    for (row, ordered) in ordered.chunks_exact_mut(positions).enumerate() {
        operand::lay_out(panels, &x.values[row * x.columns..][..x.columns], ordered);
    }
    let x = Matrix::dense(&ordered, positions);
    multiply_unpacked(set, x, outputs, &unpack, epilogue, out)
}

/// Writes the columns of each panel for all rows, in parallel. `write` gets the number of the panel.
fn by_panels<'a>(
    rows: usize,
    panels: &Panels,
    out: Unwritten<'a>,
    write: impl for<'p> Fn(usize, Unwritten<'p>) -> Written<'p> + Send + Sync,
) -> Written<'a> {
    let outputs = panels.blocks.outputs;
    let multiplications = (rows * outputs).saturating_mul(panels.blocks.inputs);
    let threads = threads(multiplications / codes_per_float());
    let parts = threads.min(panels.panels());
    let grid = Grid { rows: Cuts::none(rows), ..Grid::of_row(Cuts::split(outputs, PANEL, parts)) };
    let out = out.reshaped(rows, outputs);
    out.side_by_side(grid, usize::MAX, |_, part, out| {
        let first = part.columns.start / PANEL;
        out.in_columns(PANEL, |at, out| write(first + at / PANEL, out))
    })
}

/// Number of registers of output columns of a tile: those of a whole panel for one row, as in text generation. Several rows
/// need the registers for their own accumulators.
fn registers(rows: usize, lanes: usize) -> usize {
    if rows == 1 { PANEL / lanes } else { 1 }
}

/// A tile of some rows and registers of outputs, from an output on.
fn tile<'a, M>(
    operands: M,
    [rows, registers]: [usize; 2],
    bias: Option<&'a [f32]>,
    first: usize,
    outputs: usize,
) -> Tile<M, FloatEpilogue<'a>> {
    Tile {
        rows,
        registers,
        columns: (1 << outputs) - 1,
        operands,
        epilogue: FloatEpilogue {
            bias: bias.map_or(Bias::Zero, |bias| Bias::Columns(&bias[first..])),
            addend: None,
            bounds: None,
        },
    }
}
