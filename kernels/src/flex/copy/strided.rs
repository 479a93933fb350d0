//! Elements brought into the order of their axes.

use std::mem::MaybeUninit;

use burn::backend::{
    TensorMetadata,
    flex::{FlexTensor, Layout},
};

use super::{Word, by_words, filled, words};
use crate::flex::{
    gemm::threads_reading,
    memory::Target,
    threads::{even_parts, in_parts},
};

/// Words along each side of a square that is read and written at once.
const SIDE: usize = 16;

/// Words of a unit of work, about as many as the nearest cache has.
const UNIT: usize = 1 << 13;

/// The tensor with its elements one behind another.
pub fn dense(x: FlexTensor) -> FlexTensor {
    if x.is_contiguous() {
        return x;
    }
    let copied = by_words!(x.dtype(), copied(&x));
    copied.unwrap_or_else(|| x.to_contiguous())
}

fn copied<T: Word>(x: &FlexTensor) -> Option<FlexTensor> {
    let (shape, words) = (x.shape(), words::<T>(x)?);
    let axes = Axes::of(x.layout())?;
    if shape.num_elements() == 0 || !axes.are_within(words) {
        return None;
    }
    let threads = threads_reading(0, shape.num_elements() * size_of::<T>());
    let units = axes.units();
    let fill = |out: Target<T>| {
        in_parts(units, even_parts(threads), |part| {
            part.for_each(|unit| axes.copy(unit, words, out));
        });
    };
    Some(filled(shape, x.dtype(), fill))
}

/// Axes with the steps between their elements, those joined that lie as one.
struct Axes {
    first: usize,
    /// All but the last two, outermost first.
    outer: Vec<(usize, isize)>,
    rows: (usize, isize),
    columns: (usize, isize),
}

impl Axes {
    /// `None` where steps are no numbers of this process.
    fn of(layout: &Layout) -> Option<Self> {
        let mut axes: Vec<(usize, isize)> = Vec::new();
        for (&size, &step) in layout.shape().iter().zip(layout.strides()) {
            match axes.last_mut() {
                _ if size == 1 => {}
                Some((outer, before)) if *before == step.checked_mul(size.try_into().ok()?)? => {
                    *outer = outer.checked_mul(size)?;
                    *before = step;
                }
                _ => axes.push((size, step)),
            }
        }
        let columns = axes.pop().unwrap_or((1, 1));
        Some(Self {
            first: layout.start_offset(),
            rows: axes.pop().unwrap_or((1, 0)),
            columns,
            outer: axes,
        })
    }

    /// Whether all elements are among these words.
    fn are_within<T>(&self, words: &[T]) -> bool {
        let all = self.outer.iter().chain([&self.rows, &self.columns]);
        let mut reach = (self.first as i128, self.first as i128);
        for (size, step) in all {
            let far = (*size as i128 - 1) * *step as i128;
            reach = (reach.0 + far.min(0), reach.1 + far.max(0));
        }
        reach.0 >= 0 && reach.1 < words.len() as i128
    }

    /// How many rows and columns a unit of work has at most.
    fn unit(&self) -> [usize; 2] {
        let wide = self.columns.0.min(UNIT);
        let high = (UNIT / wide).min(self.rows.0);
        [
            if high > SIDE {
                high / SIDE * SIDE
            } else {
                high
            },
            wide,
        ]
    }

    /// How many units there are.
    fn units(&self) -> usize {
        let [high, wide] = self.unit();
        let outer: usize = self.outer.iter().map(|(size, _)| size).product();
        outer * self.rows.0.div_ceil(high) * self.columns.0.div_ceil(wide)
    }

