//! Determinants and inverses by elimination: the units of a cube share a matrix.
//!
//! The pivot of a step is the greatest element of its column. A cube works in global memory.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    blank,
    launch::{Grid, launch},
    summed, type_of, unwritten,
};
use crate::spec::product::{LARGEST, determinants as determinants_of};

/// Numbers of units of a cube with a large and with a small matrix.
const MOST: usize = 256;
const LEAST: usize = 32;

/// Returns the number of units of a cube, which share the remainder of a matrix in each step.
fn units(size: usize) -> usize {
    match size {
        0..=8 => LEAST,
        9..=16 => 2 * LEAST,
        _ => MOST,
    }
}

/// Returns the determinant of each matrix of `[count, size, size]`.
pub fn determinants(x: CubeTensor) -> CubeTensor {
    let x = into_contiguous(x);
    let [count, size] = [x.shape()[0], x.shape()[1]];
    let y = blank(&x, determinants_of(&type_of(&x)));
    let work = unwritten(&x, x.shape(), summed(x.dtype));
    let units = units(size);
    let shared = units * (work.dtype.size() + size_of::<u32>());
    launch!(Grid::cubes(count, units).shared(shared) => determinant_kernel(
        &x, &work, &y;
        count, size, units, [x.dtype, work.dtype].map(dtype_to_storage_type),
    ));
    y
}

/// Returns the inverse of each matrix of `[count, size, size]`, which has at most [`LARGEST`] rows.
pub fn inverses(x: CubeTensor) -> CubeTensor {
    let x = into_contiguous(x);
    let [count, size] = [x.shape()[0], x.shape()[1]];
    assert!(size <= LARGEST, "a matrix is larger than a cube has memory");
    let y = unwritten(&x, x.shape(), x.dtype);
    let work = unwritten(&x, x.shape(), summed(x.dtype));
    let units = units(size);
    let shared = (units + LARGEST) * (work.dtype.size() + size_of::<u32>());
    launch!(Grid::cubes(count, units).shared(shared) => inverse_kernel(
        &x, &work, &y;
        count, size, units, [x.dtype, work.dtype].map(dtype_to_storage_type),
    ));
    y
}

/// A cube finds the determinant of a matrix.
///
/// Cubes beyond `count` end. `input` and `work` have `size * size` elements for each cube, `output` one. The
/// pivot is a row of the matrix whatever its elements are: NaN is chosen by no comparison.
#[cube(launch_unchecked, address_type = "dynamic")]
fn determinant_kernel<X: Float, T: Float>(
    input: &Tensor<X>,
    work: &mut Tensor<T>,
    output: &mut Tensor<X>,
    count: usize,
    size: usize,
    #[comptime] units: usize,
    #[define(X, T)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= count {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * size * size;
    let mut sizes = Shared::<[T]>::new_slice(units);
    let mut places = Shared::<[u32]>::new_slice(units);
    copy::<X, T>(input, work, first, size * size, units);
    sync_storage();

    let mut determinant = T::from_int(1);
    let mut is_zero = false;
    for step in 0..size {
        let row = pivot::<T>(work, first, size, step, &mut sizes, &mut places, units);
        if row != step {
            determinant = -determinant;
            exchange::<T>(work, first, size, step, row, step, units);
        }
        sync_storage();
        let value = work[first + step * size + step];
        // The elements after a pivot of zero are unused, and may be infinite.
        if value == T::from_int(0) {
            is_zero = true;
        }
        determinant *= value;
        let rest = size - step - 1;
        let mut at = unit;
        while at < rest * rest {
            let begin = first + (step + 1 + at / rest) * size;
            let column = step + 1 + at % rest;
            let factor = work[begin + step] / value;
            let above = work[first + step * size + column];
            work[begin + column] -= factor * above;
            at += units;
        }
        sync_storage();
    }
    if unit == 0 {
        if is_zero {
            // 0, or NaN if an element is NaN or infinite.
            determinant = T::from_int(0);
            for at in 0..size * size {
                let element = T::cast_from(input[first + at]);
                determinant += element * T::from_int(0);
            }
        }
        output[CUBE_POS] = X::cast_from(determinant);
    }
}

