//! Tiles of rows and columns.

// A condition that is comptime decides which code there is.
#![allow(clippy::collapsible_if)]

use cubecl::prelude::*;

use super::Geometry;
use crate::cube::finish::{Function, activated};

/// Units of a cube.
pub const UNITS: usize = 64;

/// What a unit computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    pub rows: usize,
    /// Columns, which are `across` from each other.
    pub columns: usize,
    /// So many units have the same rows, and so many the same elements and other terms of their sums.
    pub across: usize,
    pub slices: usize,
    /// Terms that a unit adds at once, of which there is a multiple.
    pub terms: usize,
}

impl Tile {
    /// The tile for matrices of so many rows and columns, and sums of so many terms.
    pub fn of(rows: usize, columns: usize, terms: usize) -> Self {
        let terms = if terms.is_multiple_of(4) { 4 } else { 1 };
        if rows <= 4 {
            let across = columns.div_ceil(4).next_power_of_two().clamp(1, 16);
            return Self {
                rows: rows.next_power_of_two(),
                columns: 4,
                across,
                slices: UNITS / across,
                terms,
            };
        }
        let down = rows.div_ceil(8).next_power_of_two().min(8);
        Self {
            rows: 8,
            columns: 8,
            across: UNITS / down,
            slices: 1,
            terms,
        }
    }

    /// The rows and columns of a cube.
    pub fn of_cube(self) -> [usize; 2] {
        let down = UNITS / self.across / self.slices;
        [down * self.rows, self.across * self.columns]
    }

    fn elements(self) -> usize {
        self.rows * self.columns
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn product_kernel<T: Float>(
    a: &Tensor<T>,
    b: &Tensor<T>,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    geometry: Geometry,
    cubes: usize,
    #[comptime] tile: Tile,
    #[comptime] function: Function,
    #[define(T)] _dtype: ElemType,
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let rows = geometry.rows as usize;
    let columns = geometry.columns as usize;
    let terms = geometry.terms as usize;
    let tiles = columns.div_ceil(comptime!(tile.of_cube()[1]));
    let bands = rows.div_ceil(comptime!(tile.of_cube()[0]));
    let column = CUBE_POS % tiles * comptime!(tile.of_cube()[1]) + unit % tile.across;
    let slice = unit / tile.across % tile.slices;
    let row = CUBE_POS / tiles % bands * comptime!(tile.of_cube()[0])
        + unit / comptime!(tile.across * tile.slices) * tile.rows;
    let batch = CUBE_POS / tiles / bands;

    let mut left = 0usize;
    let mut right = 0usize;
    let mut rest = batch;
    #[unroll]
    for from_end in 0..geometry.axes.len() {
        let axis = geometry
            .axes
            .index(comptime!(geometry.axes.len() - 1 - from_end));
        let place = rest % axis.size as usize;
        rest /= axis.size as usize;
        left += place * axis.next_left as usize;
        right += place * axis.next_right as usize;
    }
    let mut lefts = Array::<usize>::new(tile.rows);
    #[unroll]
    for at in 0..tile.rows {
        lefts[at] = left + min(row + at, rows - 1) * geometry.next_row as usize;
    }
    let mut rights = Array::<usize>::new(tile.columns);
    #[unroll]
    for at in 0..tile.columns {
        rights[at] =
            right + min(column + at * tile.across, columns - 1) * geometry.next_column as usize;
    }

    let mut sums = Array::<f32>::new(comptime!(tile.elements()));
    #[unroll]
    for at in 0..comptime!(tile.elements()) {
        sums[at] = 0.0f32;
    }
    // Sums lie in memory on adapters that are CPUs: several terms at once read and write them once.
    let step = comptime!(tile.slices * tile.terms);
    for term in range_stepped(slice * tile.terms, terms, step) {
        let mut of_rows = Sequence::<f32>::new();
        #[unroll]
        for at in 0..tile.rows {
            #[unroll]
            for next in 0..tile.terms {
                let from = lefts[at] + (term + next) * geometry.next_left as usize;
                of_rows.push(f32::cast_from(a[from]));
            }
        }
        #[unroll]
        for across in 0..tile.columns {
            let mut of_column = Sequence::<f32>::new();
            #[unroll]
            for next in 0..tile.terms {
                let from = rights[across] + (term + next) * geometry.next_right as usize;
                of_column.push(f32::cast_from(b[from]));
            }
            #[unroll]
            for down in 0..tile.rows {
                let to = comptime!(down * tile.columns + across);
                let mut total = sums[to];
                #[unroll]
                for next in 0..tile.terms {
                    total += *of_rows.index(comptime!(down * tile.terms + next))
                        * *of_column.index(next);
                }
                sums[to] = total;
            }
        }
    }

    if comptime!(tile.slices > 1) {
        let mut shared = Shared::<[f32]>::new_slice(comptime!(UNITS * tile.elements()));
        #[unroll]
        for at in 0..comptime!(tile.elements()) {
            shared[at * UNITS + unit] = sums[at];
        }
        sync_cube();
        if slice == 0 {
            #[unroll]
            for at in 0..comptime!(tile.elements()) {
                for other in 1..tile.slices {
                    sums[at] += shared[at * UNITS + unit + other * tile.across];
                }
            }
        }
    }

    if slice == 0 {
        #[unroll]
        for down in 0..tile.rows {
            #[unroll]
            for across in 0..tile.columns {
                let to_column = column + across * tile.across;
                if row + down < rows && to_column < columns {
                    let to = (batch * rows + row + down) * columns + to_column;
                    let mut total = sums[down * tile.columns + across];
                    #[comptime]
                    match bias {
                        ComptimeOption::Some(bias) => total += f32::cast_from(bias[to_column]),
                        ComptimeOption::None => {}
                    }
                    #[comptime]
                    match sum {
                        ComptimeOption::Some(sum) => total += f32::cast_from(sum[to]),
                        ComptimeOption::None => {}
                    }
                    if comptime!(!function.is_long()) {
                        total = activated(total, geometry.alpha, geometry.beta, function);
                    }
                    y[to] = T::cast_from(total);
                }
            }
        }
        if comptime!(function.is_long()) {
            for at in 0..comptime!(tile.elements()).runtime() {
                let of_row = row + at / tile.columns;
                let of_column = column + at % tile.columns * tile.across;
                if of_row < rows && of_column < columns {
                    let to = (batch * rows + of_row) * columns + of_column;
                    let total = f32::cast_from(y[to]);
                    let total = activated(total, geometry.alpha, geometry.beta, function);
                    y[to] = T::cast_from(total);
                }
            }
        }
    }
}