    /// Copies some rows and columns of the last two axes.
    fn copy<T: Word>(&self, unit: usize, words: &[T], out: Target<T>) {
        let ((rows, down), (columns, along)) = (self.rows, self.columns);
        let [high, wide] = self.unit();
        let [lines, parts] = [rows.div_ceil(high), columns.div_ceil(wide)];
        let (mut outer, unit) = (unit / (lines * parts), unit % (lines * parts));
        let (top, left) = (unit / parts * high, unit % parts * wide);
        let to = (outer * rows + top) * columns + left;
        let mut from = self.first as isize + top as isize * down + left as isize * along;
        for (size, step) in self.outer.iter().rev() {
            from += (outer % size) as isize * step;
            outer /= size;
        }
        let [high, wide] = [high.min(rows - top), wide.min(columns - left)];
        // SAFETY: no other unit has these rows and columns.
        let line = |row: usize, first: usize, length: usize| unsafe {
            out.blank(to + row * columns + first, length)
        };
        if along != 1 && down == 1 && along > 0 {
            return exchanged(&words[from as usize..], along as usize, [high, wide], line);
        }
        for row in 0..high {
            let (from, out) = (from + row as isize * down, line(row, 0, wide));
            if along == 1 {
                out.write_copy_of_slice(&words[from as usize..][..wide]);
                continue;
            }
            for (column, out) in out.iter_mut().enumerate() {
                out.write(words[(from + column as isize * along) as usize]);
            }
        }
    }
}

/// Rows whose elements lie side by side, and columns at a step, square by square. A line is so many words
/// of a row of the result from one on.
fn exchanged<'a, T: Word>(
    words: &[T],
    step: usize,
    [rows, columns]: [usize; 2],
    line: impl Fn(usize, usize, usize) -> &'a mut [MaybeUninit<T>],
) {
    let mut square = [[T::zeroed(); SIDE]; SIDE];
    for first in (0..columns).step_by(SIDE) {
        let wide = SIDE.min(columns - first);
        for top in (0..rows).step_by(SIDE) {
            let high = SIDE.min(rows - top);
            for column in 0..wide {
                let words = &words[(first + column) * step + top..][..high];
                for (row, word) in square.iter_mut().zip(words) {
                    row[column] = *word;
                }
            }
            for (row, words) in square[..high].iter().enumerate() {
                line(top + row, first, wide).write_copy_of_slice(&words[..wide]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Float, Tensor};

    use super::*;
    use crate::backend::{of_flex, on_flex};
    use crate::testing::{noise, same};

    fn check<const D: usize>(x: Tensor<D>, view: impl Fn(Tensor<D>) -> Tensor<D>) {
        for dtype in [DType::F32, DType::F64, DType::F16] {
            let Some(flex) = on_flex(&view(x.clone().cast(dtype))) else {
                return;
            };
            let y = dense(flex.clone());
            assert!(y.is_contiguous());
            same(of_flex::<D, Float>(y), flex.to_contiguous().into_data());
        }
    }

    #[test]
    fn axes_in_any_order_are_copied() {
        for sizes in [
            [2, 3, 4, 5],
            [1, 17, 1, 33],
            [3, 70, 65, 2],
            [40, 1, 30, 50],
            [3, 0, 2, 1],
        ] {
            for order in [
                [0, 1, 3, 2],
                [0, 2, 1, 3],
                [3, 2, 1, 0],
                [1, 0, 3, 2],
                [2, 3, 0, 1],
            ] {
                check(noise::<4>(sizes, 1), |x| x.permute(order));
            }
        }
    }

    #[test]
    fn parts_steps_and_copies_are_copied() {
        let x = noise::<3>([5, 40, 37], 1);
        let part = |x: Tensor<3>| x.slice([1..4, 3..39, 2..30]);
        check(x.clone(), part);
        check(x.clone(), |x| part(x).swap_dims(1, 2));
        check(x.clone(), |x| x.flip([1]));
        check(x.clone(), |x| x.flip([0, 2]).swap_dims(0, 2));
        check(x.clone(), |x| x.slice(burn::tensor::s![.., ..;3, 1..;2]));
        check(x.clone(), |x| x.narrow(1, 4, 1).expand([5, 60, 37]));
        check(x, |x| x.narrow(0, 4, 1).expand([8, 40, 37]).swap_dims(0, 1));
        check(noise::<1>([90], 2), |x| x.slice(burn::tensor::s![5..;7]));
    }
}
