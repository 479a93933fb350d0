//! Division of planes among threads.
//!
//! Large planes are divided into bands of rows, the same for all channels: the next convolution, which reads all channels, finds
//! the output of its thread in the cache. Small planes are not divided.

use std::ops::Range;

use super::ROWS;
use crate::flex::{
    memory::{Cuts, Grid, Order, Unwritten, Written},
    plan::TileSize,
    simd::InstructionSet,
    threads::uneven_parts,
};

/// Output that consists of planes with depths, rows and columns.
#[derive(Clone, Copy)]
pub struct Planes {
    pub count: usize,
    pub depths: usize,
    pub rows: usize,
    pub columns: usize,
}

impl Planes {
    /// `count` planes.
    pub fn new(count: usize, [depths, rows, columns]: [usize; 3]) -> Self {
        Self { count, depths, rows, columns }
    }

    /// Divides planes into bands of rows for `threads` threads: band after band, each in all planes. The rows
    /// of the rectangle are the depths of all planes.
    pub fn bands(self, set: InstructionSet, threads: usize) -> Grid<'static> {
        let plane = self.rows * self.columns;
        let rows = self.rows.div_ceil(TileSize::of_floats(set).bands(plane, threads));
        // A multiple of the rows that are computed at once.
        let rows = rows.next_multiple_of(ROWS).max(ROWS);
        Grid {
            rows: Cuts::Every { groups: self.count, size: self.depths, step: self.depths.max(1) },
            columns: Cuts::every(plane, (rows * self.columns).max(1)),
            order: Order::ColumnMajor,
        }
    }
}

/// Writes each plane in bands of rows, side by side: band after band, each in all planes.
///
/// `write` gets the number of the plane, its rows, and the part of the output with these rows: one line of
/// contiguous elements for each depth.
pub fn by_bands<'a, T: Send + Sync>(
    out: Unwritten<'a, T>,
    set: InstructionSet,
    planes: Planes,
    threads: usize,
    write: impl for<'p> Fn(usize, Range<usize>, Unwritten<'p, T>) -> Written<'p, T> + Send + Sync,
) -> Written<'a, T> {
    let Planes { count, depths, rows: high, columns: wide } = planes;
    let grid = planes.bands(set, threads);
    let out = out.reshaped(count * depths, high * wide);
    let tasks = uneven_parts(threads);
    out.side_by_side(grid, tasks, |_, spot, part| {
        let rows = spot.columns.start / wide..spot.columns.end / wide;
        write(spot.rows.start / depths, rows, part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::memory::Buffer;

    #[test]
    fn every_row_of_every_plane_is_written() {
        for (planes, high, wide, threads) in [
            (3, 5, 4, 2),
            (2, 301, 40, 3),
            (0, 4, 4, 2),
            (2, 7, 900, 9),
            (2, 0, 900, 2),
            (2, 3, 0, 2),
            (3, 50, 50, 1),
        ] {
            for depths in [1, 3] {
                let planes = Planes { count: planes, depths, rows: high, columns: wide };
                let length = planes.count * depths * high * wide;
                let y = Buffer::filled(length, |out| {
                    by_bands(out, InstructionSet::best(), planes, threads, |plane, rows, part| {
                        part.write_rows(|depth, elements| {
                            let first = ((plane * depths + depth) * high + rows.start) * wide;
                            let values: Vec<u32> = (first as u32..).take(rows.len() * wide).collect();
                            elements.write_copy_of_slice(&values)
                        })
                    })
                });
                let is_right = y.iter().copied().eq(0..length as u32);
                assert!(is_right, "{} {high} {wide} {threads}", planes.count);
            }
        }
    }
}
