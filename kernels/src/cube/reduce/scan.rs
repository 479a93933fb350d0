//! Running sums and products.
//!
//! Tiles are reduced, their totals are scanned, and each tile is scanned from its total. No cube waits for another
//! one, as not every device schedules a cube while another one waits.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::Shape;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    first,
    launch::{Grid, launch},
    summed, unwritten,
};
use crate::{
    backend::{Any, Outcome},
    spec::scan::Scan,
};

/// Number of units of a cube, a power of two that every device has.
const UNITS: usize = 256;
/// Number of elements that a unit scans by itself.
const RUN: usize = 4;
const TILE: usize = UNITS * RUN;
/// Size of rows up to which, and number of rows from which on, one unit scans each.
const SHORT: usize = 64;
const MANY: usize = 4096;

/// Rows of a row-major tensor, in groups of `inner`. The elements of a row are `inner` apart.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    size: usize,
    inner: usize,
}

/// [`scan`] of floats or integers.
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
    let rows =
        Rows { count: shape.num_elements() / size, size, inner: shape.iter().skip(scan.axis + 1).product() };
    scan_rows(x, rows, scan)
}

fn scan_rows(x: CubeTensor, rows: Rows, scan: Scan) -> CubeTensor {
    let y = unwritten(&x, x.shape(), x.dtype);
    let dtypes = [x.dtype, summed(x.dtype)].map(dtype_to_storage_type);
    let Rows { count, size, inner } = rows;
    if size <= SHORT || count >= MANY {
        launch!(Grid::units(count) => rows_kernel(
            x, &y;
            count, size, inner, scan.exclusive, scan.reverse, scan.product, dtypes,
        ));
        return y;
    }
    let tiles = size.div_ceil(TILE);
    let cubes = count * tiles;
    let grid = Grid::cubes(cubes, UNITS).shared((TILE + UNITS) * summed(x.dtype).size());
    let before = if tiles == 1 {
        // Unused by the kernel.
        unwritten(&x, Shape::new([1]), summed(x.dtype))
    } else {
        let totals = unwritten(&x, Shape::new([cubes]), summed(x.dtype));
        launch!(grid => totals_kernel(
            &x, &totals;
            cubes, tiles, size, inner, scan.reverse, scan.product, dtypes,
        ));
        let rows = Rows { count, size: tiles, inner: 1 };
        let before = Scan { axis: 0, exclusive: true, reverse: false, product: scan.product };
        scan_rows(totals, rows, before)
    };
    launch!(grid => tiles_kernel(
        x, before, &y;
        cubes, tiles, size, inner, tiles > 1, scan.exclusive, scan.reverse, scan.product, dtypes,
    ));
    y
}

/// A unit scans a row.
///
/// Units beyond `count` end. `input` and `output` have `count * size` elements, in whole groups of `inner` rows.
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

/// A cube reduces a tile of a row.
///
/// Cubes beyond `cubes`, the tiles of all rows, end, and elements beyond the end of a row are left out.
/// `input` is as that of [`rows_kernel`], and `totals` has an element for each cube.
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

/// A cube scans a tile of a row.
///
/// Cubes beyond `cubes`, the tiles of all rows, end, and elements beyond the end of a row are neither read
/// nor written. `input` and `output` are as those of [`rows_kernel`]; `before` has an element for each cube
/// if the scan is `continued`.
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

    // Adjacent units read adjacent elements, and each scans a run of its own.
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

    // Totals of all runs up to each one.
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

/// Returns the index of the element that is scanned at an index of the row.
#[cube]
fn along(place: usize, size: usize, #[comptime] reverse: bool) -> usize {
    if comptime!(reverse) { size - 1 - place } else { place }
}

#[cube]
fn neutral<S: Numeric>(#[comptime] product: bool) -> S {
    if comptime!(product) { S::from_int(1) } else { S::from_int(0) }
}

#[cube]
fn joined<S: Numeric>(a: S, b: S, #[comptime] product: bool) -> S {
    if comptime!(product) { a * b } else { a + b }
}
