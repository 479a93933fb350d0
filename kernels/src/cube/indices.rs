//! Indices along an axis: those from its end replaced, those outside of it moved in, and the least and the greatest of all.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use burn_fusion::custom::TensorSpec;
use cubecl::prelude::*;

use super::unwritten;
use crate::{backend::OptionalMetadata, ensure, fault::Axis};

/// Units of a cube.
const UNITS: usize = 64;
/// Indices of a cube at most.
const EACH: usize = 4096;

/// What comes of indices, before it is there: the indices, and the ends of each cube. It fails where no index is inside, which later
/// could not be told of the node.
pub fn described(indices: &TensorSpec, axis: Axis) -> (TensorSpec, OptionalMetadata) {
    ensure!(axis.size > 0, "an index is outside of {axis}");
    let ends = [2 * cubes(indices.shape.num_elements())].into();
    let ends = TensorSpec::new(ends, indices.dtype);
    (indices.clone(), OptionalMetadata::Int(ends))
}

/// Indices from `least` on, none empty.
pub fn within(indices: CubeTensor, least: i64, axis: Axis) -> (CubeTensor, CubeTensor) {
    ensure!(axis.size > 0, "an index is outside of {axis}");
    let indices = into_contiguous(indices);
    let count = indices.shape().num_elements();
    let cubes = cubes(count);
    let inside = unwritten(&indices, indices.shape(), indices.dtype);
    let ends = unwritten(&indices, [2 * cubes].into(), indices.dtype);
    let client = inside.client.clone();
    let counts_from_end = least < 0 && !indices.dtype.is_uint();
    let dtype = dtype_to_storage_type(indices.dtype);
    // Safety: units stay inside of the indices, which cubes divide.
    unsafe {
        within_kernel::launch_unchecked(
            &client,
            CubeCount::new_1d(cubes as u32),
            CubeDim::new_1d(UNITS as u32),
            inside.required_address_type(),
            indices.into_tensor_arg(),
            inside.clone().into_tensor_arg(),
            ends.clone().into_tensor_arg(),
            count,
            axis.size,
            counts_from_end,
            dtype,
        );
    }
    (inside, ends)
}

fn cubes(count: usize) -> usize {
    count.div_ceil(EACH)
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn within_kernel<I: Int>(
    indices: &Tensor<I>,
    inside: &mut Tensor<I>,
    ends: &mut Tensor<I>,
    count: usize,
    size: usize,
    #[comptime] counts_from_end: bool,
    #[define(I)] _dtype: ElemType,
) {
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * EACH;
    let last = min(first + EACH, count);
    let zero = I::from_int(0);
    let size = I::cast_from(size);
    let mut least = indices[first];
    let mut greatest = indices[first];
    for at in range_stepped(first + unit, last, UNITS) {
        let index = indices[at];
        least = min(least, index);
        greatest = max(greatest, index);
        let mut moved = index;
        if comptime!(counts_from_end) {
            moved = select(index < zero, index + size, index);
        }
        inside[at] = max(min(moved, size - I::from_int(1)), zero);
    }
    let mut leasts = Shared::<[I]>::new_slice(UNITS);
    let mut greatests = Shared::<[I]>::new_slice(UNITS);
    leasts[unit] = least;
    greatests[unit] = greatest;
    sync_cube();
    if unit == 0 {
        for other in 0..UNITS {
            least = min(least, leasts[other]);
            greatest = max(greatest, greatests[other]);
        }
        ends[2 * CUBE_POS] = least;
        ends[2 * CUBE_POS + 1] = greatest;
    }
}
