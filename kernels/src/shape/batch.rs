//! Large batches in parts, whose values stay in the caches from layer to layer.
//!
//! Only for models whose rows the compiler proved independent: each row of the outputs depends on the same row of the inputs.

use alloc::vec::Vec;
use core::ops::Range;

use burn::tensor::{Tensor, kind::Basic};

use crate::shape::stack;

/// Larger batches are computed as a whole: for the compiler, a slice that ends at this row or later has all rows
/// (`ir/src/rows.rs`).
#[cfg(feature = "flex")]
const MAX_ROWS: usize = 1 << 29;

/// Consecutive rows of a batch.
pub struct Rows(Range<usize>);

impl Rows {
    /// Returns these rows of a tensor, which are along an axis.
    pub fn of<const D: usize, K: Basic>(&self, tensor: &Tensor<D, K>, axis: usize) -> Tensor<D, K> {
        tensor.clone().narrow(axis, self.0.start, self.0.len())
    }
}

/// Calls a model for parts of a batch, whose rows are along an axis of `x`, if the batch is so large that parts are faster.
/// `bytes_per_element` is the estimated number of bytes that a layer reads and writes for each element of `x`.
#[cfg(feature = "flex")]
pub fn in_parts<const D: usize, K: Basic, T>(
    x: &Tensor<D, K>,
    axis: usize,
    bytes_per_element: usize,
    model: impl Fn(Rows) -> T,
) -> Option<Vec<T>> {
    use crate::flex::{plan::tuning, threads};

    let dims = x.dims();
    let rows = dims[axis];
    let sizes_of_row = dims.iter().enumerate().filter(|&(at, _)| at != axis).map(|(_, &size)| size);
    let bytes = sizes_of_row.fold(bytes_per_element, usize::saturating_mul).max(1);
    let most = (tuning::max_part_bytes() / bytes).max(1).saturating_mul(threads::count());
    if rows <= most || rows > MAX_ROWS || crate::backend::on_flex(x).is_none() {
        return None;
    }
    let parts = rows.div_ceil(most);
    Some((0..parts).map(|at| model(Rows(threads::part(rows, parts, at)))).collect())
}

/// Returns nothing: without CPU kernels, batches are computed as a whole.
#[cfg(not(feature = "flex"))]
pub fn in_parts<const D: usize, K: Basic, T>(
    _x: &Tensor<D, K>,
    _axis: usize,
    _bytes_per_element: usize,
    _model: impl Fn(Rows) -> T,
) -> Option<Vec<T>> {
    None
}

/// Joins an output of the parts, whose rows are along an axis.
pub fn joined<const D: usize, K: Basic>(
    parts: impl IntoIterator<Item = Tensor<D, K>>,
    axis: usize,
) -> Tensor<D, K> {
    stack::concat(parts.into_iter().collect(), axis)
}

#[cfg(all(test, feature = "flex"))]
mod tests {
    use core::cell::RefCell;

    use super::*;
    use crate::{
        flex::{plan::tuning, threads},
        testing::{by_flex, float, same},
    };

    /// Number of bytes of an element for which `rows` rows of two elements are a part.
    fn bytes_for(rows: usize) -> usize {
        tuning::max_part_bytes() / (2 * rows)
    }

    #[test]
    fn parts_of_a_batch_are_of_equal_size() {
        if !by_flex("batches are computed as a whole") {
            return;
        }
        let x = Tensor::<2>::ones([7, 2], &Default::default());
        let sizes = |bytes: usize, count: usize| {
            let seen = RefCell::new(Vec::new());
            let parts = threads::with(count, || {
                in_parts(&x, 0, bytes, |rows| {
                    seen.borrow_mut().push(rows.0.clone());
                    rows.of(&x, 0)
                })
            });
            if let Some(parts) = parts {
                assert_eq!(joined(parts, 0).dims(), [7, 2]);
            }
            seen.into_inner()
        };
        assert_eq!(sizes(usize::MAX, 1), (0..7).map(|row| row..row + 1).collect::<Vec<_>>());
        if tuning::are_defaults() {
            assert_eq!(sizes(bytes_for(3), 1), [0..2, 2..4, 4..7]);
            assert!(sizes(bytes_for(7), 1).is_empty());
            assert_eq!(sizes(bytes_for(6), 1), [0..3, 3..7]);
        }
    }

    #[test]
    fn rows_along_any_axis_are_joined_in_order() {
        if !by_flex("batches are computed as a whole") {
            return;
        }
        let x = float::<2>([[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let parts = threads::with(1, || in_parts(&x, 1, usize::MAX, |rows| rows.of(&x, 1) + 1)).unwrap();
        assert_eq!(parts.len(), 3);
        same(joined(parts, 1), [[2f32, 3.0, 4.0], [5.0, 6.0, 7.0]]);
    }

    #[test]
    fn batches_that_are_small_or_empty_are_not_divided() {
        let none = |dims: [usize; 2], bytes| {
            let x = Tensor::<2>::zeros(dims, &Default::default());
            in_parts(&x, 0, bytes, |_| ()).is_none()
        };
        assert!(none([0, 2], usize::MAX) && none([1, 2], usize::MAX));
        assert!(none([1, 0], 1));
    }
}
