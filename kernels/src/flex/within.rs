//! Checks of indices in place.

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::{DType, Element, TensorData};

use crate::{
    backend::Given,
    fault::fail,
    spec::indices::{Axis, outside},
};

/// Replaces negative indices. Fails at the first that is not on the axis.
pub fn within(indices: FlexTensor, least: i64, axis: Axis) -> (FlexTensor, Given<Flex>) {
    let dtype = indices.dtype();
    let mut data = indices.into_data();
    match dtype {
        DType::I64 => replace::<i64>(&mut data, axis, least),
        DType::I32 => replace::<i32>(&mut data, axis, least),
        _ => {
            let mut wide = data.convert::<i64>();
            replace::<i64>(&mut wide, axis, least);
            data = wide.convert_dtype(dtype);
        }
    }
    (FlexTensor::from_data(data), Given::Missing)
}

fn replace<I: Element + Copy + Into<i64> + TryFrom<i64>>(data: &mut TensorData, axis: Axis, least: i64) {
    let Ok(indices) = data.as_mut_slice::<I>() else {
        fail("cannot read the indices");
    };
    for index in indices {
        let found: i64 = (*index).into();
        if found < least || found >= axis.size as i64 {
            fail(outside(found, axis));
        }
        if let (true, Ok(counted)) = (found < 0, I::try_from(found + axis.size as i64)) {
            *index = counted;
        }
    }
}
