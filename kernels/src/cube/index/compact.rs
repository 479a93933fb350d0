//! Indices of the elements that are true, in order.

use burn::backend::{
    TensorMetadata,
    cubecl::dtype_to_storage_type,
    ops::{BoolTensorOps, IntTensorOps},
};
use burn::tensor::{IntDType, Shape};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    blank, ensure_alike,
    launch::{Grid, launch},
    narrow,
    reduce::scan,
    sizes::within_i32,
    type_of,
};
use crate::spec::{indices as spec, scan::Scan};

/// Returns the number of true elements up to each one, in row-major order.
pub fn counts(condition: CubeTensor) -> CubeTensor {
    let scan = Scan { axis: 0, exclusive: false, reverse: false, product: false };
    let size = within_i32(condition.shape().num_elements());
    let ones = CubeBackend::bool_into_int(condition, IntDType::I32);
    scan::scan(CubeBackend::int_reshape(ones, [size].into()), scan)
}

/// Returns the `found` indices at which counts increase.
pub fn compact(counts: CubeTensor, found: usize) -> CubeTensor {
    let counts = into_contiguous(counts);
    let flat = blank(&counts, spec::compact(found));
    let count = within_i32(counts.shape().num_elements());
    launch!(Grid::units(count) => compact_kernel(counts, &flat; count, found));
    flat
}

/// A unit writes its index if the count increases there.
///
/// Units beyond `count`, the number of elements of `counts`, end. `flat` has `found` elements; a count that
/// is not below this writes nothing.
#[cube(launch_unchecked, address_type = "dynamic")]
fn compact_kernel(counts: &Tensor<i32>, flat: &mut Tensor<i32>, count: usize, found: usize) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let mut before = 0i32;
    if ABSOLUTE_POS > 0 {
        before = counts[ABSOLUTE_POS - 1];
    }
    if counts[ABSOLUTE_POS] > before && (before as usize) < found {
        flat[before as usize] = ABSOLUTE_POS as i32;
    }
}

/// Returns the indices along each axis of the elements at `flat` indices; along the last axis the `values` of
/// these elements, if given.
pub fn coordinates(flat: CubeTensor, values: Option<CubeTensor>, sizes: Shape) -> CubeTensor {
    let flat = into_contiguous(flat);
    let count = flat.shape().num_elements();
    let found = blank(&flat, spec::coordinates(&type_of(&flat), &sizes));
    ensure_alike(&flat, [values.as_ref()]);
    let axes = sizes.iter().map(|&size| narrow(size)).collect();
    let dtype = dtype_to_storage_type(flat.dtype);
    let values = values.map(into_contiguous);
    launch!(Grid::units(count) => coordinates_kernel(flat, values, &found; axes, count, dtype));
    found
}

/// A unit writes the indices of an element.
///
/// Units beyond `count`, the number of `flat` indices, end. `found` has an element for each of them and each
/// axis. They are indices of `values`, as [`compact`] gives them.
#[cube(launch_unchecked, address_type = "dynamic")]
fn coordinates_kernel<I: Int>(
    flat: &Tensor<I>,
    values: ComptimeOption<&[I]>,
    found: &mut Tensor<I>,
    sizes: Sequence<u32>,
    count: usize,
    #[define(I)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let flat_index = usize::cast_from(flat[ABSOLUTE_POS]);
    let axes = comptime!(sizes.len());
    let first = ABSOLUTE_POS * axes;
    let mut rest = flat_index;
    #[unroll]
    for from_end in 0..axes {
        let axis = comptime!(axes - 1 - from_end);
        let size = *sizes.index(axis) as usize;
        found[first + axis] = I::cast_from(rest % size);
        rest /= size;
    }
    #[comptime]
    match values {
        ComptimeOption::Some(values) => found[first + comptime!(axes - 1)] = values[flat_index],
        ComptimeOption::None => {}
    }
}
