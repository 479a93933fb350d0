//! Means of contiguous integers.

use burn::backend::{TensorMetadata, flex::FlexTensor};

use super::element::{Integer, Rounding, by_dtype};
use super::parts::{Work, elements, run_with, tensor};
use crate::flex::copy::dense;
use crate::flex::memory::write_by_index;
use crate::flex::{simd::InstructionSet, simd::MulAdd};
use crate::spec::quantize::{Mean, Rounded};

/// Number of integers whose sum fits 32 bits.
const PART: usize = 1 << 15;

/// Returns the means over the axes from `mean.axis` on, whose sizes become 1; `None` for unsupported integers.
pub fn mean(x: FlexTensor, mean: Mean) -> Option<FlexTensor> {
    let Mean { of, y, axis, rounded } = mean;
    let rounding = Rounding::of(y)?;
    let mut shape = x.shape();
    let count: usize = shape[axis..].iter().product();
    for axis in axis..shape.num_dims() {
        shape[axis] = 1;
    }
    if count == 0 || x.dtype() != of.dtype() || of.dtype() != y.dtype() {
        return None;
    }
    let (x, set) = (dense(x), InstructionSet::best());
    let ratio = of.scale() / (y.scale() * count as f32);
    by_dtype!(y.dtype(), T => {
        let x = elements::<T>(&x);
        tensor::<T>(shape, |first, y_part| {
            write_by_index(y_part, |at| {
                let row = &x[(first + at) * count..][..count];
                let sum = run_with(set, Total { row });
                let sum = (sum - of.zero() * count as i64) as f32;
                rounding.integer(match rounded {
                    Rounded::Once => sum * ratio,
                    Rounded::InSteps => sum * of.scale() / count as f32 / y.scale(),
                })
            })
        })
    })
}

struct Total<'a, T> {
    row: &'a [T],
}

impl<T: Integer> Work for Total<'_, T> {
    type Output = i64;

    #[inline(always)]
    fn run<S: MulAdd>(self) -> i64 {
        let mut sum = 0;
        for part in self.row.chunks(PART) {
            let total: i32 = part.iter().map(|x| -> i32 { (*x).into() }).sum();
            sum += i64::from(total);
        }
        sum
    }
}
