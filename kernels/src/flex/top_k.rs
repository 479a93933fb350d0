//! Indices of the first elements of rows in TopK.
//!
//! A few elements are kept in order while a row is read. Most blocks have no element before the last one that is kept, which
//! the compiler's comparisons of whole blocks show.

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{DType, TensorData};

use super::{
    memory::{Buffer, Cuts, Grid},
    plan::tuning::{KEPT, elements_per_part, max_kept},
    simd::vectorized,
    threads,
    view::Dense,
};
use crate::spec::ranking::{Top, ranking};

/// Number of elements that are compared at once.
const BLOCK: usize = 64;

/// Returns the indices of the first elements along an axis, row by row.
pub fn top_k(x: FlexTensor, top: Top) -> FlexTensor {
    let mut shape = x.shape();
    let size = shape[top.axis];
    let is_last = top.axis + 1 == shape.num_dims();
    shape[top.axis] = top.k;
    if x.dtype() != DType::F32 || !is_last || top.k > max_kept() || shape.num_elements() == 0 {
        return FlexTensor::from_data(TensorData::new(ranking(x.into_data(), top), shape));
    }
    let x = Dense::new(&x);
    let (x, rows) = (x.values(), shape.num_elements() / top.k);
    let tasks = (x.len() / elements_per_part()).clamp(1, threads::count());
    let grid = Grid::of_rows(Cuts::every(rows, 1), top.k);
    let indices = Buffer::<i64>::filled(rows * top.k, |out| {
        out.reshaped(rows, top.k).side_by_side(grid, tasks, |at, _, out| {
            let mut kept = Kept::new(top.k);
            let row = &x[at * size..(at + 1) * size];
            vectorized(
                #[inline(always)]
                || {
                    if top.largest {
                        kept.add_all(row, |x| !ascending(x));
                    } else {
                        kept.add_all(row, ascending);
                    }
                },
            );
            out.write(|out| out.write_copy_of_slice(&kept.indices[..top.k]))
        })
    });
    indices.tensor(shape)
}

/// The first elements of those that were added, in order.
struct Kept {
    keys: [i32; KEPT],
    indices: [i64; KEPT],
    count: usize,
    most: usize,
}

impl Kept {
    /// Keeps at most `most` elements, at least one.
    fn new(most: usize) -> Self {
        Self { keys: [0; KEPT], indices: [0; KEPT], count: 0, most }
    }

    /// Adds the elements of a row in the order of their keys. Of equal keys the first comes first.
    #[inline(always)]
    fn add_all(&mut self, row: &[f32], key: impl Fn(f32) -> i32) {
        let first = self.most.min(row.len());
        for (index, x) in row[..first].iter().enumerate() {
            self.add(key(*x), index);
        }
        let mut index = first;
        let mut blocks = row[first..].chunks_exact(BLOCK);
        for block in &mut blocks {
            let last = self.keys[self.count - 1];
            if block.iter().fold(false, |found, x| found | (key(*x) < last)) {
                self.add_some(block, index, &key);
            }
            index += BLOCK;
        }
        self.add_some(blocks.remainder(), index, &key);
    }

    /// Adds the elements of a block that are before the last one.
    #[inline(always)]
    fn add_some(&mut self, block: &[f32], first: usize, key: &impl Fn(f32) -> i32) {
        for (at, x) in block.iter().enumerate() {
            let key = key(*x);
            if key < self.keys[self.count - 1] {
                self.add(key, first + at);
            }
        }
    }

    /// Adds an element, in place of the last one if there is no capacity.
    fn add(&mut self, key: i32, index: usize) {
        let mut at = self.count.min(self.most - 1);
        while at > 0 && self.keys[at - 1] > key {
            (self.keys[at], self.indices[at]) = (self.keys[at - 1], self.indices[at - 1]);
            at -= 1;
        }
        (self.keys[at], self.indices[at]) = (key, index as i64);
        self.count = self.most.min(self.count + 1);
    }
}

/// Returns an integer of the same order: both zeros are equal, and NaN is the greatest.
#[inline(always)]
fn ascending(x: f32) -> i32 {
    // The sum of 0 and -0 is 0.
    let bits = (x + 0.0).to_bits() as i32;
    let key = bits ^ ((bits >> 31) & i32::MAX);
    if x.is_nan() { i32::MAX } else { key }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Tensor, TensorData};

    use super::{KEPT, Top, ranking};
    use crate::{
        flex::simd::with_each_set,
        index::top_k::top_k,
        testing::{float, noise, same},
    };

    /// Compares indices with those that the host finds.
    fn check<const D: usize>(x: Tensor<D>) {
        let axis = D - 1;
        let size = x.dims()[axis];
        for k in [1, 2, 5, 16, 17, KEPT, KEPT + 1, size].into_iter().filter(|k| *k <= size) {
            for largest in [false, true] {
                let expected = ranking(x.to_data(), Top { k, axis, largest });
                let mut shape = x.dims();
                shape[axis] = k;
                let expected = TensorData::new(expected, shape);
                same(top_k(x.clone(), k, axis, largest).1, expected);
            }
        }
    }

    /// Returns few different numbers, with both zeros, infinities and NaN.
    fn few(shape: [usize; 2]) -> Tensor<2> {
        let special =
            [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, -f32::NAN, f32::MIN_POSITIVE / 2.0];
        let data = noise::<2>(shape, 3).to_data();
        let values = data.as_slice::<f32>().unwrap().iter().map(|x| match (x.abs() * 1e3) as usize % 30 {
            at @ 0..7 => special[at],
            at => at as f32 * x.signum(),
        });
        float(TensorData::new(values.collect::<Vec<f32>>(), shape))
    }

    #[test]
    fn rows_of_every_length() {
        with_each_set(|_| {
            for shape in [[1, 1], [3, 5], [2, 64], [3, 65], [2, 127], [5, 129], [2, 1000], [40, 2000]] {
                check(noise(shape, 1));
                check(few(shape));
            }
            check(noise([3, 200], 2).transpose());
            check(noise::<3>([2, 3, 70], 2));
        });
    }

    #[test]
    fn rows_in_order() {
        let row: Vec<f32> = (0..300).map(|at| (at / 2) as f32).collect();
        let row = float::<2>(TensorData::new(row, [1, 300]));
        check(row.clone());
        check(row.neg());
    }
}
