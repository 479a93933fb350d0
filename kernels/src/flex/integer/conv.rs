//! Convolutions of bytes as products of the weight with what bands of positions see.

use std::ops::Range;

use burn::tensor::TensorData;

use super::band::Input;
use super::filters::Filters;
use super::result::{Result, Target};
use super::tile::{End, Place, Tile};
use crate::flex::{
    conv::{Band, Columns, Geometry, Layout, columns},
    gemm::{Steps, panels, threads},
    memory::{resize, with_scratch},
    threads::{self, even_parts, side_by_side},
};

/// Products of bytes in the time of one of floats.
pub const BYTES: usize = 4;

/// A convolution with everything that it reads.
pub struct Convolution<'a> {
    pub geometry: Geometry,
    pub batches: usize,
    pub filters: &'a Filters,
    /// Dense.
    pub values: &'a [u8],
    pub zero: u8,
    /// The bits that change in them ([`Dot::flip`](super::Dot::flip)).
    pub flip: u32,
    /// What follows the sums of all outputs.
    pub end: End<'a>,
    /// The zero points of the weight of all outputs with their signs changed.
    pub weight_zeros: Option<&'a [i32]>,
}

/// What all parts of a convolution share.
struct Plan<'a> {
    of: &'a Convolution<'a>,
    layout: Layout,
    bands: Vec<(Band, Vec<Columns>)>,
    /// Groups of channels or channels.
    planes: usize,
    steps: Steps,
    /// How many groups one part computes, and into how many parts their outputs are divided.
    groups: usize,
    across: usize,
}

impl Convolution<'_> {
    /// `None` where the sizes are too large for the steps of tiles.
    pub fn run(mut self, result: Result, shape: Vec<usize>) -> Option<TensorData> {
        if let Some(y) = self.by_channels(result, &shape) {
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
        // Few positions are shared by few threads, which then share the outputs.
        let plane = positions / self.geometry.positions[0];
        let along = along.min(plane / (4 * dot.columns())).max(1);
        let (planes, geometry) = filters.grouping.grouped(filters.channels, self.geometry);
        let layout = Layout::new(geometry, planes, along);
        let steps = layout.steps(planes)?;
        let bands = layout.bands().into_iter().map(|band| {
            let most = if filters.groups[0].panel == 1 { 4 } else { 2 };
            let lanes = (dot.lanes(), most);
            let columns = columns(band.rows.len(), band.columns.len(), layout.width, lanes);
            (band, columns)
        });
        let bands: Vec<_> = bands.collect();
        // A part for each thread, and some more, so that none waits.
        let at_once = (self.batches * groups * bands.len()).div_ceil(4 * threads);
        let at_once = if threads == 1 {
            groups
        } else {
            at_once.clamp(1, groups)
        };
        let units = self.batches * groups.div_ceil(at_once) * bands.len();
        // Each part of the outputs copies for itself what positions see: no more of them than threads.
        let across = threads.div_ceil(units);
        let across = across.min(outputs.div_ceil(filters.groups[0].panel));
        let plan = Plan {
            of: &self,
            layout,
            bands,
            planes,
            steps,
            groups: at_once,
            across,
        };
        let run = |out: Target| {
            let run = |unit: usize| plan.part(unit / across, unit % across, out);
            if threads == 1 {
                (0..units * across).for_each(run);
            } else {
                side_by_side(units * across, run);
            }
        };
        Some(result.filled(shape, run))
    }
}

impl Plan<'_> {
    /// A band of some groups of an element of the batch, and a part of their outputs.
    fn part(&self, unit: usize, part: usize, out: Target) {
        let filters = self.of.filters;
        let (band, columns) = &self.bands[unit % self.bands.len()];
        let groups = filters.groups.len();
        let shares = groups.div_ceil(self.groups);
        let batch = unit / self.bands.len() / shares;
        let first = unit / self.bands.len() % shares * self.groups;
        let (outputs, panel) = (filters.groups[0].rows, filters.groups[0].panel);
        let panels = threads::part(outputs.div_ceil(panel), self.across, part);
        let outputs = panels.start * panel..outputs.min(panels.end * panel);
        let size = filters.channels * self.of.geometry.sizes.iter().product::<usize>();
        let length = self.layout.length(self.planes);
        // Registers read on behind the last position.
        let behind = 4 * filters.dot.lanes();
        let mut line = Vec::new();
        let mut sums = Vec::new();
        with_scratch(length + behind, |copy| {
            let copy: &mut [u32] = bytemuck::cast_slice_mut(copy);
            for group in first..groups.min(first + self.groups) {
                let input = Input {
                    values: &self.of.values[(batch * groups + group) * size..][..size],
                    channels: filters.channels,
                    zero: self.of.zero,
                    flip: self.of.flip,
                };
                let grouping = filters.grouping;
                grouping.copy(filters.dot, &self.layout, input, band, copy, &mut line);
                if self.of.weight_zeros.is_some() {
                    self.sum(copy, columns, &mut sums);
                }
                let place = (batch, group, outputs.clone());
                self.tiles(copy, band, columns, place, &sums, out);
            }
        });
    }

    /// The sums of what all columns see.
    fn sum(&self, seen: &[u32], columns: &[Columns], sums: &mut Vec<i32>) {
        let dot = self.of.filters.dot;
        let last = columns.last();
        sums.clear();
        let length = last.map_or(0, |last| last.first + last.registers * dot.lanes());
        resize(sums, length, 0);
        for columns in columns {
            let width = columns.registers * dot.lanes();
            let tile = Tile {
                dot,
                left: self.of.filters.ones.rows(0..1),
                rows: 1,
                right: &seen[columns.first..],
                steps: &self.steps,
                ahead: 0,
                registers: columns.registers,
                columns: u128::MAX >> (128 - width),
            };
            let out = &mut sums[columns.first..][..width];
            let place = Place {
                first: out.as_mut_ptr().cast(),
                room: width,
                step: width,
            };
            // SAFETY: the place is that of sums, which nobody else writes.
            unsafe { tile.run(End::default(), place) };
        }
    }

    /// All tiles of a band for some outputs of a group of an element of the batch.
    fn tiles(
        &self,
        seen: &[u32],
        band: &Band,
        all: &[Columns],
        (batch, group, outputs): (usize, usize, Range<usize>),
        sums: &[i32],
        out: Target,
    ) {
        let filters = self.of.filters;
        let left = &filters.groups[group];
        let [_, high, wide] = self.of.geometry.positions;
        let positions: usize = self.of.geometry.positions.iter().product();
        let begin = (band.depth * high + band.rows.start) * wide + band.columns.start;
        let mut end = self.of.end;
        end.products = self.of.weight_zeros.map(|zeros| [zeros, sums]);
        let skipped = outputs.start / left.panel;
        for rows in panels(outputs.end, left.panel).skip(skipped) {
            let output = group * left.rows + rows.start;
            let first = batch * filters.groups.len() * left.rows + output;
            for columns in all {
                let tile = Tile {
                    dot: filters.dot,
                    left: left.rows(rows.clone()),
                    rows: rows.len(),
                    right: &seen[columns.first..],
                    steps: &self.steps,
                    ahead: 0,
                    registers: columns.registers,
                    columns: columns.mask,
                };
                let place = out.place(first * positions + begin + columns.at, positions);
                // SAFETY: the place is inside of the target, of which each part of the plan writes its own
                // outputs and positions.
                unsafe { tile.run(end.from(output, columns.first), place) };
            }
        }
    }
}
