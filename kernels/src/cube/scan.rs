//! Running sums and products: tiles are reduced, what comes of them is scanned, and each tile is scanned from there.
//!
//! No cube waits for another, as not every device lets a cube go on while another one waits.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::Shape;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{first, summed, unwritten};
use crate::{
    backend::{Any, Outcome},
    spec::scan::Scan,
};

/// Units of a cube, a power of two that every device has.
const UNITS: usize = 256;
/// Elements that a unit scans by itself.
const RUN: usize = 4;
const TILE: usize = UNITS * RUN;
/// Rows as short as this, or as many, are scanned by one unit each.
const SHORT: usize = 64;
const MANY: usize = 4096;

/// Contiguous rows: each begins at a place before `inner`, in groups, and goes on by `inner`.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    size: usize,
    inner: usize,
}

/// [`scan`] of numbers of either kind.
pub fn scan_any(x: Any<CubeBackend>, scan: Scan) -> Outcome<CubeBackend> {
    match x {
        Any::Float(x) => Outcome::Float(self::scan(x, scan)),
        Any::Int(x) => Outcome::Int(self::scan(x, scan)),
        Any::Bool(_) => Outcome::Declined,
    }
}

pub fn scan(x: CubeTensor, scan: Scan) -> CubeTensor {
    let x = into_contiguous(x);
    let shape = x.shape();
    let size = shape[scan.axis];
    let rows = Rows {
        count: shape.num_elements() / size,
        size,
        inner: shape.iter().skip(scan.axis + 1).product(),
    };
    scan_rows(x, rows, scan)
}

