//! Convolutions as products of the weight with what bands of positions see.

use std::ops::Range;

use super::band::{Band, Input, Layout};
use super::filters::Filters;
use super::geometry::Geometry;
use crate::flex::{
    elementary::activate,
    gemm::{Bounds, Place, Start, Steps, Tile, threads},
    memory::{Output, Target, side_by_side, with_scratch},
};
use crate::product::epilogue::Activation;

/// Panels of outputs for which the input of a pointwise convolution is read where it lies.
const FEW: usize = 4;

/// Numbers that the copy of several groups has at most.
const TOGETHER: usize = 4 << 10;

/// A convolution with everything that it reads.
pub struct Convolution<'a> {
    pub geometry: Geometry,
    pub batches: usize,
    pub filters: &'a Filters,
    pub values: &'a [f32],
    /// From one element of the batch, channel, depth, row and column to the next.
    pub steps: [usize; 5],
    pub bias: Option<&'a [f32]>,
    /// Laid out as the result.
    pub sum: Option<&'a [f32]>,
    pub activation: Activation,
}

/// What all parts of a convolution share.
struct Plan<'a> {
    of: &'a Convolution<'a>,
    layout: Layout,
    bands: Vec<(Band, Vec<Columns>)>,
    steps: Steps,
    /// Whether bands are read from the input itself.
    there: bool,
    /// How many groups are copied at once.
    together: usize,
    /// How many outputs of a group are computed at once.
    outputs: usize,
    bounds: Option<Bounds>,
}

/// Columns of a band that a tile computes.
pub struct Columns {
    pub first: usize,
    pub registers: usize,
    pub mask: u128,
    /// Where they are in the output.
    pub at: usize,
}

impl Convolution<'_> {
    /// `None` where the sizes are too large for the steps of tiles.
    pub fn run(mut self) -> Option<Vec<f32>> {
        let [channel, depth, row, column] = [1, 2, 3, 4].map(|axis| self.steps[axis]);
        let [_, high, wide] = self.geometry.sizes;
        let dense = |step: usize, size: usize, of: usize| size == 1 || step == of;
        let flat = dense(column, wide, 1)
            && dense(row, high, wide)
            && dense(depth, self.geometry.sizes[0], high * wide);
        let pointwise = self.geometry.is_pointwise() && flat;
        if pointwise {
            self.geometry = self.geometry.flat();
            self.steps = [self.steps[0], channel, 0, 0, 1];
        }
        if let Some(y) = self.by_channels() {
            return Some(y);
        }
        let filters = self.filters;
        let positions: usize = self.geometry.positions.iter().product();
        let count = self.batches * filters.groups * filters.outputs * positions;
        let threads = threads(count * filters.inner);
        let units = self.batches * filters.groups * self.geometry.positions[0];
        let parts = threads.div_ceil(units);
        // Few positions are shared by few threads, which then share the outputs.
        let plane = positions / self.geometry.positions[0];
        let parts = parts.min(plane / (4 * filters.set.columns())).max(1);
        let channels = filters.inner / self.geometry.taps();
        let layout = Layout::new(self.geometry, channels, parts);
        let bands = layout.bands();
        let there = pointwise && filters.outputs <= FEW * filters.set.rows();
        let steps = if there {
            Steps::even(channels, channel)?
        } else {
            layout.steps(channels)?
        };
        // Groups of few channels share what it costs to begin.
        let together = if there {
            1
        } else {
            let most = self.batches * filters.groups * bands.len() / (2 * threads);
            let fit = TOGETHER / layout.length(channels).max(1);
            fit.min(most).clamp(1, filters.groups)
        };
        let units = self.batches * filters.groups.div_ceil(together) * bands.len();
        let outputs = filters
            .outputs
            .div_ceil(threads.div_ceil(units))
            .next_multiple_of(filters.panel);
        let columns = |band: &Band| {
            let wide = band.columns.len();
            let step = if there { wide } else { layout.width };
            let most = if filters.panel == 1 { 4 } else { 2 };
            columns(band.rows.len(), wide, step, (filters.set.lanes(), most))
        };
        let bands = bands.into_iter().map(|band| {
            let columns = columns(&band);
            (band, columns)
        });
        let plan = Plan {
            bounds: Bounds::of(self.activation),
            of: &self,
            bands: bands.collect(),
            layout,
            steps,
            there,
            together,
            outputs,
        };
        let across = filters.outputs.div_ceil(outputs);
        Some(Output::filled(count, |out| {
            let run = |unit: usize| plan.part(unit / across, unit % across, out);
            if threads == 1 {
                (0..units * across).for_each(run);
            } else {
                side_by_side(units * across, run);
            }
        }))
    }
}

