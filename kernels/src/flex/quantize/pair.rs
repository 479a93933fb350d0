//! QLinearAdd, QLinearMul, and their float counterparts.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::Shape;

use super::element::{Integer, Rounding, by_dtype};
use super::parts::{Blank, Work, elements, pieces, run_with, tensor};
use crate::flex::copy::dense;
use crate::flex::memory::{SliceWriter, write_each, write_pairs};
use crate::flex::{simd::InstructionSet, simd::MulAdd};
use crate::spec::quantize::{Pair, Step};

/// Returns `None` for unsupported integers.
pub fn combine(a: FlexTensor, b: FlexTensor, pair: Pair) -> Option<FlexTensor> {
    let numbers = Numbers::of(&pair)?;
    if a.dtype() != pair.y.dtype() || b.dtype() != pair.y.dtype() {
        return None;
    }
    let (shape, rows) = Rows::of(&a.shape(), &b.shape())?;
    let (a, b, set) = (dense(a), dense(b), InstructionSet::best());
    by_dtype!(pair.y.dtype(), T => {
        let (a, b) = (elements::<T>(&a), elements::<T>(&b));
        tensor::<T>(shape, |first, y| {
            let length = y.len();
            let mut y = SliceWriter::new(y);
            for (row, place, range) in pieces(first, length, rows.length) {
                let count = range.len();
                let [a, b] = [(a, 0), (b, 1)].map(|(all, side)| rows.piece(all, side, row, place, count));
                y.write(count, |y| run_with(set, Both { a, b, y, step: pair.step, numbers }));
            }
            y.finish()
        })
    })
}

/// Offsets of the rows of both operands for each row of the result.
struct Rows {
    /// Number of elements of a row, which are contiguous, or a single one that broadcasts, in each operand.
    length: usize,
    /// Sizes of the axes before, from the last on, and their strides in both operands.
    outer: Vec<(usize, [usize; 2])>,
    steps: [usize; 2],
}

impl Rows {
    fn of(a: &Shape, b: &Shape) -> Option<(Shape, Self)> {
        let rank = a.num_dims();
        if b.num_dims() != rank {
            return None;
        }
        let (mut sizes, mut axes) = (vec![0; rank], Vec::<(usize, [usize; 2])>::new());
        let mut next = [1, 1];
        for axis in (0..rank).rev() {
            let own = [a[axis], b[axis]];
            sizes[axis] = match own {
                [a, b] if a == b => a,
                [1, size] | [size, 1] => size,
                _ => return None,
            };
            let steps = std::array::from_fn(|side| if own[side] == 1 { 0 } else { next[side] });
            next = std::array::from_fn(|side| next[side] * own[side]);
            match axes.last_mut() {
                _ if sizes[axis] == 1 => {}
                // The axis continues the one after it, so both are merged.
                Some((size, inner)) if steps == inner.map(|step| step * *size) => *size *= sizes[axis],
                _ => axes.push((sizes[axis], steps)),
            }
        }
        let mut axes = axes.into_iter();
        let (length, steps) = axes.next().unwrap_or((1, [0, 0]));
        let rows = Self { length: length.max(1), outer: axes.collect(), steps };
        Some((Shape::from(sizes), rows))
    }

    /// Returns the elements of one operand for a piece of a row, or its single element.
    fn piece<'a, T>(&self, all: &'a [T], side: usize, mut row: usize, place: usize, count: usize) -> &'a [T] {
        let mut start = place * self.steps[side];
        for (size, steps) in &self.outer {
            start += row % size * steps[side];
            row /= size;
        }
        &all[start..][..if self.steps[side] == 0 { 1 } else { count }]
    }
}

/// The constants of a [`Pair`] as used in the loops.
#[derive(Clone, Copy)]
struct Numbers {
    scales: [f32; 2],
    zeros: [f32; 2],
    scale: f32,
    offset: f32,
    ratios: [f32; 2],
    rounding: Rounding,
    /// Rounding around the zero point of the result.
    around: Rounding,
}

impl Numbers {
    fn of(pair: &Pair) -> Option<Self> {
        let around = Rounding::of(pair.y)?;
        let (a, b, y) = (pair.a, pair.b, pair.y);
        let rounding = Rounding::new(y.dtype(), y.bits(), 0)?;
        let ratios = match pair.step {
            Step::Product => [a.scale() * b.scale() / y.scale(), y.zero() as f32],
            _ => [a.scale() / y.scale(), b.scale() / y.scale()],
        };
        Some(Self {
            scales: [a.scale(), b.scale()],
            zeros: [a.zero() as f32, b.zero() as f32],
            scale: y.scale(),
            offset: pair.offset(),
            ratios,
            rounding,
            around,
        })
    }
}

struct Both<'x, 'y, T> {
    a: &'x [T],
    b: &'x [T],
    y: &'y mut Blank<T>,
    step: Step,
    numbers: Numbers,
}

impl<'y, T: Integer> Work for Both<'_, 'y, T> {
    type Output = &'y mut [T];

    #[inline(always)]
    fn run<S: MulAdd>(self) -> &'y mut [T] {
        let Numbers { scales, zeros, scale, offset, ratios, rounding, around } = self.numbers;
        let floats = |a: f32, b: f32| ((a - zeros[0]) * scales[0], (b - zeros[1]) * scales[1]);
        match self.step {
            Step::Sum => each(self, |a, b| {
                rounding.integer(S::mul_add_once(a, ratios[0], S::mul_add_once(b, ratios[1], offset)))
            }),
            Step::Product => {
                each(self, |a, b| rounding.integer((a - zeros[0]) * (b - zeros[1]) * ratios[0] + ratios[1]))
            }
            Step::SumOfFloats => each(self, |a, b| {
                let (a, b) = floats(a, b);
                around.integer((a + b) / scale)
            }),
            Step::ProductOfFloats => each(self, |a, b| {
                let (a, b) = floats(a, b);
                around.integer(a * b / scale)
            }),
        }
    }
}

#[inline(always)]
fn each<'y, T: Integer>(both: Both<'_, 'y, T>, run: impl Fn(f32, f32) -> T) -> &'y mut [T] {
    let Both { a, b, y, .. } = both;
    match (a, b) {
        ([a], b) => {
            let a = a.float();
            write_each(
                y,
                b,
                #[inline(always)]
                |b| run(a, b.float()),
            )
        }
        (a, [b]) => {
            let b = b.float();
            write_each(
                y,
                a,
                #[inline(always)]
                |a| run(a.float(), b),
            )
        }
        (a, b) => write_pairs(
            y,
            (a, b),
            #[inline(always)]
            |a, b| run(a.float(), b.float()),
        ),
    }
}
