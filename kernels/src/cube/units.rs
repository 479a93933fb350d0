//! Reductions over the units of a cube that share a row.

use cubecl::prelude::*;

/// Number of units of such a cube, a power of two.
pub const UNITS: usize = 32;

/// Returns the greatest value of the units of a cube.
#[cube]
pub fn greatest<S: Float>(own: S, shared: &mut Shared<[S]>) -> S {
    let unit = UNIT_POS as usize;
    shared[unit] = own;
    sync_cube();
    let mut distance = comptime!(UNITS / 2).runtime();
    while distance > 0 {
        if unit < distance {
            let other = shared[unit + distance];
            shared[unit] = select(other > shared[unit], other, shared[unit]);
        }
        sync_cube();
        distance /= 2;
    }
    let greatest = shared[0];
    sync_cube();
    greatest
}

/// Returns the sum of the values of the units of a cube.
#[cube]
pub fn total<S: Numeric>(own: S, shared: &mut Shared<[S]>) -> S {
    let unit = UNIT_POS as usize;
    shared[unit] = own;
    sync_cube();
    let mut distance = comptime!(UNITS / 2).runtime();
    while distance > 0 {
        if unit < distance {
            let other = shared[unit + distance];
            shared[unit] += other;
        }
        sync_cube();
        distance /= 2;
    }
    let total = shared[0];
    sync_cube();
    total
}
