//! Functions of single integers: a table for those of 8 bits, blocks of floats for others.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{Bytes, TensorData};

use super::element::{Integer, Rounding, by_dtype};
use super::parts::{Blank, Work, elements, run_with, tensor, written};
use super::table::look_up;
use crate::flex::view::dense;
use crate::flex::{
    elementary::activate,
    instructions::{Set, Sum},
};
use crate::product::epilogue::Activation;
use crate::quantize::{Affine, Unary};

/// Floats of a block, which stays in the nearest cache.
const BLOCK: usize = 1024;

/// `None` where the integers are others.
pub fn compute(x: FlexTensor, unary: Unary) -> Option<FlexTensor> {
    let rounding = Rounding::of(unary.y)?;
    if x.dtype() != unary.of.dtype() {
        return None;
    }
    let (x, set) = (dense(x), Set::best());
    if x.dtype().size() == 1 && unary.y.dtype().size() == 1 {
        return Some(bytes(&x, &unary, rounding));
    }
    by_dtype!(x.dtype(), X => {
        let x_elements = elements::<X>(&x);
        by_dtype!(unary.y.dtype(), Y => tensor::<Y>(x.shape(), |first, y| {
            let x = &x_elements[first..][..y.len()];
            run_with(set, Blocks { x, y, unary, rounding });
        }))
    })?
}

fn bytes(x: &FlexTensor, unary: &Unary, rounding: Rounding) -> FlexTensor {
    let first = x.layout().start_offset();
    let all = &x.bytes()[first..][..x.layout().num_elements()];
    let table = table(unary, rounding);
    let y = written(all.len(), |first, y| {
        look_up(&table, &all[first..][..y.len()], y)
    });
    let y = TensorData::from_bytes(Bytes::from_elems(y), x.shape(), unary.y.dtype());
    FlexTensor::from_data(y)
}

/// What every byte becomes.
fn table(unary: &Unary, rounding: Rounding) -> [u8; 256] {
    let is_signed = unary.of.dtype().is_int();
    let mut values: [f32; 256] = std::array::from_fn(|byte| {
        let byte = byte as u8;
        let integer = if is_signed {
            byte.cast_signed().float()
        } else {
            byte.float()
        };
        float(integer, unary.of)
    });
    activate(&mut values, unary.activation);
    values.map(|value| rounding.integer(value / unary.y.scale()))
}

#[inline(always)]
fn float(integer: f32, of: Affine) -> f32 {
    (integer - of.zero() as f32) * of.scale()
}

struct Blocks<'a, X, Y> {
    x: &'a [X],
    y: &'a mut Blank<Y>,
    unary: Unary,
    rounding: Rounding,
}

impl<X: Integer, Y: Integer> Work for Blocks<'_, X, Y> {
    #[inline(always)]
    fn run<S: Sum>(self) {
        let Unary {
            of,
            y: to,
            activation,
        } = self.unary;
        let mut block = [0.0; BLOCK];
        for (x, y) in self.x.chunks(BLOCK).zip(self.y.chunks_mut(BLOCK)) {
            let block = &mut block[..x.len()];
            for (value, x) in block.iter_mut().zip(x) {
                *value = float(x.float(), of);
            }
            if activation != Activation::Identity {
                activate(block, activation);
            }
            for (y, value) in y.iter_mut().zip(block) {
                y.write(self.rounding.integer(*value / to.scale()));
            }
        }
    }
}