fn scan_rows(x: CubeTensor, rows: Rows, scan: Scan) -> CubeTensor {
    let y = unwritten(&x, x.shape(), x.dtype);
    let client = y.client.clone();
    let address = x.required_address_type();
    let dtypes = [x.dtype, summed(x.dtype)].map(dtype_to_storage_type);
    let Rows { count, size, inner } = rows;
    if size <= SHORT || count >= MANY {
        let units = CubeDim::new(&client, count);
        // Safety: a unit beyond the rows ends, others stay inside of their row.
        unsafe {
            rows_kernel::launch_unchecked(
                &client,
                calculate_cube_count_elemwise(&client, count, units),
                units,
                address,
                x.into_tensor_arg(),
                y.clone().into_tensor_arg(),
                count,
                size,
                inner,
                scan.exclusive,
                scan.reverse,
                scan.product,
                dtypes,
            );
        }
        return y;
    }
    let tiles = size.div_ceil(TILE);
    let cubes = count * tiles;
    let units = CubeDim::new_1d(UNITS as u32);
    let cube_count = || calculate_cube_count_elemwise(&client, cubes * UNITS, units);
    let before = if tiles == 1 {
        // Read by nobody.
        unwritten(&x, Shape::new([1]), summed(x.dtype))
    } else {
        let totals = unwritten(&x, Shape::new([cubes]), summed(x.dtype));
        // Safety: a cube beyond the tiles ends, a unit beyond the row reads nothing.
        unsafe {
            totals_kernel::launch_unchecked(
                &client,
                cube_count(),
                units,
                address,
                x.clone().into_tensor_arg(),
                totals.clone().into_tensor_arg(),
                cubes,
                tiles,
                size,
                inner,
                scan.reverse,
                scan.product,
                dtypes,
            );
        }
        let rows = Rows {
            count,
            size: tiles,
            inner: 1,
        };
        let before = Scan {
            axis: 0,
            exclusive: true,
            reverse: false,
            product: scan.product,
        };
        scan_rows(totals, rows, before)
    };
    // Safety: as above; there is a total before each tile unless a row is one tile.
    unsafe {
        tiles_kernel::launch_unchecked(
            &client,
            cube_count(),
            units,
            address,
            x.into_tensor_arg(),
            before.into_tensor_arg(),
            y.clone().into_tensor_arg(),
            cubes,
            tiles,
            size,
            inner,
            tiles > 1,
            scan.exclusive,
            scan.reverse,
            scan.product,
            dtypes,
        );
    }
    y
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn rows_kernel<T: Numeric, S: Numeric>(
    input: &Tensor<T>,
    output: &mut Tensor<T>,
    count: usize,
    size: usize,
    inner: usize,
    #[comptime] exclusive: bool,
    #[comptime] reverse: bool,
    #[comptime] product: bool,
    #[define(T, S)] _dtypes: [ElemType; 2],
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let first = first(ABSOLUTE_POS, size, inner);
    let mut total = neutral::<S>(product);
    for place in 0..size {
        let at = first + along(place, size, reverse) * inner;
        let value = S::cast_from(input[at]);
        if comptime!(exclusive) {
            output[at] = T::cast_from(total);
            total = joined::<S>(total, value, product);
        } else {
            total = joined::<S>(total, value, product);
            output[at] = T::cast_from(total);
        }
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn totals_kernel<T: Numeric, S: Numeric>(
    input: &Tensor<T>,
    totals: &mut Tensor<S>,
    cubes: usize,
    tiles: usize,
    size: usize,
    inner: usize,
    #[comptime] reverse: bool,
    #[comptime] product: bool,
    #[define(T, S)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let start = (CUBE_POS % tiles) * TILE;
    let first = first(CUBE_POS / tiles, size, inner);
    let mut total = neutral::<S>(product);
    #[unroll]
    for step in 0..RUN {
        let place = start + step * UNITS + unit;
        if place < size {
            let at = first + along(place, size, reverse) * inner;
            total = joined::<S>(total, S::cast_from(input[at]), product);
        }
    }
    let mut parts = Shared::<[S]>::new_slice(UNITS);
    parts[unit] = total;
    sync_cube();
    let mut active = comptime!(UNITS / 2).runtime();
    while active > 0 {
        if unit < active {
            let other = parts[unit + active];
            parts[unit] = joined::<S>(parts[unit], other, product);
        }
        sync_cube();
        active /= 2;
    }
    if unit == 0 {
        totals[CUBE_POS] = parts[0];
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn tiles_kernel<T: Numeric, S: Numeric>(
    input: &Tensor<T>,
    before: &Tensor<S>,
    output: &mut Tensor<T>,
    cubes: usize,
    tiles: usize,
    size: usize,
    inner: usize,
    #[comptime] continued: bool,
    #[comptime] exclusive: bool,
    #[comptime] reverse: bool,
    #[comptime] product: bool,
    #[define(T, S)] _dtypes: [ElemType; 2],
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let start = (CUBE_POS % tiles) * TILE;
    let first = first(CUBE_POS / tiles, size, inner);

    // Neighbours read neighbours, and each scans a run of its own.
    let mut values = Shared::<[S]>::new_slice(TILE);
    #[unroll]
    for step in 0..RUN {
        let local = step * UNITS + unit;
        let mut value = neutral::<S>(product);
        if start + local < size {
            let at = first + along(start + local, size, reverse) * inner;
            value = S::cast_from(input[at]);
        }
        values[local] = value;
    }
    sync_cube();
    let mut total = neutral::<S>(product);
    #[unroll]
    for step in 0..RUN {
        total = joined::<S>(total, values[unit * RUN + step], product);
    }

    // The totals of all runs up to each one.
    let mut totals = Shared::<[S]>::new_slice(UNITS);
    totals[unit] = total;
    sync_cube();
    let mut distance = 1usize;
    while distance < UNITS {
        let mut sum = totals[unit];
        if unit >= distance {
            sum = joined::<S>(totals[unit - distance], sum, product);
        }
        sync_cube();
        totals[unit] = sum;
        sync_cube();
        distance *= 2;
    }

    let mut total = neutral::<S>(product);
    if comptime!(continued) {
        total = before[CUBE_POS];
    }
    if unit > 0 {
        total = joined::<S>(total, totals[unit - 1], product);
    }
    #[unroll]
    for step in 0..RUN {
        let value = values[unit * RUN + step];
        if comptime!(exclusive) {
            values[unit * RUN + step] = total;
            total = joined::<S>(total, value, product);
        } else {
            total = joined::<S>(total, value, product);
            values[unit * RUN + step] = total;
        }
    }
    sync_cube();
    #[unroll]
    for step in 0..RUN {
        let local = step * UNITS + unit;
        if start + local < size {
            let at = first + along(start + local, size, reverse) * inner;
            output[at] = T::cast_from(values[local]);
        }
    }
}

/// The element of a row that comes at a place.
#[cube]
fn along(place: usize, size: usize, #[comptime] reverse: bool) -> usize {
    if comptime!(reverse) {
        size - 1 - place
    } else {
        place
    }
}

#[cube]
fn neutral<S: Numeric>(#[comptime] product: bool) -> S {
    if comptime!(product) {
        S::from_int(1)
    } else {
        S::from_int(0)
    }
}

#[cube]
fn joined<S: Numeric>(a: S, b: S, #[comptime] product: bool) -> S {
    if comptime!(product) { a * b } else { a + b }
}
