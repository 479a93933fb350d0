//! Parts of a convolution over bands of its input.

use std::ops::Range;

use super::lines::PaddedLines;
use crate::flex::{
    memory::{Cuts, Grid, InOrder, Order, Unwritten, Written},
    plan::{Band, BandPlan, CopiedRange, Layout, TileColumns},
    simd::InstructionSet,
    threads::task_for_each,
};

/// The input of some groups of channels, and its strides along channels, depth, rows and columns.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub values: &'a [f32],
    pub steps: [usize; 4],
    pub channels: usize,
}

impl BandPlan {
    /// Writes all parts in parallel, with `size` elements for each output pixel. `write` gets the output
    /// channels of a part, those of each element of the batch counted, and the index of its band.
    pub fn write<'a, T: Send + Sync>(
        &self,
        out: Unwritten<'a, T>,
        size: usize,
        write: impl for<'p> Fn(Range<usize>, usize, Unwritten<'p, T>) -> Written<'p, T> + Send + Sync,
    ) -> Written<'a, T> {
        let ends: Vec<usize> = self.band_ends().map(|end| end * size).collect();
        let pixels = ends.last().copied().unwrap_or(0);
        let grid = Grid { rows: self.cuts(), columns: Cuts::Ends(&ends), order: Order::RowMajor };
        let out = out.reshaped(self.channels(), pixels);
        out.side_by_side(grid, task_for_each(self.threads), |index, spot, out| {
            write(spot.rows, index % self.bands.len(), out)
        })
    }
}

/// Writes tiles one after another, with `size` elements for each output pixel. `write` gets the columns of a
/// tile, and whether it is the first one.
pub fn write_tiles<'a, T>(
    columns: &[TileColumns],
    size: usize,
    out: Unwritten<'a, T>,
    mut write: impl for<'p> FnMut(&TileColumns, bool, Unwritten<'p, T>) -> Written<'p, T>,
) -> Written<'a, T> {
    let mut pixels = InOrder::columns(out);
    let columns = columns.iter().filter(|columns| columns.mask != 0);
    for (at, columns) in columns.enumerate() {
        let count = columns.mask.count_ones() as usize;
        pixels.write(count * size, |out| write(columns, at == 0, out));
    }
    pixels.finish()
}

impl Layout {
    /// Copies the input of a band. The copy is followed by room for a register.
    pub fn copy(&self, set: InstructionSet, input: Input<'_>, band: &Band, out: &mut [f32]) {
        let g = &self.geometry;
        let [channel_step, depth_step, row_step, _] = input.steps;
        let height = band.rows.len() + self.rows.furthest;
        let mut first = 0;
        for channel in 0..input.channels {
            for depth in 0..g.kernel[0] {
                let depth = band.depth * g.strides[0] + depth * g.dilations[0];
                let depth = inside(depth, g.before[0], g.sizes[0]);
                for row_phase in &self.rows.phases {
                    let shift = band.rows.start * g.strides[1] + row_phase;
                    let rows = CopiedRange::new(g, 1, shift, height);
                    for column_phase in &self.columns.phases {
                        let shift = band.columns.start * g.strides[2] + column_phase;
                        let columns = CopiedRange::new(g, 2, shift, self.width);
                        let out = &mut out[first..];
                        first += self.height * self.width;
                        let Some(depth) = depth else {
                            out[..height * self.width].fill(0.0);
                            continue;
                        };
                        out[..rows.begin * self.width].fill(0.0);
                        out[rows.end * self.width..height * self.width].fill(0.0);
                        if rows.begin == rows.end {
                            continue;
                        }
                        let at = channel * channel_step + depth * depth_step;
                        PaddedLines {
                            values: &input.values[at + rows.first * row_step..],
                            step: g.strides[1] * row_step,
                            count: rows.end - rows.begin,
                            first: columns.first * input.steps[3],
                            stride: g.strides[2] * input.steps[3],
                            begin: columns.begin,
                            end: columns.end,
                            width: self.width,
                        }
                        .copy(set, &mut out[rows.begin * self.width..]);
                    }
                }
            }
        }
    }
}

/// Index in the input of an index in the padded input, unless it is in the padding.
fn inside(index: usize, before: usize, size: usize) -> Option<usize> {
    index.checked_sub(before).filter(|index| *index < size)
}
