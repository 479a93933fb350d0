//! Rows in order, and the groups of equal rows.

use burn::backend::{TensorMetadata, ops::IntTensorOps};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{keys::Keys, top_k};
use crate::cube::{
    blank,
    launch::{Grid, launch},
    reduce::scan,
    tensor, type_of, unwritten,
};
use crate::{
    backend::{Any, Declined, Outcome},
    spec::{ranking::groups as groups_of, scan::Scan},
};

/// Returns the indices of rows in order, and the number of groups that begin up to each. Declines elements
/// without keys.
pub fn groups(rows: Any<CubeBackend>) -> (Outcome<CubeBackend>, Outcome<CubeBackend>) {
    let rows = tensor(&rows).clone();
    let Some(ty) = groups_of(&type_of(&rows)) else {
        return Declined::declined();
    };
    let count = rows.shape()[0];
    let columns = CubeBackend::int_transpose(rows);
    let keys = Keys::new(columns, count, false);
    let order = top_k::order(&keys);
    let begins = blank(&order, ty);
    launch!(Grid::units(count) => begins_kernel(
        keys.numbers, &order, &begins;
        count, keys.planes,
    ));
    let scan = Scan { axis: 0, exclusive: false, reverse: false, product: false };
    (Outcome::Int(order), Outcome::Int(scan::scan(begins, scan)))
}

/// Returns the values, each at its index in `order`.
pub fn permuted(values: CubeTensor, order: CubeTensor) -> CubeTensor {
    let (values, order) = (into_contiguous(values), into_contiguous(order));
    let y = unwritten(&values, values.shape(), values.dtype);
    let count = y.shape().num_elements();
    let dtype = burn::backend::cubecl::dtype_to_storage_type(values.dtype);
    launch!(Grid::units(count) => permute_kernel(
        values, order, &y;
        count, dtype,
    ));
    y
}

/// A unit writes 1 if a row differs from the one before it in the order.
///
/// Units beyond `count`, the number of rows, end. `order` has the indices of all rows, and `keys` `planes`
/// times `count` elements.
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
        let row = order[ABSOLUTE_POS] as usize;
        let before = order[ABSOLUTE_POS - 1] as usize;
        let mut plane = 0usize;
        while !differs && plane < planes {
            differs = keys[plane * count + row] != keys[plane * count + before];
            plane += 1;
        }
    }
    begins[ABSOLUTE_POS] = i32::cast_from(differs);
}

/// A unit writes a value at its index.
///
/// Units beyond `count`, the number of values and of indices, end. An index of `count` or more is not written.
#[cube(launch_unchecked, address_type = "dynamic")]
fn permute_kernel<T: Numeric>(
    values: &Tensor<T>,
    order: &Tensor<i32>,
    output: &mut Tensor<T>,
    count: usize,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let row = order[ABSOLUTE_POS] as usize;
    if row < count {
        output[row] = values[ABSOLUTE_POS];
    }
}
