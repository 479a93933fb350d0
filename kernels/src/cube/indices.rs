//! Indices along an axis: those from its end replaced, those outside of it moved in, and the least and the greatest of all.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::Shape;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use burn_fusion::custom::TensorSpec;
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{narrow, unwritten};
use crate::{backend::OptionalMetadata, ensure, fault::Axis};

/// Units of a cube.
const UNITS: usize = 64;
/// Indices of a cube at most.
const EACH: usize = 4096;

/// What comes of indices, before it is there: the indices, and the ends of each cube. It fails where no index is inside, after which the
/// node could not be named any more.
pub fn described(indices: &TensorSpec, axis: Axis) -> (TensorSpec, OptionalMetadata) {
    ensure_inside(&[axis]);
    let ends = [2 * cubes(indices.shape.num_elements())].into();
    let ends = TensorSpec::new(ends, indices.dtype);
    (indices.clone(), OptionalMetadata::Int(ends))
}

/// Indices from `least` on, none empty: with one axis and one batch, the place of an index is the index inside of its axis.
pub fn within(indices: CubeTensor, least: i64, axis: Axis) -> (CubeTensor, CubeTensor) {
    ensure_inside(&[axis]);
    let shape = indices.shape();
    let count = shape.num_elements();
    let ends = [2 * cubes(count)].into();
    let counts_from_end = least < 0 && !indices.dtype.is_uint();
    launch(indices, shape, ends, &[axis], count, counts_from_end)
}

fn cubes(count: usize) -> usize {
    count.div_ceil(EACH)
}

/// What comes of index tuples, before it is there: their places, and the ends of each axis and cube.
pub fn places_described(
    tuples: &TensorSpec,
    axes: &[Axis],
) -> (OptionalMetadata, OptionalMetadata) {
    ensure_inside(axes);
    let count = tuples.shape.num_elements() / axes.len();
    let int = |shape| OptionalMetadata::Int(TensorSpec::new(shape, tuples.dtype));
    (
        int([count].into()),
        int([axes.len(), 2 * cubes(count)].into()),
    )
}

fn ensure_inside(axes: &[Axis]) {
    for axis in axes {
        ensure!(axis.size > 0, "an index is outside of {axis}");
    }
}

/// The places of the tuples of `[batches, count, axes]`.
pub fn places(tuples: CubeTensor, axes: &[Axis]) -> (CubeTensor, CubeTensor) {
    ensure_inside(axes);
    let [batches, each] = [tuples.shape()[0], tuples.shape()[1]];
    let count = batches * each;
    let ends = [axes.len(), 2 * cubes(count)].into();
    let is_signed = !tuples.dtype.is_uint();
    launch(tuples, [count].into(), ends, axes, each, is_signed)
}

/// Places of the sizes `shape` of tuples of which each batch has `each`, and their ends.
fn launch(
    tuples: CubeTensor,
    shape: Shape,
    ends: Shape,
    axes: &[Axis],
    each: usize,
    counts_from_end: bool,
) -> (CubeTensor, CubeTensor) {
    let tuples = into_contiguous(tuples);
    let count = shape.num_elements();
    let cubes = cubes(count);
    let places = unwritten(&tuples, shape, tuples.dtype);
    let ends = unwritten(&tuples, ends, tuples.dtype);
    let client = places.client.clone();
    let sizes = axes.iter().map(|axis| narrow(axis.size)).collect();
    let dtype = dtype_to_storage_type(tuples.dtype);
    let units = CubeDim::new_1d(UNITS as u32);
    // Safety: a cube beyond the last one ends, and units stay inside of the tuples, which the others divide.
    unsafe {
        places_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, cubes * UNITS, units),
            units,
            tuples.required_address_type(),
            tuples.into_tensor_arg(),
            places.clone().into_tensor_arg(),
            ends.clone().into_tensor_arg(),
            sizes,
            count,
            each,
            cubes,
            counts_from_end,
            dtype,
        );
    }
    (places, ends)
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn places_kernel<I: Int>(
    tuples: &Tensor<I>,
    places: &mut Tensor<I>,
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
    let first = CUBE_POS * EACH;
    let last = min(first + EACH, count);
    let axes = comptime!(sizes.len());
    for at in range_stepped(first + unit, last, UNITS) {
        let mut place = I::cast_from(at / each);
        #[unroll]
        for axis in 0..axes {
            let size = I::cast_from(*sizes.index(axis));
            place = place * size + inside::<I>(tuples[at * axes + axis], size, counts_from_end);
        }
        places[at] = place;
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

/// An index, which may count from the end, or the nearest inside of its axis.
#[cube]
fn inside<I: Int>(index: I, size: I, #[comptime] counts_from_end: bool) -> I {
    let zero = I::from_int(0);
    let mut moved = index;
    if comptime!(counts_from_end) {
        moved = select(index < zero, index + size, index);
    }
    max(min(moved, size - I::from_int(1)), zero)
}

/// Writes the least and the greatest of what the units of a cube have.
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