/// A cube inverts a matrix.
///
/// Cubes beyond `count` end. `input`, `work` and `output` have `size * size` elements for each cube, and
/// `size` is [`LARGEST`] at most, which shared memory holds. Pivots are rows of the matrix, as in
/// [`determinant_kernel`].
#[cube(launch_unchecked, address_type = "dynamic")]
fn inverse_kernel<X: Float, T: Float>(
    input: &Tensor<X>,
    work: &mut Tensor<T>,
    output: &mut Tensor<X>,
    count: usize,
    size: usize,
    #[comptime] units: usize,
    #[define(X, T)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= count {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let first = CUBE_POS * size * size;
    let mut sizes = Shared::<[T]>::new_slice(units);
    let mut places = Shared::<[u32]>::new_slice(units);
    let mut factors = Shared::<[T]>::new_slice(LARGEST);
    let mut exchanged = Shared::<[u32]>::new_slice(LARGEST);
    copy::<X, T>(input, work, first, size * size, units);
    sync_storage();

    for step in 0..size {
        let row = pivot::<T>(work, first, size, step, &mut sizes, &mut places, units);
        exchange::<T>(work, first, size, step, row, 0, units);
        if unit == 0 {
            exchanged[step] = row as u32;
        }
        sync_storage();
        // A copy of the column, which is overwritten.
        let value = work[first + step * size + step];
        let mut at = unit;
        while at < size {
            factors[at] = work[first + at * size + step];
            at += units;
        }
        sync_storage();
        at = unit;
        while at < size {
            let place = first + step * size + at;
            let mut own = work[place];
            if at == step {
                own = T::from_int(1);
            }
            work[place] = own / value;
            if at != step {
                work[first + at * size + step] = T::from_int(0);
            }
            at += units;
        }
        sync_storage();
        at = unit;
        while at < size * size {
            let (row, column) = (at / size, at % size);
            if row != step {
                let above = work[first + step * size + column];
                work[first + at] -= factors[row] * above;
            }
            at += units;
        }
        sync_storage();
    }

    // Exchanged rows of the matrix are exchanged columns of its inverse.
    let mut row = unit;
    while row < size {
        let begin = first + row * size;
        for back in 0..size {
            let step = size - 1 - back;
            let other = exchanged[step] as usize;
            let value = work[begin + step];
            work[begin + step] = work[begin + other];
            work[begin + other] = value;
        }
        for column in 0..size {
            output[begin + column] = X::cast_from(work[begin + column]);
        }
        row += units;
    }
}

#[cube]
fn copy<X: Float, T: Float>(
    input: &Tensor<X>,
    work: &mut Tensor<T>,
    first: usize,
    length: usize,
    #[comptime] units: usize,
) {
    let mut at = UNIT_POS as usize;
    while at < length {
        work[first + at] = T::cast_from(input[first + at]);
        at += units;
    }
}

/// Returns the row of the greatest element of a column, from the row of its diagonal on; of equal ones the last.
#[cube]
fn pivot<T: Float>(
    work: &mut Tensor<T>,
    first: usize,
    size: usize,
    step: usize,
    sizes: &mut Shared<[T]>,
    places: &mut Shared<[u32]>,
    #[comptime] units: usize,
) -> usize {
    let unit = UNIT_POS as usize;
    let mut best = T::from_int(-1);
    let mut place = step;
    let mut row = step + unit;
    while row < size {
        let value = work[first + row * size + step].abs();
        if value >= best {
            best = value;
            place = row;
        }
        row += units;
    }
    sizes[unit] = best;
    places[unit] = place as u32;
    sync_cube();
    let mut active = comptime!(units / 2).runtime();
    while active > 0 {
        if unit < active {
            let (other, of_other) = (sizes[unit + active], places[unit + active]);
            if other > sizes[unit] || (other == sizes[unit] && of_other > places[unit]) {
                sizes[unit] = other;
                places[unit] = of_other;
            }
        }
        sync_cube();
        active /= 2;
    }
    places[0] as usize
}

/// Exchanges the elements of two rows from a column on.
#[cube]
fn exchange<T: Float>(
    work: &mut Tensor<T>,
    first: usize,
    size: usize,
    row: usize,
    other: usize,
    column: usize,
    #[comptime] units: usize,
) {
    let mut at = column + UNIT_POS as usize;
    while at < size {
        let value = work[first + row * size + at];
        work[first + row * size + at] = work[first + other * size + at];
        work[first + other * size + at] = value;
        at += units;
    }
}
