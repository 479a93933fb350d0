//! 8-bit convolutions: products of the weight and input bands.

use std::ops::Range;

use burn::tensor::TensorData;

use super::band::Input;
use super::filters::Filters;
use super::output_type::OutputType;
use crate::flex::{
    conv::{Geometry, write_tiles},
    memory::{Unwritten, Written, overwrite, resize, with_scratch},
    plan::{BandPlan, ConvSizes, Machine, TileColumns},
    tile::{ByteEpilogue, ByteOperands, RowOffsets, Tile},
};

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

/// Tables that all parts of a convolution share.
struct Run<'a> {
    of: &'a Convolution<'a>,
    plan: BandPlan,
    /// Columns of the tiles of each band.
    columns: Vec<Vec<TileColumns>>,
    /// Number of planes of a band: groups of four channels, or channels.
    planes: usize,
    /// Offsets of the taps in a band.
    offsets: RowOffsets,
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
        let first = filters.groups.first()?;
        let sizes = ConvSizes {
            geometry: self.geometry,
            batches: self.batches,
            groups: filters.groups.len(),
            inputs: filters.channels,
            outputs: first.rows,
            panel_rows: first.panel_rows,
        };
        let machine = Machine::of_bytes(filters.dot);
        let (planes, copied) = filters.grouping.grouped(filters.channels, self.geometry);
        let plan = BandPlan::of_bytes(sizes, planes, copied, &machine);
        let run = Run {
            of: &self,
            columns: plan.bands.iter().map(|band| plan.columns(band)).collect(),
            planes,
            offsets: plan.layout.offsets(planes)?,
            plan,
        };
        Some(output.filled(shape, |out| {
            let size = self.epilogue.conversion.size();
            run.plan.write(out, size, |rows, band, out| run.part(rows, band, out))
        }))
    }
}

impl Run<'_> {
    /// Writes output channels over a band: those of some groups, or some of one group.
    fn part<'a>(&self, rows: Range<usize>, band: usize, out: Unwritten<'a, u8>) -> Written<'a, u8> {
        let (filters, layout) = (self.of.filters, &self.plan.layout);
        let (band, columns) = (&self.plan.bands[band], &self.columns[band]);
        let outputs = filters.groups[0].rows;
        let size = filters.channels * self.of.geometry.sizes.iter().product::<usize>();
        let length = layout.length(self.planes);
        // Vector loads read past the last pixel.
        let after = 4 * filters.dot.lanes();
        let mut line = Vec::new();
        let mut sums = Vec::new();
        with_scratch(length + after, |copy| {
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
                grouping.copy(filters.dot, layout, input, band, copy, &mut line);
                if self.of.weight_zeros.is_some() {
                    self.sum(copy, columns, &mut sums);
                }
                self.tiles(copy, columns, first, &sums, out)
            })
        })
    }

    /// Sums of the input of each output pixel.
    fn sum(&self, seen: &[u32], columns: &[TileColumns], sums: &mut Vec<i32>) {
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
            overwrite(&mut sums[columns.first..][..width], |out| tile.run(dot, out.bytes()).elements());
        }
    }

    /// Writes output channels of one group over a band, from the output row `first` on.
    fn tiles<'a>(
        &self,
        copy: &[u32],
        columns: &[TileColumns],
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
        out.in_rows(left.panel_rows, |at, out| {
            let output = first % outputs + at;
            let rows = left.rows(output..output + out.rows());
            let count = out.rows();
            write_tiles(columns, size, out, |columns, _, out| {
                let tile = Tile {
                    rows: count,
                    registers: columns.registers,
                    columns: columns.mask,
                    operands: self.operands(rows, copy, columns),
                    epilogue: epilogue.from(group * outputs + output, columns.first),
                };
                tile.run(filters.dot, out)
            })
        })
    }

    /// The operands of a tile over a copied band.
    fn operands<'a>(&'a self, left: &'a [u32], band: &'a [u32], columns: &TileColumns) -> ByteOperands<'a> {
        ByteOperands { left, right: &band[columns.first..], offsets: &self.offsets, ahead: 0 }
    }
}
