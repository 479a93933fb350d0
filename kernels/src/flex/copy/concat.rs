//! Concatenation.

use burn::backend::{TensorMetadata, flex::FlexTensor};

use super::{Word, by_words, dense, dense_words, filled};
use crate::flex::{
    memory::{Cuts, Grid, Order},
    plan::{
        threads_reading,
        tuning::{copied_part, min_banded_plane},
    },
    simd::InstructionSet,
    threads::even_parts,
    window::{Planes, by_bands},
};

/// Concatenates tensors of one dtype whose other sizes are equal. Returns `None` if their memory is not aligned.
pub fn concat(parts: Vec<FlexTensor>, axis: usize) -> Option<FlexTensor> {
    let dtype = parts.first()?.dtype();
    if parts.iter().any(|part| part.dtype() != dtype) {
        return None;
    }
    let parts: Vec<FlexTensor> = parts.into_iter().map(dense).collect();
    by_words!(dtype, joined(&parts, axis))
}

/// Words of one tensor, and their number for each index of the axes before.
struct Part<'a, T> {
    words: &'a [T],
    length: usize,
    /// Offset among the words of the output.
    first: usize,
}

fn joined<T: Word>(tensors: &[FlexTensor], axis: usize) -> Option<FlexTensor> {
    let mut shape = tensors.first()?.shape();
    let plane: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut parts = Vec::new();
    let mut total = 0;
    for tensor in tensors {
        let (words, length) = (dense_words::<T>(tensor)?, tensor.shape()[axis] * plane);
        parts.push(Part { words, length, first: total });
        total += length;
    }
    shape[axis] = tensors.iter().map(|tensor| tensor.shape()[axis]).sum();
    if outer * total == 0 {
        return None;
    }
    let wide = shape.last().copied().unwrap_or(1);
    let threads = threads_reading(0, outer * total * size_of::<T>());
    let dtype = tensors[0].dtype();
    let is_spatial = axis + 2 < shape.num_dims() && plane >= min_banded_plane();
    let y = filled(shape, dtype, |out| {
        if is_spatial && threads > 1 {
            let planes = Planes::new(outer * total / plane, [1, plane / wide, wide]);
            return by_bands(out, InstructionSet::best(), planes, threads, |at, rows, out| {
                let first = at * plane + rows.start * wide;
                let (outer, offset) = (first / total, first % total);
                let part = &parts[parts.partition_point(|part| part.end() <= offset)];
                let from = outer * part.length + offset - part.first;
                out.copied(&part.words[from..][..rows.len() * wide])
            });
        }
        // Long parts are divided as well.
        let pieces = (total / copied_part()).clamp(1, threads);
        let ends = parts.iter().flat_map(|part| {
            let step = part.length.div_ceil(pieces);
            (1..=pieces).map(move |piece| part.first + (piece * step).min(part.length))
        });
        let ends: Vec<usize> = ends.collect();
        let grid = Grid { rows: Cuts::every(outer, 1), columns: Cuts::Ends(&ends), order: Order::RowMajor };
        let out = out.reshaped(outer, total);
        out.side_by_side(grid, even_parts(threads), |index, spot, out| {
            let part = &parts[index % ends.len() / pieces];
            let from = spot.rows.start * part.length + spot.columns.start - part.first;
            out.copied(&part.words[from..][..spot.columns.len()])
        })
    });
    Some(y)
}

impl<T> Part<'_, T> {
    fn end(&self) -> usize {
        self.first + self.length
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Int, Tensor, kind::Basic};

    use crate::{
        shape::stack::concat,
        testing::{noise, same},
    };

    fn check<const D: usize, K: Basic>(parts: &[Tensor<D, K>], axis: usize) {
        let expected = Tensor::cat(parts.to_vec(), axis);
        same(concat(parts.to_vec(), axis), expected.into_data());
    }

    #[test]
    fn tensors_of_any_shape_are_joined() {
        for axis in 0..4 {
            for sizes in [[2, 3, 5, 7], [1, 1, 1, 1], [2, 4, 40, 33], [1, 6, 90, 91]] {
                let part = |size: usize, seed: u64| {
                    let mut sizes = sizes;
                    sizes[axis] = size;
                    noise::<4>(sizes, seed)
                };
                check(&[part(3, 1), part(1, 2), part(5, 3)], axis);
                check(&[part(2, 1), part(0, 2), part(4, 3)], axis);
            }
        }
    }

    #[test]
    fn elements_may_lie_anyhow_and_be_of_any_type() {
        let (a, b) = (noise::<3>([4, 5, 6], 1), noise::<3>([6, 5, 4], 2));
        let sliced = noise::<3>([9, 5, 8], 3).slice([2..6, 0..5, 1..7]);
        check(&[a.clone(), b.clone().swap_dims(0, 2), sliced.flip([1])], 1);
        let dtypes = [DType::F64, DType::F16, DType::BF16];
        for dtype in dtypes {
            check(&[a.clone().cast(dtype), b.clone().swap_dims(0, 2).cast(dtype)], 2);
        }
        let whole = |x: Tensor<3>| -> Tensor<3, Int> { (x * 9.0).int() };
        check(&[whole(a.clone()), whole(b.clone().swap_dims(0, 2))], 0);
        for dtype in [DType::I64, DType::I32, DType::I8, DType::U8] {
            check(&[whole(a.clone()).cast(dtype), whole(a.clone() + 2.0).cast(dtype)], 0);
        }
        check(&[a.clone().greater_elem(0.0), a.lower_elem(0.3)], 2);
    }
}
