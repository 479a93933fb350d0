//! Outputs that several threads write in parts.

use std::mem::MaybeUninit;

use burn::backend::flex::FlexTensor;
use burn::tensor::Shape;

use super::element::Integer;
#[cfg(target_arch = "x86_64")]
use crate::flex::simd::Avx512Bytes;
use crate::flex::{
    memory::{Buffer, Cuts, Grid},
    plan::tuning::elements_per_part,
    simd::{InstructionSet, Isa, MulAdd, with_isa},
};

/// Uninitialized elements.
pub type Blank<T> = [MaybeUninit<T>];

/// Work on one part, compiled for each instruction set.
pub trait Work {
    /// Result. Work that writes elements returns them.
    type Output;

    fn run<S: MulAdd>(self) -> Self::Output;
}

/// Runs work with an instruction set.
#[inline]
pub fn run_with<W: Work>(set: InstructionSet, work: W) -> W::Output {
    #[inline(always)]
    fn run<I: Isa, W: Work>(_: I, work: W) -> W::Output {
        work.run::<I::Scalar>()
    }
    #[cfg(target_arch = "x86_64")]
    if let (InstructionSet::Avx512(_), Some(isa)) = (set, Avx512Bytes::new()) {
        return isa.call(
            #[inline(always)]
            || run(isa, work),
        );
    }
    with_isa!(set, isa => run(isa, work))
}

/// Returns a tensor whose elements `write` initializes part by part. Its argument is the index of the first element of a part.
pub fn tensor<T: Integer>(
    shape: Shape,
    write: impl for<'p> Fn(usize, &'p mut Blank<T>) -> &'p mut [T] + Send + Sync,
) -> FlexTensor {
    written(shape.num_elements(), write).tensor(shape)
}

/// Returns elements that `write` initializes part by part. Its argument is the index of the first element of a part.
pub fn written<T: bytemuck::Pod + Send + Sync>(
    length: usize,
    write: impl for<'p> Fn(usize, &'p mut Blank<T>) -> &'p mut [T] + Send + Sync,
) -> Buffer<T> {
    written_in(length, elements_per_part(), write)
}

/// [`written`] in parts of `share` elements.
pub fn written_in<T: bytemuck::Pod + Send + Sync>(
    length: usize,
    share: usize,
    write: impl for<'p> Fn(usize, &'p mut Blank<T>) -> &'p mut [T] + Send + Sync,
) -> Buffer<T> {
    let step = if length >= 2 * elements_per_part() { share } else { length.max(1) };
    let grid = Grid::of_row(Cuts::every(length, step));
    Buffer::filled(length, |out| {
        out.side_by_side(grid, usize::MAX, |_, spot, out| out.write(|out| write(spot.columns.start, out)))
    })
}

/// Splits a part into pieces of rows of `row` elements: the index of the row, the offset in it, and the elements of the part.
pub fn pieces(
    first: usize,
    length: usize,
    row: usize,
) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= length {
            return None;
        }
        let (number, place) = ((first + at) / row, (first + at) % row);
        let end = length.min(at + row - place);
        let piece = (number, place, at..end);
        at = end;
        Some(piece)
    })
}

/// Returns the elements of a tensor that is [`dense`].
pub fn elements<T: burn::tensor::Element + bytemuck::Pod>(x: &FlexTensor) -> &[T] {
    let layout = x.layout();
    &x.storage::<T>()[layout.start_offset()..][..layout.num_elements()]
}
