//! What threads take of planes.
//!
//! Large planes are divided into bands of rows, which all channels have alike: the next convolution, which
//! reads all channels, finds in its thread's cache what that thread wrote. Small ones are not worth it.

use std::ops::Range;

use super::ROWS;
use crate::flex::{
    instructions::Set,
    threads::{in_parts, uneven_parts},
};

/// Tiles that a band has at least.
const TILES: usize = 4;

/// How many bands so many threads make of a plane of positions.
pub fn bands(set: Set, plane: usize, threads: usize) -> usize {
    threads.min(plane / (TILES * set.columns())).max(1)
}

/// Runs over each plane's rows, band after band, with the number of the plane.
pub fn by_bands(
    set: Set,
    planes: usize,
    [high, wide]: [usize; 2],
    threads: usize,
    run: impl Fn(usize, Range<usize>) + Send + Sync,
) {
    let rows = high.div_ceil(bands(set, high * wide, threads));
    // As many as are computed at once.
    let rows = rows.next_multiple_of(ROWS).max(ROWS);
    in_parts(
        planes * high.div_ceil(rows),
        uneven_parts(threads),
        |units| {
            for unit in units {
                let first = unit / planes * rows;
                run(unit % planes, first..high.min(first + rows));
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_row_of_every_plane_runs_once() {
        for (planes, high, wide, threads) in [
            (3, 5, 4, 2),
            (2, 301, 40, 3),
            (0, 4, 4, 2),
            (2, 7, 900, 9),
            (2, 0, 900, 2),
            (2, 3, 0, 2),
            (3, 50, 50, 1),
        ] {
            let seen = Mutex::new(vec![0; planes * high]);
            by_bands(Set::best(), planes, [high, wide], threads, |plane, rows| {
                let mut seen = seen.lock().unwrap();
                rows.for_each(|row| seen[plane * high + row] += 1);
            });
            let seen = seen.into_inner().unwrap();
            assert!(
                seen.iter().all(|count| *count == 1),
                "{planes} {high} {wide} {threads}"
            );
        }
    }
}
