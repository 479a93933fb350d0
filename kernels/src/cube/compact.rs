//! The places of elements that hold, one behind another.

use burn::backend::{
    TensorMetadata,
    ops::{BoolTensorOps, IntTensorOps},
};
use burn::tensor::{DType, IntDType};
use burn_cubecl::{CubeBackend, tensor::CubeTensor};
use burn_fusion::custom::TensorSpec;
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{scan, unwritten};
use crate::{backend::OptionalMetadata, reduce::cumulative::Scan};

/// What comes of a condition, before it is there.
pub fn described(condition: &OptionalMetadata) -> OptionalMetadata {
    match condition {
        OptionalMetadata::Bool(x) => {
            let size = x.shape.num_elements();
            OptionalMetadata::Int(TensorSpec::new([size].into(), DType::I32))
        }
        _ => OptionalMetadata::None,
    }
}

/// The places of counts, before they are there.
pub fn found(counts: &OptionalMetadata, found: usize) -> OptionalMetadata {
    match counts {
        OptionalMetadata::Int(_) => {
            OptionalMetadata::Int(TensorSpec::new([found].into(), DType::I32))
        }
        _ => OptionalMetadata::None,
    }
}

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
    let places = unwritten(&counts, [found].into(), DType::I32);
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
