//! Softmax of integers along rows.

use burn::backend::{TensorMetadata, flex::FlexTensor};

use super::element::{Integer, Rounding, by_dtype};
use super::parts::{Blank, SHARE, Work, elements, run_with, written_in};
use super::unary::float;
use crate::flex::{
    instructions::{Set, Sum},
    softmax::{greatest, powers},
};
use crate::spec::quantize::{Affine, Rounded};

/// Along the last axis; `None` where the integers are others.
pub fn softmax(x: &FlexTensor, of: Affine, to: Affine, rounded: Rounded) -> Option<FlexTensor> {
    let rounding = Rounding::of(to)?;
    let shape = x.shape();
    let length = shape.last().copied().filter(|length| *length > 0)?;
    by_dtype!(x.dtype(), X => {
        let x = elements::<X>(x);
        by_dtype!(to.dtype(), Y => {
            let values = written_in(x.len(), SHARE.next_multiple_of(length), |first, y: &mut Blank<Y>| {
                let x = &x[first..][..y.len()];
                let mut row = vec![0.0; length];
                run_with(Set::best(), Rows { x, y, row: &mut row, of, to, rounded, rounding });
            });
            values.tensor(shape.clone())
        })
    })?
}

/// Rows with memory for the floats of one.
struct Rows<'a, X, Y> {
    x: &'a [X],
    y: &'a mut Blank<Y>,
    row: &'a mut [f32],
    of: Affine,
    to: Affine,
    rounded: Rounded,
    rounding: Rounding,
}

impl<X: Integer, Y: Integer> Work for Rows<'_, X, Y> {
    #[inline(always)]
    fn run<S: Sum>(self) {
        let (length, scale) = (self.row.len(), self.to.scale());
        let levels = (1.0 / scale).floor();
        let rows = self.x.chunks_exact(length);
        for (x, y) in rows.zip(self.y.chunks_exact_mut(length)) {
            for (value, x) in self.row.iter_mut().zip(x) {
                *value = float(x.float(), self.of);
            }
            let most = greatest(self.row);
            let sum = powers::<S>(self.row, most);
            let written = y.iter_mut().zip(self.row.iter());
            match self.rounded {
                Rounded::InSteps => {
                    let inverse = 1.0 / sum;
                    for (y, value) in written {
                        y.write(self.rounding.integer(value * inverse / scale));
                    }
                }
                Rounded::Once => {
                    for (y, value) in written {
                        y.write(self.rounding.integer(value * levels / sum));
                    }
                }
            }
        }
    }
}
