//! MaxPool of 8- and 16-bit integers.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::Shape;

use super::element::{Integer, by_dtype};
use super::parts::{Work, elements, pieces, run_with, tensor};
use crate::flex::copy::dense;
use crate::flex::memory::SliceWriter;
use crate::flex::{simd::InstructionSet, simd::MulAdd};
use crate::spec::window::Window;

/// Returns the maximum of each window of `[batch, channels, rows, columns]`; `None` for unsupported integers.
pub fn max_pool(x: FlexTensor, window: Window<2>, positions: [usize; 2]) -> Option<FlexTensor> {
    let [batch, channels, rows, columns] = x.shape().dims();
    let shape = Shape::from([batch, channels, positions[0], positions[1]]);
    let (x, set) = (dense(x), InstructionSet::best());
    by_dtype!(x.dtype(), T => {
        let x = elements::<T>(&x);
        tensor::<T>(shape, |first, y| {
            let needed = (positions[1] - 1) * window.strides[1] + window.reach(1);
            let width = needed.max(window.pads[1].0 + columns);
            let (mut line, mut greatest) = (vec![T::LEAST; width], vec![T::LEAST; positions[1]]);
            let length = y.len();
            let mut y = SliceWriter::new(y);
            for (row, place, range) in pieces(first, length, positions[1]) {
                let (plane, position) = (row / positions[0], row % positions[0]);
                let x = &x[plane * rows * columns..][..rows * columns];
                let (line, greatest) = (&mut line, &mut greatest[..range.len()]);
                run_with(set, Row { x, columns, window, position, place, line, greatest });
                y.copy(greatest);
            }
            y.finish()
        })
    })
}

/// A range of columns in a row of the result.
struct Row<'a, T> {
    x: &'a [T],
    columns: usize,
    window: Window<2>,
    position: usize,
    /// First column in the result.
    place: usize,
    /// A padded row in which the maximum of each column is computed.
    line: &'a mut [T],
    greatest: &'a mut [T],
}

impl<T: Integer> Work for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: MulAdd>(self) {
        let Window { kernel, strides, dilations, pads } = self.window;
        let begin = pads[1].0;
        let line = &mut self.line[begin..][..self.columns];
        line.fill(T::LEAST);
        for tap in 0..kernel[0] {
            let padded = self.position * strides[0] + tap * dilations[0];
            let row = padded.checked_sub(pads[0].0).and_then(|row| {
                let first = row.checked_mul(self.columns)?;
                self.x.get(first..first + self.columns)
            });
            for (greatest, x) in line.iter_mut().zip(row.unwrap_or(&[])) {
                *greatest = (*greatest).max(*x);
            }
        }
        let line = &self.line[self.place * strides[1]..];
        let greatest = self.greatest;
        for tap in 0..kernel[1] {
            let line = &line[tap * dilations[1]..];
            match strides[1] {
                1 => across(line.iter(), greatest, tap == 0),
                2 => across(line.iter().step_by(2), greatest, tap == 0),
                stride => across(line.iter().step_by(stride), greatest, tap == 0),
            }
        }
    }
}

#[inline(always)]
fn across<'a, T: Integer>(line: impl Iterator<Item = &'a T>, greatest: &mut [T], is_first: bool) {
    for (greatest, x) in greatest.iter_mut().zip(line) {
        *greatest = if is_first { *x } else { (*greatest).max(*x) };
    }
}
