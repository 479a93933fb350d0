//! Functions of quantized integers.
//!
//! 8-bit integers without a bias use a table, others blocks of floats.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::TensorData;

use super::element::{Integer, Rounding, by_dtype};
use super::linear::single;
use super::parts::{Blank, Work, elements, pieces, run_with, tensor, written};
use super::softmax;
use crate::flex::copy::dense;
use crate::flex::simd::look_up;
use crate::flex::{
    elementary::activate,
    memory::{SliceWriter, write_each},
    simd::InstructionSet,
    simd::MulAdd,
};
use crate::spec::epilogue::Activation;
use crate::spec::quantize::{Affine, Function, Unary};

/// Number of floats in a block, which stays in the L1 cache.
const BLOCK: usize = 1024;

/// Applies a function, after adding a bias along the last axis; returns `None` for unsupported integers.
pub fn compute(x: FlexTensor, bias: Option<FlexTensor>, unary: Unary) -> Option<FlexTensor> {
    let rounding = Rounding::of(unary.y)?;
    if x.dtype() != unary.of.dtype() {
        return None;
    }
    let (x, bias) = (dense(x), bias.map(single));
    let activation = match (unary.function, bias) {
        (Function::Each(activation), None) => activation,
        (Function::Each(activation), Some(bias)) => {
            return biased(&x, &bias?, activation, unary, rounding);
        }
        (Function::Softmax(rounded), None) => {
            return softmax::softmax(&x, unary.of, unary.y, rounded);
        }
        (Function::Softmax(_), Some(_)) => return None,
    };
    if x.dtype().size() == 1 && unary.y.dtype().size() == 1 {
        return Some(bytes(&x, activation, unary, rounding));
    }
    by_dtype!(x.dtype(), X => {
        let x_elements = elements::<X>(&x);
        by_dtype!(unary.y.dtype(), Y => tensor::<Y>(x.shape(), |first, y| {
            let x = &x_elements[first..][..y.len()];
            run_with(InstructionSet::best(), Blocks { x, y, bias: None, activation, unary, rounding })
        }))
    })?
}

/// The bias has one value per element of a row.
fn biased(
    x: &FlexTensor,
    bias: &FlexTensor,
    activation: Activation,
    unary: Unary,
    rounding: Rounding,
) -> Option<FlexTensor> {
    let bias: &[f32] = elements(bias);
    if bias.is_empty() || x.shape().last() != Some(&bias.len()) {
        return None;
    }
    by_dtype!(x.dtype(), X => {
        let x_elements = elements::<X>(x);
        by_dtype!(unary.y.dtype(), Y => tensor::<Y>(x.shape(), |first, y| {
            let length = y.len();
            let mut y = SliceWriter::new(y);
            for (_, place, range) in pieces(first, length, bias.len()) {
                let x = &x_elements[first..][range];
                let bias = Some(&bias[place..][..x.len()]);
                y.write(x.len(), |y| {
                    run_with(InstructionSet::best(), Blocks { x, y, bias, activation, unary, rounding })
                });
            }
            y.finish()
        }))
    })?
}

fn bytes(x: &FlexTensor, activation: Activation, unary: Unary, rounding: Rounding) -> FlexTensor {
    let first = x.layout().start_offset();
    let all = &x.bytes()[first..][..x.layout().num_elements()];
    let table = table(activation, unary, rounding);
    let y = written(all.len(), |first, y| look_up(&table, &all[first..][..y.len()], y));
    let y = TensorData::from_bytes(y.into_bytes(), x.shape(), unary.y.dtype());
    FlexTensor::from_data(y)
}

/// Returns the result for each byte.
fn table(activation: Activation, unary: Unary, rounding: Rounding) -> [u8; 256] {
    let is_signed = unary.of.dtype().is_int();
    let mut values: [f32; 256] = std::array::from_fn(|byte| {
        let byte = byte as u8;
        let integer = if is_signed { byte.cast_signed().float() } else { byte.float() };
        float(integer, unary.of)
    });
    activate(&mut values, activation);
    values.map(|value| rounding.integer(value / unary.y.scale()))
}

#[inline(always)]
pub fn float(integer: f32, of: Affine) -> f32 {
    (integer - of.zero() as f32) * of.scale()
}

struct Blocks<'x, 'y, X, Y> {
    x: &'x [X],
    y: &'y mut Blank<Y>,
    /// One value per element.
    bias: Option<&'x [f32]>,
    activation: Activation,
    unary: Unary,
    rounding: Rounding,
}

impl<'y, X: Integer, Y: Integer> Work for Blocks<'_, 'y, X, Y> {
    type Output = &'y mut [Y];

    #[inline(always)]
    fn run<S: MulAdd>(self) -> &'y mut [Y] {
        let Unary { of, y: to, .. } = self.unary;
        let (rounding, scale) = (self.rounding, to.scale());
        let mut block = [0.0; BLOCK];
        let mut y = SliceWriter::new(self.y);
        for (number, x) in self.x.chunks(BLOCK).enumerate() {
            let block = &mut block[..x.len()];
            for (value, x) in block.iter_mut().zip(x) {
                *value = float(x.float(), of);
            }
            if let Some(bias) = self.bias {
                for (value, bias) in block.iter_mut().zip(&bias[number * BLOCK..]) {
                    *value += bias;
                }
            }
            if self.activation != Activation::Identity {
                activate(block, self.activation);
            }
            y.write(
                x.len(),
                #[inline(always)]
                |y| {
                    write_each(
                        y,
                        block,
                        #[inline(always)]
                        |value| rounding.integer(value / scale),
                    )
                },
            );
        }
        y.finish()
    }
}
