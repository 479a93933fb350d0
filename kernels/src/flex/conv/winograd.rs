//! Convolutions of 3 x 3 taps by Winograd's minimal filtering.
//!
//! Output pixels are computed in squares. The input pixels of a square and the taps are transformed, after which an input and an
//! output channel take 36 products for 16 pixels, or 16 products for 4, instead of 144 and 36. Sums of products over the input
//! channels are transformed to output pixels. Squares are in the lanes, so that each of the products is a matrix product:
//! output channels by input channels by squares.
//!
//! Results differ from direct sums by rounding: up to about 5e-6 of the largest element. A number that is not finite would
//! reach all pixels of its square, so that direct sums compute a convolution whose results are not all finite.

mod registers;
#[cfg(test)]
mod tests;
mod transforms;
mod weights;

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::band::write_tiles;
use super::lines::PaddedLines;
use super::run::Convolution;
use crate::flex::{
    memory::{Buffer, Cuts, Grid, Order, SliceWriter, Unwritten, Written, overwrite, with_scratch},
    plan::{CopiedRange, Square, TileColumns, WinogradPlan},
    simd::{Floats, Isa, LaneMask, with_isa},
    threads::task_for_each,
    tile::{
        Addend, Bias, Bounds, F32_PER_CACHE_LINE, FloatEpilogue, FloatOperands, RowOffsets, Tile,
        TilePosition,
    },
};
use registers::{transform_inputs, transform_sums};
use transforms::{Four, Two};
pub use weights::SquareFilters;

/// Tables that all parts of a convolution share.
struct Run<'a> {
    of: &'a Convolution<'a>,
    plan: &'a WinogradPlan,
    weights: &'a [f32],
    bounds: Option<Bounds>,
    /// False as soon as a result is not finite.
    is_finite: AtomicBool,
}

/// Sizes of the memory of a part.
#[derive(Clone, Copy)]
struct Part {
    /// Number of rows of squares.
    rows: usize,
    /// Number of squares of a row.
    wide: usize,
    /// Number of squares, filled up to whole registers.
    squares: usize,
    /// Number of input channels.
    inputs: usize,
    /// Sizes of the copy of a channel's input with padding.
    height: usize,
    width: usize,
}

/// Memory of a part for its output channels.
struct Memory<'a> {
    /// Transformed inputs: for each product, channel and square.
    inputs: &'a [f32],
    /// Sums: for each product, output channel of a panel and square.
    sums: &'a mut [f32],
    /// Output pixels of one channel: for each row of pixels of a square, all squares side by side.
    pixels: &'a mut [f32],
}

impl Convolution<'_> {
    /// Computes the convolution by a plan. Returns `None` if a result is not finite, or sizes are too large for tiles.
    pub fn by_squares(&self, plan: &WinogradPlan) -> Option<Buffer> {
        let filters = self.filters;
        let weights = filters.squares(plan.square);
        let run = Run {
            of: self,
            plan,
            weights: weights.values(),
            bounds: Bounds::of(self.activation),
            is_finite: AtomicBool::new(true),
        };
        let parts = plan.bands.iter().map(|band| run.sizes(band));
        let offsets: Option<Vec<_>> = parts.map(|part| RowOffsets::even(part.inputs, part.squares)).collect();
        let offsets = offsets?;
        let ends: Vec<usize> = plan.band_ends().collect();
        let grid = Grid { rows: plan.cuts(), columns: Cuts::Ends(&ends), order: Order::RowMajor };
        let positions: usize = self.geometry.positions.iter().product();
        let channels = self.batches * filters.groups * filters.outputs;
        let buffer = Buffer::filled(channels * positions, |out| {
            let out = out.reshaped(channels, positions);
            out.side_by_side(grid, task_for_each(plan.threads), |index, spot, out| {
                let band = index % plan.bands.len();
                run.part(spot.rows, band, &offsets[band], out)
            })
        });
        run.is_finite.into_inner().then_some(buffer)
    }
}

