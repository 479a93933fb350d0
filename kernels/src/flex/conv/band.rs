//! The part of an input that some rows of positions see, copied with its padding.
//!
//! Places that are as far from each other as positions are lie side by side in the copy: every tap
//! sees its part of a row as one run of numbers, whatever the stride. A row of the copy is as long as a
//! row of positions and what the last tap sees behind it; so positions, counted along rows of the
//! copy, are steps of 1, with a few between two rows that are not there.

use std::ops::Range;

use super::geometry::{Axis, Geometry};
use super::lines::Lines;
use crate::flex::{memory::Cuts, simd::InstructionSet, tile::RowOffsets};

/// How the copy is laid out.
pub struct Layout {
    pub geometry: Geometry,
    pub rows: Axis,
    pub columns: Axis,
    /// The sizes of the copy of one phase.
    pub height: usize,
    pub width: usize,
    /// From one channel to the next.
    channel: usize,
    /// How many positions a band has along rows and columns.
    pub band: [usize; 2],
}

/// Positions in one slice of the depth.
#[derive(Clone, Debug)]
pub struct Band {
    pub depth: usize,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

impl Band {
    /// Number of output pixels, which are contiguous.
    pub fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// Index of the first output pixel.
    pub fn first(&self, geometry: &Geometry) -> usize {
        let [_, high, wide] = geometry.positions;
        (self.depth * high + self.rows.start) * wide + self.columns.start
    }
}

/// The output channels that parts of a convolution compute: `together` groups of an element of the batch, or one of `across` parts
/// of the panels of one group.
#[derive(Clone, Copy)]
pub struct Channels {
    pub batches: usize,
    pub groups: usize,
    /// Number of channels of a group, and of a panel.
    pub outputs: usize,
    pub panel: usize,
    pub together: usize,
    pub across: usize,
}

impl Channels {
    /// Number of all channels, those of each element of the batch counted.
    pub fn count(&self) -> usize {
        self.batches * self.groups * self.outputs
    }

    /// Division of the output channels into parts.
    pub fn cuts(&self) -> Cuts<'static> {
        if self.across == 1 {
            return Cuts::Every {
                groups: self.batches,
                size: self.groups * self.outputs,
                step: self.together * self.outputs,
            };
        }
        Cuts::Split {
            groups: self.batches * self.groups,
            size: self.outputs,
            unit: self.panel,
            parts: self.across,
        }
    }
}

/// The input of a group of channels, and its steps along channels, depth, rows and columns.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub values: &'a [f32],
    pub steps: [usize; 4],
    pub channels: usize,
}

/// Numbers that a copy has at most, where one row of positions has less.
const MOST: usize = 160 << 10;

/// Columns of a band at least, where not all fit.
const LEAST: usize = 128;

impl Layout {
    /// For `parts` bands at least, where there are as many rows or columns.
    pub fn new(geometry: Geometry, channels: usize, parts: usize) -> Self {
        let axis = |axis: usize| {
            Axis::new(
                geometry.kernel[axis],
                geometry.strides[axis],
                geometry.dilations[axis],
            )
        };
        let (rows, columns) = (axis(1), axis(2));
        let planes = geometry.kernel[0] * rows.phases.len() * columns.phases.len();
        let [_, high, wide] = geometry.positions;
        let most = MOST / (channels * planes).max(1);
        let fit = (most / (rows.furthest + 1)).saturating_sub(columns.furthest);
        let by_columns = if wide <= fit.max(LEAST) {
            wide
        } else {
            even(wide, fit.max(LEAST))
        };
        let by_rows = if by_columns < wide {
            1
        } else {
            let fit = (most / (wide + columns.furthest)).saturating_sub(rows.furthest);
            even(high, fit.clamp(1, high))
        };
        // As many for each thread.
        let evenly =
            |size: usize, by: usize| size.div_ceil(size.div_ceil(by).next_multiple_of(parts));
        let bands = high.div_ceil(by_rows) * wide.div_ceil(by_columns);
        let band = if high > 1 && (by_columns == wide || bands < parts) {
            [evenly(high, by_rows), by_columns]
        } else if high == 1 {
            [1, evenly(wide, by_columns)]
        } else {
            [by_rows, by_columns]
        };
        let (height, width) = (band[0] + rows.furthest, band[1] + columns.furthest);
        Self {
            geometry,
            height,
            width,
            channel: planes * height * width,
            rows,
            columns,
            band,
        }
    }

    pub fn bands(&self) -> Vec<Band> {
        let [deep, high, wide] = self.geometry.positions;
        let [by_rows, by_columns] = self.band;
        let mut bands = Vec::new();
        for depth in 0..deep {
            for row in (0..high).step_by(by_rows) {
                for column in (0..wide).step_by(by_columns) {
                    bands.push(Band {
                        depth,
                        rows: row..high.min(row + by_rows),
                        columns: column..wide.min(column + by_columns),
                    });
                }
            }
        }
        bands
    }

    /// How many numbers a copy has.
    pub fn length(&self, channels: usize) -> usize {
        channels * self.channel
    }

    /// Where the taps of all channels see the first position, in the order of the weight.
    pub fn offsets(&self, channels: usize) -> Option<RowOffsets> {
        let plane = self.height * self.width;
        let phases = [self.rows.phases.len(), self.columns.phases.len()];
        let mut offsets = Vec::with_capacity(channels * self.geometry.taps());
        for channel in 0..channels {
            for depth in 0..self.geometry.kernel[0] {
                for (row_phase, down) in &self.rows.taps {
                    for (column_phase, right) in &self.columns.taps {
                        let number = (depth * phases[0] + row_phase) * phases[1] + column_phase;
                        let at = channel * self.channel + number * plane;
                        offsets.push(at + down * self.width + right);
                    }
                }
            }
        }
        RowOffsets::new(offsets.into_iter())
    }

    /// Copies what a band sees; behind the copy there is room for a register.
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
                    let rows = Run::new(g, 1, band.rows.start, height, *row_phase);
                    for column_phase in &self.columns.phases {
                        let start = band.columns.start;
                        let columns = Run::new(g, 2, start, self.width, *column_phase);
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
                        Lines {
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

/// `count` in equal parts of at most `most`.
fn even(count: usize, most: usize) -> usize {
    count.div_ceil(count.div_ceil(most))
}

/// The place without the padding, where there is one.
fn inside(place: usize, before: usize, size: usize) -> Option<usize> {
    place.checked_sub(before).filter(|place| *place < size)
}

/// Which part of a line, or which lines, of the copy come from the input, and from where.
#[derive(Clone, Copy)]
struct Run {
    begin: usize,
    end: usize,
    first: usize,
}

impl Run {
    /// Of the copy along an axis, from a position on.
    fn new(g: &Geometry, axis: usize, start: usize, length: usize, phase: usize) -> Self {
        let (stride, before) = (g.strides[axis], g.before[axis]);
        // The number `at` of the copy is the place `stride * at + shift - before`.
        let shift = start * stride + phase;
        let begin = before.saturating_sub(shift).div_ceil(stride).min(length);
        let end = (g.sizes[axis] + before)
            .saturating_sub(shift)
            .div_ceil(stride);
        Self {
            begin,
            end: end.clamp(begin, length),
            first: (begin * stride + shift).saturating_sub(before),
        }
    }
}
