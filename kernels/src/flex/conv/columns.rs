//! Columns of tiles over a band, with the gaps between its rows.

/// Columns of a tile over a band.
pub struct Columns {
    pub first: usize,
    pub registers: usize,
    pub mask: u128,
    /// Index of the first output pixel in the band.
    pub at: usize,
}

/// The columns of all tiles over some output rows of `wide` pixels, which are `step` elements apart in the band.
///
/// `lanes` and `most`: the lanes of a vector, and the maximum number of vectors of a tile.
pub fn columns(
    rows: usize,
    wide: usize,
    step: usize,
    (lanes, most): (usize, usize),
) -> Vec<Columns> {
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
        columns.push(Columns {
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
