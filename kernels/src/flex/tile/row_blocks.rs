//! Rows of an output that are computed several at once.

use std::{mem::MaybeUninit, ops::Range};

use crate::flex::memory::{SliceWriter, write_lines};

/// Writes contiguous rows, `ROWS` at a time. `write` gets the index of the first of `ROWS` rows and a writer for each.
///
/// The last rows overlap those before them if `ROWS` does not divide their number: rows that are written
/// already have writers without room.
///
/// # Panics
///
/// If there are fewer than `ROWS` rows, or `write` leaves out elements.
#[inline(always)]
pub fn write_row_blocks<T: Copy, const ROWS: usize>(
    out: &mut [MaybeUninit<T>],
    rows: Range<usize>,
    row_length: usize,
    mut write: impl FnMut(usize, &mut [SliceWriter<'_, T>; ROWS]),
) -> &mut [T] {
    assert!(rows.is_empty() || rows.len() >= ROWS);
    let mut out = SliceWriter::new(out);
    for next in rows.clone().step_by(ROWS) {
        let first = next.min(rows.end - ROWS);
        let count = first + ROWS - next;
        out.write(
            count * row_length,
            #[inline(always)]
            |out| {
                write_lines(
                    out,
                    count,
                    #[inline(always)]
                    |lines| write(first, lines),
                )
            },
        );
    }
    out.finish()
}