impl Plan<'_> {
    /// A band of some groups of an element of the batch, and a part of their outputs.
    fn part(&self, unit: usize, part: usize, out: Target) {
        let of = self.of;
        let (band, columns) = &self.bands[unit % self.bands.len()];
        let groups = of.filters.groups;
        let shares = groups.div_ceil(self.together);
        let batch = unit / self.bands.len() / shares;
        let group = unit / self.bands.len() % shares * self.together;
        let group = group..groups.min(group + self.together);
        let channels = of.filters.inner / of.geometry.taps();
        let first = batch * of.steps[0] + group.start * channels * of.steps[1];
        let values = of.values.get(first..).unwrap_or(&[]);
        let first = part * self.outputs;
        let outputs = first..of.filters.outputs.min(first + self.outputs);
        let numbers = batch * groups + group.start..batch * groups + group.end;
        let [_, depth, row, column] = [1, 2, 3, 4].map(|axis| of.steps[axis]);
        if self.there {
            let place = (numbers.start, outputs);
            return self.tiles(&values[band.columns.start..], band, columns, place, out);
        }
        let input = Input {
            values,
            steps: [of.steps[1], depth, row, column],
            channels: group.len() * channels,
        };
        let length = self.layout.length(channels);
        // Registers read on behind the last position.
        let behind = 4 * of.filters.set.lanes().max(16);
        with_scratch(group.len() * length + behind, |copy| {
            self.layout.copy(of.filters.set, input, band, copy);
            for (at, number) in numbers.enumerate() {
                let place = (number, outputs.clone());
                self.tiles(&copy[at * length..], band, columns, place, out);
            }
        });
    }

    /// All tiles of a band for the outputs of the group with a number.
    fn tiles(
        &self,
        seen: &[f32],
        band: &Band,
        columns: &[Columns],
        place: (usize, Range<usize>),
        out: Target,
    ) {
        let (group, outputs) = place;
        let filters = self.of.filters;
        let [_, high, wide] = self.of.geometry.positions;
        let positions: usize = self.of.geometry.positions.iter().product();
        let begin = (band.depth * high + band.rows.start) * wide + band.columns.start;
        let count = band.rows.len() * band.columns.len();
        for rows in filters.panels(outputs) {
            let left = filters.rows(group % filters.groups, rows.clone());
            let mut next = Some(filters.behind(group % filters.groups, rows.end));
            let output = group * filters.outputs + rows.start;
            let start = match self.of.bias {
                Some(bias) => Start::Rows(&bias[output % (filters.groups * filters.outputs)..]),
                None => Start::Zero,
            };
            for columns in columns {
                let at = output * positions + begin + columns.at;
                let right = &seen[columns.first..];
                let width = columns.registers * filters.set.lanes();
                let copy;
                let (right, steps) = if right.len() >= self.steps.furthest() + width {
                    (right, &self.steps)
                } else {
                    copy = self.last(right, columns);
                    (&copy.0[..], &copy.1)
                };
                let tile = Tile {
                    set: filters.set,
                    left,
                    rows: rows.len(),
                    right,
                    steps,
                    registers: columns.registers,
                    columns: columns.mask,
                    start,
                    bounds: self.bounds,
                    next: next.take().unwrap_or(&[]),
                };
                let place = Place {
                    first: out.at(at),
                    room: out.length() - at,
                    step: positions,
                    sum: self.of.sum.map(|sum| sum[at..].as_ptr()),
                };
                assert!(self.of.sum.is_none_or(|sum| sum.len() >= out.length()));
                // SAFETY: the place is inside of the target, of which each part of the plan writes its own
                // outputs and positions, and so is the sum, which nobody writes.
                unsafe { tile.run(place) };
            }
            if self.bounds.is_none() && self.of.activation != Activation::Identity {
                for row in 0..rows.len() {
                    let at = (output + row) * positions + begin;
                    // SAFETY: this part of the plan has written them, and no other one reads them.
                    activate(unsafe { out.written(at, count) }, self.of.activation);
                }
            }
        }
    }

    /// Columns behind which there is no more memory for a whole register, copied.
    fn last(&self, seen: &[f32], columns: &Columns) -> (Vec<f32>, Steps) {
        let width = columns.registers * self.of.filters.set.lanes();
        let there = columns.mask.count_ones() as usize;
        let (channels, step) = (self.of.filters.inner, self.of.steps[1]);
        let mut copy = vec![0.0; channels * width];
        for (channel, out) in copy.chunks_exact_mut(width).enumerate() {
            out[..there].copy_from_slice(&seen[channel * step..][..there]);
        }
        (copy, Steps::of_panel(channels, width))
    }
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
