//! Indices along axes, and flat indices of elements.

use alloc::{format, string::String};
use core::fmt;

use burn::tensor::{DType, Shape};

use super::types::TensorType;
use crate::ensure;

/// An axis whose elements are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub number: usize,
    pub size: usize,
}

/// Number of indices per range. The least and the greatest of each range are kept.
pub const INDICES_PER_RANGE: usize = 4096;

/// Returns the number of ranges of `count` indices.
pub fn ranges(count: usize) -> usize {
    count.div_ceil(INDICES_PER_RANGE)
}

/// Fails if an axis has no elements, so that every index is out of bounds.
pub fn ensure_inside(axes: &[Axis]) {
    for axis in axes {
        ensure!(axis.size > 0, "an index is out of bounds for {axis}");
    }
}

/// Returns the types of indices along an axis, and of their ranges.
pub fn within(indices: &TensorType, axis: Axis) -> [TensorType; 2] {
    ensure_inside(&[axis]);
    let pairs = ranges(indices.shape.num_elements());
    [indices.clone(), TensorType::new([2 * pairs], indices.dtype)]
}

/// Returns the types of the flat indices of index tuples, `[.., axes]`, and of the ranges along each axis.
pub fn flat_indices(tuples: &TensorType, axes: &[Axis]) -> [TensorType; 2] {
    ensure_inside(axes);
    let count = tuples.shape.num_elements() / axes.len();
    let of = |shape: Shape| TensorType::new(shape, tuples.dtype);
    [of([count].into()), of([axes.len(), 2 * ranges(count)].into())]
}

/// Returns the type of prefix counts.
pub fn counts(condition: &TensorType) -> TensorType {
    TensorType::new([condition.shape.num_elements()], DType::I32)
}

/// Returns the type of `found` indices.
pub fn compact(found: usize) -> TensorType {
    TensorType::new([found], DType::I32)
}

/// Returns the type of the indices along each axis of flat indices into these sizes.
pub fn coordinates(indices: &TensorType, sizes: &Shape) -> TensorType {
    TensorType::new([indices.shape.num_elements(), sizes.num_dims()], indices.dtype)
}

/// Returns the message of an index that is out of bounds.
pub fn outside(index: i64, axis: Axis) -> String {
    format!("index {index} is out of bounds for {axis}")
}

impl Axis {
    /// Returns the least valid index if negative ones count from the end.
    pub fn least(self) -> i64 {
        -(self.size as i64)
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => write!(f, "axis 0 of size {}", self.size),
            number => write!(f, "axis {number} of size {}", self.size),
        }
    }
}
