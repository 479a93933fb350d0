//! Input rows of the windows of some output rows.

use std::ops::Range;

use super::{ROWS, Windows, tables::BESIDE};
use crate::flex::simd::Rows;

/// Maximum number of input rows that some output rows of a square kernel read.
pub const LINES: usize = 11;

/// Input rows that some output rows of a square kernel read.
pub struct Lines<'a> {
    pub rows: Rows<'a, LINES>,
    /// Those that are not padding, for fewer output rows than [`ROWS`].
    pub inside: Range<usize>,
}

/// Output rows of one channel.
pub struct Part<'a> {
    pub windows: &'a Windows,
    pub values: &'a [f32],
    pub rows: Range<usize>,
}

impl<'a> Part<'a> {
    /// The input row at an offset, or padding if it is [`BESIDE`](super::tables::BESIDE).
    #[inline(always)]
    fn line(&self, offset: usize) -> &[f32] {
        let end = offset + self.windows.geometry.sizes[2];
        self.values.get(offset..end).unwrap_or(&self.windows.outside)
    }

    /// The input rows that `R` output rows read, for each tap along depth and rows.
    pub fn fill_lines<const R: usize>(&'a self, lines: &mut Vec<Rows<'a, R>>, [depth, row]: [usize; 2]) {
        let [fronts, downs, _] = self.windows.geometry.kernel;
        let begins = &self.windows.lines[0][depth * fronts..][..fronts];
        let taps = begins.iter().flat_map(|front| (0..downs).map(move |down| (*front, down)));
        lines.clear();
        lines.extend(taps.map(|(front, down)| {
            let mut rows = [&[][..]; R];
            for (at, line) in rows.iter_mut().enumerate() {
                *line = self.line(front + self.windows.lines[1][(row + at) * downs + down]);
            }
            Rows::new(rows, self.windows.geometry.sizes[2])
        }));
    }

    /// The input rows that `R` output rows of a square kernel read, for the offset of their depth.
    #[inline(always)]
    pub fn lines<const STRIDE: usize, const WIDE: usize, const R: usize>(
        &'a self,
        front: usize,
        row: usize,
    ) -> Lines<'a> {
        let offsets = &self.windows.lines[1][row * WIDE..][..R * WIDE];
        let count = (R - 1) * STRIDE + WIDE;
        let mut lines = [self.line(front + offsets[0]); LINES];
        let mut inside = count..0;
        for (down, line) in lines[..count].iter_mut().enumerate() {
            // The last output row that reads it, with one of its first taps.
            let last = (down / STRIDE).min(R - 1);
            let offset = front + offsets[last * WIDE + down - last * STRIDE];
            *line = self.line(offset);
            if R < ROWS && offset < BESIDE {
                inside = inside.start.min(down)..down + 1;
            }
        }
        Lines { rows: Rows::new(lines, self.windows.geometry.sizes[2]), inside }
    }
}
