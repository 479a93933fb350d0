//! Indices along an axis.
//!
//! They may count from its end and are clamped to it. Their ranges are recorded.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    blank,
    launch::{Grid, launch},
    narrow,
    sizes::within as within_dtype,
    type_of,
};
use crate::{
    backend::{Given, Outcome},
    spec::indices::Axis,
    spec::{
        indices::{self as spec, INDICES_PER_RANGE},
        types::TensorType,
    },
};

/// Number of units of a cube.
const UNITS: usize = 64;

/// Returns the indices clamped to their axis, and their ranges. With one axis and one batch, a flat index is such an index.
pub fn within(indices: CubeTensor, least: i64, axis: Axis) -> (CubeTensor, Given<CubeBackend>) {
    let types = spec::within(&type_of(&indices), axis);
    let count = indices.shape().num_elements();
    let counts_from_end = least < 0 && !indices.dtype.is_uint();
    let (inside, ranges) = launched(indices, types, &[axis], count, counts_from_end);
    (inside, Given::Int(ranges))
}

/// Returns the flat indices of the tuples of `[batches, count, axes]`: those of elements in row-major order.
pub fn flat_indices(tuples: CubeTensor, axes: Vec<Axis>) -> (Outcome<CubeBackend>, Outcome<CubeBackend>) {
    let axes = &axes[..];
    let types = spec::flat_indices(&type_of(&tuples), axes);
    let each = tuples.shape()[1];
    let is_signed = !tuples.dtype.is_uint();
    let (flat, ranges) = launched(tuples, types, axes, each, is_signed);
    (Outcome::Int(flat), Outcome::Int(ranges))
}

/// Returns the flat indices of tuples, `each` of them per batch, and their ranges, of these types.
fn launched(
    tuples: CubeTensor,
    [flat, ends]: [TensorType; 2],
    axes: &[Axis],
    each: usize,
    counts_from_end: bool,
) -> (CubeTensor, CubeTensor) {
    let tuples = into_contiguous(tuples);
    let flat = blank(&tuples, flat);
    let ends = blank(&tuples, ends);
    let count = flat.shape().num_elements();
    let cubes = spec::ranges(count);
    // A flat index is a number of the tuples\' dtype.
    let elements = axes.iter().map(|axis| axis.size);
    let elements = elements.fold(count.div_ceil(each.max(1)), usize::saturating_mul);
    within_dtype(tuples.dtype, elements);
    let sizes = axes.iter().map(|axis| narrow(axis.size)).collect();
    let dtype = dtype_to_storage_type(tuples.dtype);
    let shared = 2 * UNITS * tuples.dtype.size();
    launch!(Grid::cubes(cubes, UNITS).shared(shared) => flat_indices_kernel(
        tuples, &flat, &ends;
        sizes, count, each, cubes, counts_from_end, dtype,
    ));
    (flat, ends)
}

/// A cube finds the flat indices of up to [`INDICES_PER_RANGE`] tuples, and the least and greatest index of
/// these along each axis.
///
/// Cubes beyond `cubes` end. The last cube before them has at least one tuple. `tuples` has `count` times the
/// number of `sizes`, `flat` has `count` elements, and `ends` two for each size and cube.
#[cube(launch_unchecked, address_type = "dynamic")]
fn flat_indices_kernel<I: Int>(
    tuples: &Tensor<I>,
    flat: &mut Tensor<I>,
    ends: &mut Tensor<I>,
    sizes: Sequence<u32>,
    count: usize,
    each: usize,
    cubes: usize,
    #[comptime] counts_from_end: bool,
    #[define(I)] _dtype: ElemType,
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * INDICES_PER_RANGE;
    let last = min(first + INDICES_PER_RANGE, count);
    let axes = comptime!(sizes.len());
    for at in range_stepped(first + unit, last, UNITS) {
        let mut flat_index = I::cast_from(at / each);
        #[unroll]
        for axis in 0..axes {
            let size = I::cast_from(*sizes.index(axis));
            flat_index = flat_index * size + inside::<I>(tuples[at * axes + axis], size, counts_from_end);
        }
        flat[at] = flat_index;
    }
    let mut leasts = Shared::<[I]>::new_slice(UNITS);
    let mut greatests = Shared::<[I]>::new_slice(UNITS);
    #[unroll]
    for axis in 0..axes {
        let mut least = tuples[first * axes + axis];
        let mut greatest = tuples[first * axes + axis];
        for at in range_stepped(first + unit, last, UNITS) {
            let index = tuples[at * axes + axis];
            least = min(least, index);
            greatest = max(greatest, index);
        }
        let at = axis * 2 * cubes + 2 * CUBE_POS;
        ends_of(least, greatest, &mut leasts, &mut greatests, ends, at);
    }
}

/// Returns an index, which may count from the end, clamped to its axis.
#[cube]
fn inside<I: Int>(index: I, size: I, #[comptime] counts_from_end: bool) -> I {
    let zero = I::from_int(0);
    let mut moved = index;
    if comptime!(counts_from_end) {
        moved = select(index < zero, index + size, index);
    }
    max(min(moved, size - I::from_int(1)), zero)
}

/// Writes the least and the greatest index of the units of a cube.
#[cube]
fn ends_of<I: Int>(
    least: I,
    greatest: I,
    leasts: &mut Shared<[I]>,
    greatests: &mut Shared<[I]>,
    ends: &mut Tensor<I>,
    at: usize,
) {
    let unit = UNIT_POS as usize;
    leasts[unit] = least;
    greatests[unit] = greatest;
    sync_cube();
    if unit == 0 {
        let mut least = least;
        let mut greatest = greatest;
        for other in 0..UNITS {
            least = min(least, leasts[other]);
            greatest = max(greatest, greatests[other]);
        }
        ends[at] = least;
        ends[at + 1] = greatest;
    }
    sync_cube();
}
