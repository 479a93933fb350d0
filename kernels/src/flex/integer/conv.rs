//! Convolutions of bytes as matrix products of the weight with bands of the input (a tiled im2col).

use std::ops::Range;

use burn::tensor::TensorData;

use super::band::Input;
use super::filters::Filters;
use super::output_type::OutputType;
use crate::flex::{
    conv::{Band, Channels, Columns, Geometry, Layout, columns},
    gemm::threads,
    memory::{Cuts, Grid, InOrder, Order, Unwritten, Written, overwrite, resize, with_scratch},
    threads::{even_parts, task_for_each},
    tile::{ByteEpilogue, ByteOperands, RowOffsets, Tile},
};

/// Multiplications of bytes in the time of one of floats.
pub const BYTES: usize = 4;

/// A convolution and its operands.
pub struct Convolution<'a> {
    pub geometry: Geometry,
    pub batches: usize,
    pub filters: &'a Filters,
    /// Contiguous.
    pub values: &'a [u8],
    pub zero: u8,
    /// Bits that are flipped in the input ([`DotInstructions::flip`](crate::flex::simd::DotInstructions::flip)).
    pub flip: u32,
    /// Epilogue of all output channels.
    pub epilogue: ByteEpilogue<'a>,
    /// Negated zero points of the weight, for each output channel.
    pub weight_zeros: Option<&'a [i32]>,
}

/// Decisions and tables that all parts of a convolution share.
struct Plan<'a> {
    of: &'a Convolution<'a>,
    layout: Layout,
    bands: Vec<(Band, Vec<Columns>)>,
    /// Number of planes of a band: groups of four channels, or channels.
    planes: usize,
    offsets: RowOffsets,
    /// Number of groups of a part, and of parts of the output channels of a group.
    groups: usize,
    across: usize,
}

impl Convolution<'_> {
    /// Returns `None` if the sizes are too large for the offsets of tiles.
    pub fn run(mut self, output: OutputType, shape: Vec<usize>) -> Option<TensorData> {
        if let Some(y) = self.by_channels(output, &shape) {
            return Some(y);
        }
        if self.geometry.is_pointwise() {
            self.geometry = self.geometry.flat();
        }
        let filters = self.filters;
        let dot = filters.dot;
        let groups = filters.groups.len();
        let outputs = filters.groups.first()?.rows;
        let positions: usize = self.geometry.positions.iter().product();
        let count = self.batches * groups * outputs * positions;
        let threads = threads(count.saturating_mul(filters.terms) / BYTES);
        let parts = even_parts(threads);
        let along = parts.div_ceil(self.batches * groups * self.geometry.positions[0]);
        // Few output pixels are divided among few threads. Output channels are divided then as well.
        let plane = positions / self.geometry.positions[0];
        let along = along.min(plane / (4 * dot.columns())).max(1);
        let (planes, geometry) = filters.grouping.grouped(filters.channels, self.geometry);
        let layout = Layout::new(geometry, planes, along);
        let offsets = layout.offsets(planes)?;
        let bands = layout.bands().into_iter().map(|band| {
            let most = if filters.groups[0].panel == 1 { 4 } else { 2 };
            let lanes = (dot.lanes(), most);
            let columns = columns(band.rows.len(), band.columns.len(), layout.width, lanes);
            (band, columns)
        });
        let bands: Vec<_> = bands.collect();
        // Some parts more than threads, so that no thread waits.
        let at_once = (self.batches * groups * bands.len()).div_ceil(4 * threads);
        let at_once = if threads == 1 {
            groups
        } else {
            at_once.clamp(1, groups)
        };
        let units = self.batches * groups.div_ceil(at_once) * bands.len();
        // Each part of the output channels copies its own band: no more parts than threads.
        let across = threads.div_ceil(units);
        let across = across.min(outputs.div_ceil(filters.groups[0].panel));
        let plan = Plan {
            of: &self,
            layout,
            bands,
            planes,
            offsets,
            groups: at_once,
            across,
        };
        Some(output.filled(shape, |out| plan.run(positions, threads, out)))
    }
}

