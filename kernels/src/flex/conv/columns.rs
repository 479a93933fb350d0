//! Columns of tiles over what the positions of several rows see.

/// Columns of a band that a tile computes.
pub struct Columns {
    pub first: usize,
    pub registers: usize,
    pub mask: u128,
    /// Where they are in the output.
    pub at: usize,
}

/// The columns of the tiles of some rows, which are `step` apart and of which so many are there, by the lanes
/// of a register and the most registers of a tile.
pub fn columns(
    rows: usize,
    wide: usize,
    step: usize,
    (lanes, most): (usize, usize),
) -> Vec<Columns> {
    let end = (rows - 1) * step + wide;
    let mut columns = Vec::with_capacity(end.div_ceil(most * lanes));
    // Where along its row the next column is, and where in the output.
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
