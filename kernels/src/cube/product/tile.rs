//! Products whose cubes compute tiles of rows and columns.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use cubecl::prelude::*;

use super::{Geometry, Terms, Zeros};
use crate::cube::epilogue::{Function, activated};

/// Number of units of a cube.
pub const UNITS: usize = 64;

/// Tile of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    pub rows: usize,
    /// Number of columns, which are `across` apart.
    pub columns: usize,
    /// Number of units along the columns.
    pub across: usize,
    /// Number of units that share the sums of a tile (split-K).
    pub slices: usize,
    /// Number of terms that a unit adds at once, a divisor of the depth.
    pub terms: usize,
}

impl Tile {
    /// Returns the tile for numbers of rows and columns, and of terms of a sum.
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
        Self { rows: 8, columns: 8, across: UNITS / down, slices: 1, terms }
    }

    /// Returns the numbers of rows and columns of a cube.
    pub fn of_cube(self) -> [usize; 2] {
        let down = UNITS / self.across / self.slices;
        [down * self.rows, self.across * self.columns]
    }

    /// Shared memory of a cube, in bytes.
    pub fn shared(self) -> usize {
        match self.slices {
            1 => 0,
            _ => UNITS * self.elements() * size_of::<f32>(),
        }
    }

    fn elements(self) -> usize {
        self.rows * self.columns
    }
}

/// A cube computes a tile of a product.
///
/// Cubes beyond `cubes`, the tiles of all products, end. Rows and columns beyond the last one are read as the
/// last one and not written; a unit adds `tile.terms` terms at once, which divide `geometry.terms`. `a` and
/// `b` are read by their strides, `bias` has an element for each column, and `sum` and `y` have one for each
/// row and column of each product.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn product_kernel<A: Float, B: Float, T: Float>(
    a: &Tensor<A>,
    b: &Tensor<B>,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    geometry: Geometry,
    cubes: usize,
    #[comptime] tile: Tile,
    #[comptime] function: Function,
    #[comptime] which: Terms,
    #[define(A, B, T)] _dtypes: [ElemType; 3],
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let rows = geometry.rows as usize;
    let columns = geometry.columns as usize;
    let spot = spot(&geometry, tile);
    let no_zeros = Array::<f32>::new(1usize);
    let sums = products::<A, B, f32>(
        a,
        b,
        &no_zeros,
        &no_zeros,
        &spot,
        &geometry,
        tile,
        comptime!(Zeros::default()),
        which,
    );
    let (row, column, batch) = (spot.row, spot.column, spot.batch);

    if spot.slice == 0 {
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

/// Rows and columns of a unit, and its slice of their sums.
#[derive(CubeType, Clone, Copy)]
pub struct Spot {
    pub row: usize,
    pub column: usize,
    pub batch: usize,
    pub slice: usize,
}

#[cube]
pub fn spot(geometry: &Geometry, #[comptime] tile: Tile) -> Spot {
    let unit = UNIT_POS as usize;
    let tiles = (geometry.columns as usize).div_ceil(comptime!(tile.of_cube()[1]));
    let bands = (geometry.rows as usize).div_ceil(comptime!(tile.of_cube()[0]));
    Spot {
        row: CUBE_POS / tiles % bands * comptime!(tile.of_cube()[0])
            + unit / comptime!(tile.across * tile.slices) * tile.rows,
        column: CUBE_POS % tiles * comptime!(tile.of_cube()[1]) + unit % tile.across,
        batch: CUBE_POS / tiles / bands,
        slice: unit / tile.across % tile.slices,
    }
}

/// Returns the sums of a tile, of elements less the zero points of rows and columns. The units of the first
/// slice have the whole sums.
#[cube]
pub fn products<A: Numeric, B: Numeric, S: Numeric>(
    a: &Tensor<A>,
    b: &Tensor<B>,
    row_zeros: &Array<S>,
    column_zeros: &Array<S>,
    spot: &Spot,
    geometry: &Geometry,
    #[comptime] tile: Tile,
    #[comptime] zeros: Zeros,
    #[comptime] which: Terms,
) -> Array<S> {
    let unit = UNIT_POS as usize;
    let rows = geometry.rows as usize;
    let columns = geometry.columns as usize;
    let terms = geometry.terms as usize;
    let mut left = 0usize;
    let mut right = 0usize;
    let mut rest = spot.batch;
    #[unroll]
    for from_end in 0..geometry.axes.len() {
        let axis = geometry.axes.index(comptime!(geometry.axes.len() - 1 - from_end));
        let place = rest % axis.size as usize;
        rest /= axis.size as usize;
        left += place * axis.next_left as usize;
        right += place * axis.next_right as usize;
    }
    let mut lefts = Array::<usize>::new(tile.rows);
    #[unroll]
    for at in 0..tile.rows {
        lefts[at] = left + min(spot.row + at, rows - 1) * geometry.next_row as usize;
    }
    let mut rights = Array::<usize>::new(tile.columns);
    #[unroll]
    for at in 0..tile.columns {
        rights[at] = right + min(spot.column + at * tile.across, columns - 1) * geometry.next_column as usize;
    }

    let mut sums = Array::<S>::new(comptime!(tile.elements()));
    #[unroll]
    for at in 0..comptime!(tile.elements()) {
        sums[at] = S::from_int(0);
    }
    // Sums are in memory on adapters that are CPUs: several terms at once read and write them once.
    let step = comptime!(tile.slices * tile.terms);
    for term in range_stepped(spot.slice * tile.terms, terms, step) {
        let mut of_rows = Sequence::<S>::new();
        #[unroll]
        for at in 0..tile.rows {
            #[unroll]
            for next in 0..tile.terms {
                let from = lefts[at] + (term + next) * geometry.next_left as usize;
                let mut element = S::cast_from(a[from]);
                if comptime!(zeros.left) {
                    element -= row_zeros[at];
                }
                of_rows.push(element);
            }
        }
        #[unroll]
        for across in 0..tile.columns {
            let mut of_column = Sequence::<S>::new();
            #[unroll]
            for next in 0..tile.terms {
                let from = rights[across] + (term + next) * geometry.next_right as usize;
                let mut element = S::cast_from(b[from]);
                if comptime!(zeros.right) {
                    element -= column_zeros[across];
                }
                of_column.push(element);
            }
            #[unroll]
            for down in 0..tile.rows {
                let to = comptime!(down * tile.columns + across);
                let mut total = sums[to];
                #[unroll]
                for next in 0..tile.terms {
                    let left = *of_rows.index(comptime!(down * tile.terms + next));
                    let term = left * *of_column.index(next);
                    if comptime!(which == Terms::NotNegative) {
                        total += select(left < S::from_int(0), S::from_int(0), term);
                    } else {
                        total += term;
                    }
                }
                sums[to] = total;
            }
        }
    }

    if comptime!(tile.slices > 1) {
        let mut shared = Shared::<[S]>::new_slice(comptime!(UNITS * tile.elements()));
        #[unroll]
        for at in 0..comptime!(tile.elements()) {
            shared[at * UNITS + unit] = sums[at];
        }
        sync_cube();
        if spot.slice == 0 {
            #[unroll]
            for at in 0..comptime!(tile.elements()) {
                for other in 1..tile.slices {
                    sums[at] += shared[at * UNITS + unit + other * tile.across];
                }
            }
        }
    }

    sums
}
