//! Rows in order, and where rows that are equal begin.

use burn::backend::{TensorMetadata, ops::IntTensorOps};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{blank, keys::Keys, scan, sort, tensor, type_of, unwritten};
use crate::{
    backend::{Any, Declined, Outcome},
    spec::{ranking::groups as groups_of, scan::Scan},
};

/// The places of rows in order, and how many groups of equal ones begin up to each; none where elements have no keys.
pub fn groups(rows: Any<CubeBackend>) -> (Outcome<CubeBackend>, Outcome<CubeBackend>) {
    let rows = tensor(&rows).clone();
    let Some(places) = groups_of(&type_of(&rows)) else {
        return Declined::declined();
    };
    let count = rows.shape()[0];
    let columns = CubeBackend::int_transpose(rows);
    let keys = Keys::new(columns, count, false);
    let order = sort::order(&keys);
    let begins = blank(&order, places);
    let client = begins.client.clone();
    let units = CubeDim::new(&client, count);
    // Safety: a unit beyond the places ends, and the places are those of the rows.
    unsafe {
        begins_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, count, units),
            units,
            keys.numbers.required_address_type(),
            keys.numbers.into_tensor_arg(),
            order.clone().into_tensor_arg(),
            begins.clone().into_tensor_arg(),
            count,
            keys.planes,
        );
    }
    let scan = Scan {
        axis: 0,
        exclusive: false,
        reverse: false,
        product: false,
    };
    (Outcome::Int(order), Outcome::Int(scan::scan(begins, scan)))
}

/// Each value at the place beside it.
pub fn permuted(values: CubeTensor, places: CubeTensor) -> CubeTensor {
    let (values, places) = (into_contiguous(values), into_contiguous(places));
    let y = unwritten(&values, values.shape(), values.dtype);
    let client = y.client.clone();
    let count = y.shape().num_elements();
    let units = CubeDim::new(&client, count);
    let dtype = burn::backend::cubecl::dtype_to_storage_type(values.dtype);
    // Safety: a unit beyond the values ends, and nothing is written outside.
    unsafe {
        permute_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, count, units),
            units,
            values.required_address_type(),
            values.into_tensor_arg(),
            places.into_tensor_arg(),
            y.clone().into_tensor_arg(),
            count,
            dtype,
        );
    }
    y
}

/// One where a row differs from the one before it in the order.
#[cube(launch_unchecked, address_type = "dynamic")]
fn begins_kernel(
    keys: &Tensor<u32>,
    order: &Tensor<i32>,
    begins: &mut Tensor<i32>,
    count: usize,
    planes: usize,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let mut differs = ABSOLUTE_POS == 0;
    if ABSOLUTE_POS > 0 {
        let place = order[ABSOLUTE_POS] as usize;
        let before = order[ABSOLUTE_POS - 1] as usize;
        let mut plane = 0usize;
        while !differs && plane < planes {
            differs = keys[plane * count + place] != keys[plane * count + before];
            plane += 1;
        }
    }
    begins[ABSOLUTE_POS] = i32::cast_from(differs);
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn permute_kernel<T: Numeric>(
    values: &Tensor<T>,
    places: &Tensor<i32>,
    output: &mut Tensor<T>,
    count: usize,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let place = places[ABSOLUTE_POS] as usize;
    if place < count {
        output[place] = values[ABSOLUTE_POS];
    }
}
