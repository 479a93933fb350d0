//! Products with matrices of few bits.
//!
//! Codes are unpacked in registers. An operand that is rounded to 8 bits, block by block, is multiplied in integers.
//! Else few rows are multiplied with codes as floats, and for many rows each panel is unpacked for the tiles of
//! matrices of floats.

mod floats;
mod integers;
mod lanes;
mod operand;
#[cfg(test)]
mod tests;

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::DType;

use super::{
    gemm::{End, multiply_unpacked, threads},
    instructions::Set,
    memory::{Output, Target},
    threads::in_parts,
    view::{Dense, Matrix},
};
use crate::spec::bits::{BitMatrix, PANEL, Panels, ZeroPoints};
use crate::spec::epilogue::Activation;

/// Rows for which codes are unpacked in registers: for more of them, floats in memory are faster.
const FEW: usize = 8;

/// Products of codes in the time of one of floats.
const CODES: usize = 2;

/// A panel of a matrix.
#[derive(Clone, Copy)]
struct Panel<'a> {
    of: &'a Panels,
    number: usize,
}

impl Panel<'_> {
    /// Asserts that there is what kernels read of it.
    fn check(self) {
        let end = (self.number + 1) * self.of.count;
        assert!(self.of.scales.len() >= end && self.of.codes.len() >= end * self.of.words());
        assert!(match &self.of.zeros {
            ZeroPoints::Whole(zeros) => zeros.len() >= end,
            ZeroPoints::Floats(zeros) => zeros.len() >= end,
            ZeroPoints::Middle => true,
        });
    }
}

/// `x * matrix + bias` over the last axis of `x`; none where there is nothing.
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
    let values = Output::filled(rows * outputs, |out| {
        if matrix.is_in_bytes() {
            integers::multiply(x, panels, bias, out);
        } else if rows <= FEW {
            floats::multiply(x, panels, bias, out);
        } else {
            unpacked(x, panels, bias, out);
        }
    });
    let y = values.tensor(shape);
    Some(match dtype {
        DType::F32 => y,
        _ => Flex::float_cast(y, dtype.into()),
    })
}

/// The product by tiles of floats, for which panels are unpacked as they are needed.
fn unpacked(x: Matrix<'_>, panels: &Panels, bias: Option<&[f32]>, out: Target) {
    let set = Set::best();
    let end = End {
        bias,
        sum: None,
        activation: Activation::Identity,
    };
    let unpack = |first: usize, to: &mut [f32]| floats::unpack(set, panels, first, to);
    let outputs = panels.blocks.outputs;
    if panels.order.is_none() {
        return multiply_unpacked(set, x, outputs, &unpack, end, out);
    }
    let places = panels.count * panels.blocks.size;
    let mut ordered = vec![0.0; x.rows * places];
    for (row, ordered) in ordered.chunks_exact_mut(places).enumerate() {
        operand::lay_out(panels, &x.values[row * x.columns..][..x.columns], ordered);
    }
    let x = Matrix::dense(&ordered, places);
    multiply_unpacked(set, x, outputs, &unpack, end, out);
}

/// Runs the panels of outputs, with the number of each, on as many threads as multiplications are worth.
fn by_panels(rows: usize, panels: &Panels, run: impl Fn(usize) + Sync + Send) {
    let multiplications = (rows * panels.blocks.outputs).saturating_mul(panels.blocks.inputs);
    let threads = threads(multiplications / CODES);
    let count = panels.panels();
    in_parts(count, threads, |panels| panels.for_each(&run));
}

/// Writes the sums of some rows of a panel, with their bias.
fn finish(
    sums: &[[f32; PANEL]],
    first_row: usize,
    panel: usize,
    outputs: usize,
    bias: Option<&[f32]>,
    out: Target,
) {
    let first = panel * PANEL;
    let count = PANEL.min(outputs - first);
    for (row, sums) in (first_row..).zip(sums) {
        // SAFETY: each panel writes its own columns.
        let out = unsafe { out.filled(row * outputs + first, count) };
        out.copy_from_slice(&sums[..count]);
        if let Some(bias) = bias {
            for (out, bias) in out.iter_mut().zip(&bias[first..]) {
                *out += bias;
            }
        }
    }
}
