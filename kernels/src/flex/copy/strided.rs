//! Row-major copies of strided tensors.

use burn::backend::{
    TensorMetadata,
    flex::{FlexTensor, Layout},
};

use super::{Word, by_words, filled, words};
use crate::flex::{
    memory::{Cuts, Grid, Order, Spot, Unwritten, Written, write_by_index},
    plan::{threads_reading, tuning::copied_part},
    threads::even_parts,
};

/// Side of the squares that are transposed at once, in words.
const SIDE: usize = 16;

/// Returns the tensor with contiguous elements.
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
    let length = shape.num_elements();
    let threads = threads_reading(0, length * size_of::<T>());
    let y = filled(shape, x.dtype(), |out| {
        let (outer, rows, columns) = (axes.outer_len(), axes.rows.0, axes.columns.0);
        let [high, wide] = axes.unit();
        let grid = Grid {
            rows: Cuts::Every { groups: outer, size: rows, step: high },
            columns: Cuts::every(columns, wide),
            order: Order::RowMajor,
        };
        let out = out.reshaped(outer * rows, columns);
        let tasks = even_parts(threads);
        out.side_by_side(grid, tasks, |_, spot, out| axes.copy(spot, words, out))
    });
    Some(y)
}

/// Sizes and strides of the axes. Axes that are contiguous to each other are merged.
struct Axes {
    first: usize,
    /// All but the last two, outermost first.
    outer: Vec<(usize, isize)>,
    rows: (usize, isize),
    columns: (usize, isize),
}

impl Axes {
    /// Returns `None` if strides overflow.
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
        Some(Self { first: layout.start_offset(), rows: axes.pop().unwrap_or((1, 0)), columns, outer: axes })
    }

    /// Returns `true` if all elements are in bounds.
    fn are_within<T>(&self, words: &[T]) -> bool {
        let all = self.outer.iter().chain([&self.rows, &self.columns]);
        let mut reach = (self.first as i128, self.first as i128);
        for (size, step) in all {
            let far = (*size as i128 - 1) * *step as i128;
            reach = (reach.0 + far.min(0), reach.1 + far.max(0));
        }
        reach.0 >= 0 && reach.1 < words.len() as i128
    }

    /// Returns the maximum numbers of rows and columns of a part.
    fn unit(&self) -> [usize; 2] {
        let wide = self.columns.0.min(copied_part());
        let high = (copied_part() / wide).min(self.rows.0);
        [if high > SIDE { high / SIDE * SIDE } else { high }, wide]
    }

    /// Returns the number of matrices of the last two axes.
    fn outer_len(&self) -> usize {
        self.outer.iter().map(|(size, _)| size).product()
    }

    /// Copies some rows and columns of one of the matrices.
    fn copy<'a, T: Word>(&self, spot: Spot, words: &[T], out: Unwritten<'a, T>) -> Written<'a, T> {
        let ((rows, down), (_, along)) = (self.rows, self.columns);
        let (mut outer, top) = (spot.rows.start / rows, spot.rows.start % rows);
        let left = spot.columns.start;
        let mut from = self.first as isize + top as isize * down + left as isize * along;
        for (size, step) in self.outer.iter().rev() {
            from += (outer % size) as isize * step;
            outer /= size;
        }
        if along != 1 && down == 1 && along > 0 {
            return exchanged(&words[from as usize..], along as usize, out);
        }
        out.write_rows(|row, out| {
            let from = from + row as isize * down;
            if along == 1 {
                return out.write_copy_of_slice(&words[from as usize..][..out.len()]);
            }
            write_by_index(out, |column| words[(from + column as isize * along) as usize])
        })
    }
}

/// Transposes, square by square: rows are contiguous in the output, columns in the input, `step` words apart.
fn exchanged<'a, T: Word>(words: &[T], step: usize, out: Unwritten<'a, T>) -> Written<'a, T> {
    let mut square = [[T::zeroed(); SIDE]; SIDE];
    let grid = Grid {
        rows: Cuts::every(out.rows(), SIDE),
        columns: Cuts::every(out.columns(), SIDE),
        order: Order::ColumnMajor,
    };
    out.in_grid(grid, |_, spot, out| {
        for (column, first) in spot.columns.clone().enumerate() {
            let words = &words[first * step + spot.rows.start..][..spot.rows.len()];
            for (row, word) in square.iter_mut().zip(words) {
                row[column] = *word;
            }
        }
        out.write_rows(|row, out| out.write_copy_of_slice(&square[row][..out.len()]))
    })
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
        for sizes in [[2, 3, 4, 5], [1, 17, 1, 33], [3, 70, 65, 2], [40, 1, 30, 50], [3, 0, 2, 1]] {
            for order in [[0, 1, 3, 2], [0, 2, 1, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]] {
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
