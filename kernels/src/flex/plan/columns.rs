//! Columns of tiles over a band, with the gaps between its rows.

/// Columns of a tile over a band.
pub struct TileColumns {
    /// Offset of the first lane in the band.
    pub first: usize,
    pub registers: usize,
    /// The lanes that are output pixels.
    pub mask: u128,
    /// Index of the first output pixel in the band.
    pub at: usize,
}

impl TileColumns {
    /// The columns of all tiles over `count` columns without gaps, which are whole registers. `most`: those of a tile.
    pub fn whole(count: usize, lanes: usize, most: usize) -> Vec<Self> {
        let tile = |first: usize| {
            let width = most.min(count - first);
            Self { first, registers: width / lanes, mask: (1 << width) - 1, at: first }
        };
        (0..count).step_by(most).map(tile).collect()
    }

    /// Number of output pixels.
    pub fn count(&self) -> usize {
        self.mask.count_ones() as usize
    }
}

/// The columns of all tiles over some output rows of `wide` pixels, which are `step` elements apart in the band.
///
/// `lanes`: number of lanes of a register; `most`: maximum number of registers of a tile.
pub fn tile_columns(rows: usize, wide: usize, step: usize, lanes: usize, most: usize) -> Vec<TileColumns> {
    let end = (rows - 1) * step + wide;
    let mut columns = Vec::with_capacity(end.div_ceil(most * lanes));
    // Index of the next column in its row, and of the next output pixel.
    let (mut along, mut at) = (0, 0);
    for first in (0..end).step_by(most * lanes) {
        let count = (end - first).min(most * lanes);
        let begin = at;
        let (mut mask, mut done) = (0u128, 0);
        while done < count {
            let part = (count - done).min(step - along);
            let there = part.min(wide.saturating_sub(along));
            mask |= ((1u128 << there) - 1) << done;
            at += there;
            done += part;
            along = (along + part) % step;
        }
        columns.push(TileColumns {
            first,
            registers: match count.div_ceil(lanes) {
                3 => 4,
                registers => registers,
            },
            mask,
            at: begin,
        });
    }
    columns
}
