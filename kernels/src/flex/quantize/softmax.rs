//! Softmax of quantized rows.

use burn::backend::{TensorMetadata, flex::FlexTensor};

use super::element::{Integer, Rounding, by_dtype};
use super::parts::{Blank, Work, elements, run_with, written_in};
use super::unary::float;
use crate::flex::{
    memory::{SliceWriter, write_each},
    plan::tuning::elements_per_part,
    simd::{InstructionSet, MulAdd},
    softmax::{greatest, powers},
};
use crate::spec::quantize::{Affine, Rounded};

/// Softmax along the last axis; returns `None` for unsupported integers.
pub fn softmax(x: &FlexTensor, of: Affine, to: Affine, rounded: Rounded) -> Option<FlexTensor> {
    let rounding = Rounding::of(to)?;
    let shape = x.shape();
    let length = shape.last().copied().filter(|length| *length > 0)?;
    by_dtype!(x.dtype(), X => {
        let x = elements::<X>(x);
        by_dtype!(to.dtype(), Y => {
            let values = written_in::<Y>(x.len(), elements_per_part().next_multiple_of(length), |first, y| {
                let x = &x[first..][..y.len()];
                let mut row = vec![0.0; length];
                run_with(InstructionSet::best(), Rows { x, y, row: &mut row, of, to, rounded, rounding })
            });
            values.tensor(shape.clone())
        })
    })?
}

/// Rows, with a buffer for the floats of one.
struct Rows<'x, 'y, X, Y> {
    x: &'x [X],
    y: &'y mut Blank<Y>,
    row: &'x mut [f32],
    of: Affine,
    to: Affine,
    rounded: Rounded,
    rounding: Rounding,
}

impl<'y, X: Integer, Y: Integer> Work for Rows<'_, 'y, X, Y> {
    type Output = &'y mut [Y];

    #[inline(always)]
    fn run<S: MulAdd>(self) -> &'y mut [Y] {
        let (length, scale, rounding) = (self.row.len(), self.to.scale(), self.rounding);
        let levels = (1.0 / scale).floor();
        let mut y = SliceWriter::new(self.y);
        for x in self.x.chunks_exact(length) {
            for (value, x) in self.row.iter_mut().zip(x) {
                *value = float(x.float(), self.of);
            }
            let most = greatest(self.row);
            let sum = powers::<S>(self.row, most);
            let row = &*self.row;
            y.write(
                length,
                #[inline(always)]
                |y| match self.rounded {
                    Rounded::InSteps => {
                        let inverse = 1.0 / sum;
                        write_each(
                            y,
                            row,
                            #[inline(always)]
                            |value| rounding.integer(value * inverse / scale),
                        )
                    }
                    Rounded::Once => write_each(
                        y,
                        row,
                        #[inline(always)]
                        |value| rounding.integer(value * levels / sum),
                    ),
                },
            );
        }
        y.finish()
    }
}