impl Run<'_> {
    fn sizes(&self, band: &Range<usize>) -> Part {
        let side = self.plan.square.side();
        let (rows, wide) = (band.len(), self.plan.wide);
        Part {
            rows,
            wide,
            squares: (rows * wide).next_multiple_of(self.of.filters.set.lanes()),
            inputs: self.of.filters.inner / 9,
            height: rows * side + 2,
            width: wide * side + 2,
        }
    }

    /// Writes output channels of one group over a band.
    fn part<'a>(
        &self,
        rows: Range<usize>,
        band: usize,
        offsets: &RowOffsets,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (of, filters, square) = (self.of, self.of.filters, self.plan.square);
        let band = &self.plan.bands[band];
        let part = self.sizes(band);
        let group = rows.start / filters.outputs;
        let (batch, group) = (group / filters.groups, group % filters.groups);
        let values = of.values.get(batch * of.steps[0] + group * part.inputs * of.steps[1]..).unwrap_or(&[]);
        let products = square.products();
        // Loads of registers read past the last pixel, and past the last row of squares.
        let after = 8 * filters.set.lanes() + square.side() * square.side() * part.width;
        let line = |length: usize| length.next_multiple_of(F32_PER_CACHE_LINE);
        let lengths = [
            line(part.height * part.width + after),
            line(products * part.inputs * part.squares),
            line(products * filters.panel_rows.min(out.rows()) * part.squares),
            line(square.side() * square.side() * part.squares),
        ];
        with_scratch(lengths.iter().sum(), |scratch| {
            let (copy, rest) = scratch.split_at_mut(lengths[0]);
            let (inputs, rest) = rest.split_at_mut(lengths[1]);
            let (sums, pixels) = rest.split_at_mut(lengths[2]);
            copy[part.height * part.width..].fill(0.0);
            for channel in 0..part.inputs {
                self.copy_input(&values[channel * of.steps[1]..], band, part, copy);
                let inputs = &mut inputs[channel * part.squares..];
                with_isa!(filters.set, isa => match square {
                    Square::Two => transform_inputs::<_, 2, 4, Two>(isa, part, copy, inputs),
                    Square::Four => transform_inputs::<_, 4, 6, Four>(isa, part, copy, inputs),
                });
            }
            let mut memory = Memory { inputs, sums, pixels };
            out.in_rows(filters.panel_rows, |at, out| {
                self.panel(rows.start + at, (band, part, offsets), &mut memory, out)
            })
        })
    }

    /// Copies the input of a channel for a band, with padding.
    fn copy_input(&self, values: &[f32], band: &Range<usize>, part: Part, copy: &mut [f32]) {
        let g = &self.of.geometry;
        let rows = CopiedRange::new(g, 1, band.start * self.plan.square.side(), part.height);
        let columns = CopiedRange::new(g, 2, 0, part.width);
        copy[..rows.begin * part.width].fill(0.0);
        copy[rows.end * part.width..part.height * part.width].fill(0.0);
        if rows.begin == rows.end {
            return;
        }
        let [.., row, column] = self.of.steps;
        PaddedLines {
            values: &values[rows.first * row..],
            step: row,
            count: rows.end - rows.begin,
            first: columns.first * column,
            stride: column,
            begin: columns.begin,
            end: columns.end,
            width: part.width,
        }
        .copy(self.of.filters.set, &mut copy[rows.begin * part.width..]);
    }

    /// Writes a panel of output channels over a band, from the channel `first` on, counted through groups and batches.
    fn panel<'a>(
        &self,
        first: usize,
        (band, part, offsets): (&Range<usize>, Part, &RowOffsets),
        memory: &mut Memory<'_>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (of, filters, square) = (self.of, self.of.filters, self.plan.square);
        let (products, count) = (square.products(), out.rows());
        let channel = first % (filters.groups * filters.outputs);
        let weights = &self.weights[channel * part.inputs * products..];
        let [_, high, wide] = of.geometry.positions;
        let sums = &mut memory.sums[..products * count * part.squares];
        overwrite(sums, |sums| {
            let sums = sums.reshaped(products * count, part.squares);
            sums.in_rows(count, |at, sums| {
                let product = at / count;
                let weights = &weights[product * part.inputs * count..];
                let inputs = &memory.inputs[product * part.inputs * part.squares..];
                self.product(weights, (inputs, offsets), sums)
            })
        });
        let pixel = band.start * square.side() * wide;
        let out = out.in_rows(1, |row, out| {
            let bias = of.bias.map_or(0.0, |bias| bias[channel + row]);
            let sums = &memory.sums[row * part.squares..];
            let stride = count * part.squares;
            let pixels = &mut *memory.pixels;
            let is_finite = with_isa!(filters.set, isa => match square {
                Square::Two => transform_sums::<_, 2, 4, Two>(isa, (part.squares, stride), sums, bias, pixels),
                Square::Four => transform_sums::<_, 4, 6, Four>(isa, (part.squares, stride), sums, bias, pixels),
            });
            if !is_finite {
                self.is_finite.store(false, Relaxed);
            }
            let residual = of.residual.map(|values| &values[(first + row) * high * wide + pixel..]);
            self.rows_of_pixels(part, pixels, residual, out)
        });
        of.activated(out)
    }

    /// Computes one of the products: sums over input channels for the output channels of a panel and all squares of a band.
    fn product<'a>(
        &self,
        left: &[f32],
        (inputs, offsets): (&[f32], &RowOffsets),
        sums: Unwritten<'a>,
    ) -> Written<'a> {
        let set = self.of.filters.set;
        let rows = sums.rows();
        let columns = TileColumns::whole(sums.columns(), set.lanes(), set.nr());
        write_tiles(&columns, 1, sums, |columns, _, sums| {
            let operands =
                FloatOperands { left, right: &inputs[columns.first..], offsets, next: &[], ahead: 0 };
            let epilogue = FloatEpilogue { bias: Bias::Zero, addend: None, bounds: None };
            let tile = Tile { rows, registers: columns.registers, columns: columns.mask, operands, epilogue };
            tile.run(set, sums)
        })
    }

    /// Writes the output pixels of a channel, with the residual input and the clamp.
    fn rows_of_pixels<'a>(
        &self,
        part: Part,
        pixels: &[f32],
        residual: Option<&[f32]>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (side, wide) = (self.plan.square.side(), self.of.geometry.positions[2]);
        // The bias is part of the pixels. The elements of all rows follow one another.
        let addend = residual.map(|values| Addend { values, stride: 0 });
        let epilogue = FloatEpilogue { bias: Bias::Zero, addend, bounds: self.bounds };
        out.write(|out| {
            with_isa!(self.of.filters.set, isa => {
                let mut writer = SliceWriter::new(out);
                let mut row = 0;
                while writer.missing() > 0 {
                    let first = row % side * side * part.squares + row / side * side * part.wide;
                    finish(isa, &pixels[first..][..wide], &epilogue, &mut writer);
                    row += 1;
                }
                writer.finish()
            })
        })
    }
}

/// Writes a row of pixels after those that are written, with the epilogue of a tile of one row.
#[inline(always)]
fn finish<I: Isa>(isa: I, pixels: &[f32], epilogue: &FloatEpilogue<'_>, out: &mut SliceWriter<'_, f32>) {
    for pixels in pixels.chunks(I::LANES) {
        let at = TilePosition { row: 0, lane: 0, column: out.len() };
        let value = isa.load_first(pixels, isa.splat(0.0));
        let value = epilogue.of_register(isa, value, at, LaneMask::first(pixels.len()));
        out.write(
            pixels.len(),
            #[inline(always)]
            |out| value.write(out),
        );
    }
}