impl Plan<'_> {
    fn run<'a>(&self, positions: usize, threads: usize, out: Unwritten<'a, u8>) -> Written<'a, u8> {
        let (of, filters) = (self.of, self.of.filters);
        let size = of.epilogue.conversion.size();
        let channels = Channels {
            batches: of.batches,
            groups: filters.groups.len(),
            outputs: filters.groups[0].rows,
            panel: filters.groups[0].panel,
            together: self.groups,
            across: self.across,
        };
        let ends = self
            .bands
            .iter()
            .map(|(band, _)| (band.first(&of.geometry) + band.len()) * size);
        let ends: Vec<usize> = ends.collect();
        let grid = Grid {
            rows: channels.cuts(),
            columns: Cuts::Ends(&ends),
            order: Order::RowMajor,
        };
        let tasks = task_for_each(threads);
        let out = out.reshaped(channels.count(), positions * size);
        out.side_by_side(grid, tasks, |index, spot, out| {
            self.part(spot.rows, &self.bands[index % self.bands.len()], out)
        })
    }

    /// Writes output channels over a band: those of some groups, or some of one group.
    fn part<'a>(
        &self,
        rows: Range<usize>,
        (band, columns): &(Band, Vec<Columns>),
        out: Unwritten<'a, u8>,
    ) -> Written<'a, u8> {
        let filters = self.of.filters;
        let outputs = filters.groups[0].rows;
        let size = filters.channels * self.of.geometry.sizes.iter().product::<usize>();
        let length = self.layout.length(self.planes);
        // Vector loads read past the last pixel.
        let behind = 4 * filters.dot.lanes();
        let mut line = Vec::new();
        let mut sums = Vec::new();
        with_scratch(length + behind, |copy| {
            let copy: &mut [u32] = bytemuck::cast_slice_mut(copy);
            out.in_rows(outputs, |at, out| {
                let first = rows.start + at;
                let input = Input {
                    values: &self.of.values[first / outputs * size..][..size],
                    channels: filters.channels,
                    zero: self.of.zero,
                    flip: self.of.flip,
                };
                let grouping = filters.grouping;
                grouping.copy(filters.dot, &self.layout, input, band, copy, &mut line);
                if self.of.weight_zeros.is_some() {
                    self.sum(copy, columns, &mut sums);
                }
                self.tiles(copy, columns, first, &sums, out)
            })
        })
    }

    /// Sums of the input of each output pixel.
    fn sum(&self, seen: &[u32], columns: &[Columns], sums: &mut Vec<i32>) {
        let dot = self.of.filters.dot;
        let last = columns.last();
        sums.clear();
        let length = last.map_or(0, |last| last.first + last.registers * dot.lanes());
        resize(sums, length, 0);
        for columns in columns {
            let width = columns.registers * dot.lanes();
            let tile = Tile {
                rows: 1,
                registers: columns.registers,
                columns: u128::MAX >> (128 - width),
                operands: self.operands(self.of.filters.ones.rows(0..1), seen, columns),
                epilogue: ByteEpilogue::default(),
            };
            overwrite(&mut sums[columns.first..][..width], |out| {
                tile.run(dot, out.bytes()).elements()
            });
        }
    }

    /// Writes output channels of one group over a band, from the output row `first` on.
    fn tiles<'a>(
        &self,
        copy: &[u32],
        all: &[Columns],
        first: usize,
        sums: &[i32],
        out: Unwritten<'a, u8>,
    ) -> Written<'a, u8> {
        let filters = self.of.filters;
        let outputs = filters.groups[0].rows;
        let group = first / outputs % filters.groups.len();
        let left = &filters.groups[group];
        let mut epilogue = self.of.epilogue;
        epilogue.products = self.of.weight_zeros.map(|zeros| [zeros, sums]);
        let size = epilogue.conversion.size();
        out.in_rows(left.panel, |at, out| {
            let output = first % outputs + at;
            let rows = left.rows(output..output + out.rows());
            let count = out.rows();
            let mut pixels = InOrder::columns(out);
            for columns in all.iter().filter(|columns| columns.mask != 0) {
                let tile = Tile {
                    rows: count,
                    registers: columns.registers,
                    columns: columns.mask,
                    operands: self.operands(rows, copy, columns),
                    epilogue: epilogue.from(group * outputs + output, columns.first),
                };
                let width = columns.mask.count_ones() as usize;
                pixels.write(width * size, |out| tile.run(filters.dot, out));
            }
            pixels.finish()
        })
    }

    /// The operands of a tile over a copied band.
    fn operands<'a>(
        &'a self,
        left: &'a [u32],
        band: &'a [u32],
        columns: &Columns,
    ) -> ByteOperands<'a> {
        ByteOperands {
            left,
            right: &band[columns.first..],
            offsets: &self.offsets,
            ahead: 0,
        }
    }
}
