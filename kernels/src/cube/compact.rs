//! The places of elements that hold, one behind another.

use burn::backend::{
    TensorMetadata,
    cubecl::dtype_to_storage_type,
    ops::{BoolTensorOps, IntTensorOps},
};
use burn::tensor::{IntDType, Shape};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{address, blank, ensure_alike, narrow, scan, type_of};
use crate::spec::{indices as spec, scan::Scan};

/// How many elements hold up to each one, in row-major order.
pub fn counts(condition: CubeTensor) -> CubeTensor {
    let scan = Scan {
        axis: 0,
        exclusive: false,
        reverse: false,
        product: false,
    };
    let size = condition.shape().num_elements();
    let ones = CubeBackend::bool_into_int(condition, IntDType::I32);
    scan::scan(CubeBackend::int_reshape(ones, [size].into()), scan)
}

/// The places at which counts grow; there are `found` of them.
pub fn compact(counts: CubeTensor, found: usize) -> CubeTensor {
    let counts = into_contiguous(counts);
    let places = blank(&counts, spec::compact(found));
    let client = places.client.clone();
    let count = counts.shape().num_elements();
    let units = CubeDim::new(&client, count);
    // Safety: a unit beyond the counts ends, and writes beyond the places are left out.
    unsafe {
        compact_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, count, units),
            units,
            counts.required_address_type(),
            counts.into_tensor_arg(),
            places.clone().into_tensor_arg(),
            count,
            found,
        );
    }
    places
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn compact_kernel(counts: &Tensor<i32>, places: &mut Tensor<i32>, count: usize, found: usize) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let mut before = 0i32;
    if ABSOLUTE_POS > 0 {
        before = counts[ABSOLUTE_POS - 1];
    }
    if counts[ABSOLUTE_POS] > before && (before as usize) < found {
        places[before as usize] = ABSOLUTE_POS as i32;
    }
}

/// The indices along each axis of places; along the last one the values at the places, if there are such.
pub fn coordinates(places: CubeTensor, values: Option<CubeTensor>, sizes: Shape) -> CubeTensor {
    let places = into_contiguous(places);
    let count = places.shape().num_elements();
    let found = blank(&places, spec::coordinates(&type_of(&places), &sizes));
    ensure_alike(&places, [values.as_ref()]);
    let client = found.client.clone();
    let units = CubeDim::new(&client, count);
    let axes = sizes.iter().map(|&size| narrow(size)).collect();
    let dtype = dtype_to_storage_type(places.dtype);
    // Safety: a unit beyond the places ends, and places are those of values.
    unsafe {
        coordinates_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, count, units),
            units,
            address([&places, &found].into_iter().chain(&values)),
            places.into_tensor_arg(),
            values
                .map(|values| into_contiguous(values).into_buffer_arg())
                .into(),
            found.clone().into_tensor_arg(),
            axes,
            count,
            dtype,
        );
    }
    found
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn coordinates_kernel<I: Int>(
    places: &Tensor<I>,
    values: ComptimeOption<&[I]>,
    found: &mut Tensor<I>,
    sizes: Sequence<u32>,
    count: usize,
    #[define(I)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let place = usize::cast_from(places[ABSOLUTE_POS]);
    let axes = comptime!(sizes.len());
    let first = ABSOLUTE_POS * axes;
    let mut rest = place;
    #[unroll]
    for from_end in 0..axes {
        let axis = comptime!(axes - 1 - from_end);
        let size = *sizes.index(axis) as usize;
        found[first + axis] = I::cast_from(rest % size);
        rest /= size;
    }
    #[comptime]
    match values {
        ComptimeOption::Some(values) => found[first + comptime!(axes - 1)] = values[place],
        ComptimeOption::None => {}
    }
}
