//! Convolutions as products of the weight with what bands of positions see.

use std::ops::Range;

use super::band::{Band, Input, Layout};
use super::columns::{Columns, columns};
use super::filters::Filters;
use super::geometry::Geometry;
use super::panels::{Panel, is_fast, panels};
use crate::flex::{
    elementary::activate,
    gemm::{Bounds, LINE, Place, Start, Steps, Tile, threads},
    memory::{Buffer, Output, Target, repeated, with_scratch},
    threads::{self, even_parts, side_by_side},
    window::bands as shares_of,
};
use crate::spec::epilogue::Activation;

/// Panels of outputs for which what positions see is read where it lies.
const FEW: usize = 4;

/// The same where what a position sees is in more than so many pages.
const FAR: usize = 2;
const PAGES: usize = 128;

/// The same where windows have several taps.
const FEW_OF_WINDOWS: usize = 8;

/// Numbers in a page of memory.
const PAGE: usize = 1 << 10;

/// Numbers in the panels that tiles read one after another.
const PANELS: usize = 160 << 10;

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
    bands: Vec<(Band, Seen)>,
    steps: Steps,
    /// Of panels.
    panel: Steps,
    /// Whether bands are read from the input itself.
    there: bool,
    /// How many groups are copied at once.
    together: usize,
    /// Into how many parts the outputs of a group are divided.
    across: usize,
    bounds: Option<Bounds>,
}

/// How tiles read what the positions of a band see.
enum Seen {
    Lying(Vec<Columns>),
    Panels(Vec<Panel>),
}

impl Convolution<'_> {
    /// `None` where the sizes are too large for the steps of tiles.
    pub fn run(mut self) -> Option<Buffer> {
        let [channel, depth, row, column] = [1, 2, 3, 4].map(|axis| self.steps[axis]);
        let [_, high, wide] = self.geometry.sizes;
        let dense = |step: usize, size: usize, of: usize| size == 1 || step == of;
        let flat = dense(column, wide, 1)
            && dense(row, high, wide)
            && dense(depth, self.geometry.sizes[0], high * wide);
        // Nothing is copied of what single places see but what panels take.
        let there = self.geometry.is_pointwise() && flat;
        if there {
            self.geometry = self.geometry.flat();
            self.steps = [self.steps[0], channel, 0, 0, 1];
        }
        if let Some(y) = self.by_blocks().or_else(|| self.by_channels()) {
            return Some(y);
        }
        let filters = self.filters;
        let positions: usize = self.geometry.positions.iter().product();
        let count = self.batches * filters.groups * filters.outputs * positions;
        let threads = threads(count * filters.inner);
        let units = self.batches * filters.groups * self.geometry.positions[0];
        let parts = even_parts(threads);
        // Few positions are shared by few threads, which then share the outputs.
        let plane = positions / self.geometry.positions[0];
        let along = shares_of(filters.set, plane, parts.div_ceil(units));
        let channels = filters.inner / self.geometry.taps();
        let mut layout = Layout::new(self.geometry, if there { 1 } else { channels }, along);
        if there {
            layout.band[1] = layout.band[1].next_multiple_of(filters.set.columns());
        }
        let by_panels = if there {
            let far = channels * channel.min(PAGE) > PAGES * PAGE;
            filters.outputs > if far { FAR } else { FEW } * filters.set.rows()
        } else {
            is_fast(filters.set) && filters.outputs > FEW_OF_WINDOWS * filters.set.rows()
        };
        let bands = layout.bands();
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
        // Each part of the outputs copies for itself what positions see: no more of them than threads.
        let across = threads.div_ceil(units);
        let across = across.min(filters.outputs.div_ceil(filters.panel));
        let seen = |band: &Band| {
            let (high, wide) = (band.rows.len(), band.columns.len());
            let step = if there { wide } else { layout.width };
            if by_panels {
                return Seen::Panels(panels(filters.set, high, wide, step));
            }
            let most = if filters.panel == 1 { 4 } else { 2 };
            Seen::Lying(columns(high, wide, step, (filters.set.lanes(), most)))
        };
        let bands = bands.into_iter().map(|band| {
            let seen = seen(&band);
            (band, seen)
        });
        let plan = Plan {
            bounds: Bounds::of(self.activation),
            of: &self,
            bands: bands.collect(),
            layout,
            steps,
            panel: if by_panels {
                Steps::of_panel(filters.inner, filters.set.columns())
            } else {
                Steps::default()
            },
            there,
            together,
            across,
        };
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
        let (band, seen) = &self.bands[unit % self.bands.len()];
        let groups = of.filters.groups;
        let shares = groups.div_ceil(self.together);
        let batch = unit / self.bands.len() / shares;
        let group = unit / self.bands.len() % shares * self.together;
        let group = group..groups.min(group + self.together);
        let channels = of.filters.inner / of.geometry.taps();
        let first = batch * of.steps[0] + group.start * channels * of.steps[1];
        let values = of.values.get(first..).unwrap_or(&[]);
        let Filters { outputs, panel, .. } = *of.filters;
        let panels = threads::part(outputs.div_ceil(panel), self.across, part);
        let outputs = panels.start * panel..outputs.min(panels.end * panel);
        let numbers = batch * groups + group.start..batch * groups + group.end;
        let [_, depth, row, column] = [1, 2, 3, 4].map(|axis| of.steps[axis]);
        let panels = self.room(seen);
        if self.there {
            let place = (numbers.start, outputs);
            let values = &values[band.columns.start..];
            return with_scratch(panels, |panels| {
                self.tiles(values, (band, seen), place, panels, out);
            });
        }
        let input = Input {
            values,
            steps: [of.steps[1], depth, row, column],
            channels: group.len() * channels,
        };
        let length = self.layout.length(channels);
        // Registers read on behind the last position.
        let behind = 4 * of.filters.set.lanes().max(16);
        let copied = (group.len() * length + behind).next_multiple_of(LINE);
        with_scratch(copied + panels, |copy| {
            let (copy, panels) = copy.split_at_mut(copied);
            self.layout.copy(of.filters.set, input, band, copy);
            for (at, number) in numbers.enumerate() {
                let place = (number, outputs.clone());
                self.tiles(&copy[at * length..], (band, seen), place, panels, out);
            }
        });
    }

    /// Numbers that the panels of a band take which are there at once.
    fn room(&self, seen: &Seen) -> usize {
        let Seen::Panels(panels) = seen else {
            return 0;
        };
        let set = self.of.filters.set;
        let length = self.of.filters.inner * set.columns();
        panels.len().min(PANELS / length.max(1)).max(1) * length + set.lanes()
    }

    /// All tiles of a band for the outputs of the group with a number.
    fn tiles(
        &self,
        values: &[f32],
        (band, seen): (&Band, &Seen),
        (group, outputs): (usize, Range<usize>),
        room: &mut [f32],
        out: Target,
    ) {
        let rows = self.of.filters.panels(outputs);
        let rows = rows.map(|rows| Rows::new(self, band, group, rows));
        match seen {
            Seen::Lying(columns) => {
                for rows in rows {
                    self.lying(&rows, values, columns, out);
                    self.activate(&rows, 0..band.rows.len() * band.columns.len(), out);
                }
            }
            Seen::Panels(panels) => {
                let rows: Vec<Rows<'_>> = rows.collect();
                let length = self.of.filters.inner * self.of.filters.set.columns();
                for panels in panels.chunks((room.len() / length).max(1)) {
                    self.by_panels(&rows, values, panels, room, out);
                }
            }
        }
    }

    /// The tiles of some rows that read what positions see where it lies.
    fn lying(&self, rows: &Rows<'_>, values: &[f32], columns: &[Columns], out: Target) {
        for (at, columns) in columns.iter().enumerate() {
            let right = &values[columns.first..];
            let width = columns.registers * self.of.filters.set.lanes();
            let copy;
            let (right, steps) = if right.len() >= self.steps.furthest() + width {
                (right, &self.steps)
            } else {
                copy = self.last(right, columns);
                (&copy.0[..], &copy.1)
            };
            self.tile(rows, at == 0, (right, steps), columns, out);
        }
    }

    /// The tiles of all rows over panels, which are copied first.
    fn by_panels(
        &self,
        all: &[Rows<'_>],
        values: &[f32],
        panels: &[Panel],
        room: &mut [f32],
        out: Target,
    ) {
        let set = self.of.filters.set;
        let length = self.of.filters.inner * set.columns();
        for (at, panel) in panels.iter().enumerate() {
            panel.copy(set, values, &self.steps.offsets, &mut room[at * length..]);
        }
        let end = panels.last().map_or(0, |panel| panel.at + panel.count);
        for rows in all {
            for (at, panel) in panels.iter().enumerate() {
                for columns in panel.tiles(set) {
                    let right = (&room[at * length + columns.first..], &self.panel);
                    self.tile(rows, at == 0, right, &columns, out);
                }
            }
            self.activate(rows, panels[0].at..end, out);
        }
    }

    /// A tile, and whether it is the first one of its rows.
    fn tile(
        &self,
        rows: &Rows<'_>,
        is_first: bool,
        (right, steps): (&[f32], &Steps),
        columns: &Columns,
        out: Target,
    ) {
        let tile = Tile {
            set: self.of.filters.set,
            left: rows.left,
            rows: rows.count,
            right,
            steps,
            registers: columns.registers,
            columns: columns.mask,
            start: rows.start,
            bounds: self.bounds,
            next: if is_first { rows.next } else { &[] },
        };
        let at = rows.first + columns.at;
        let place = Place {
            first: out.at(at),
            room: out.length() - at,
            step: rows.step,
            sum: self.of.sum.map(|sum| sum[at..].as_ptr()),
        };
        assert!(self.of.sum.is_none_or(|sum| sum.len() >= out.length()));
        // SAFETY: the place is inside of the target, of which each part of the plan writes its own
        // outputs and positions, and so is the sum, which nobody writes.
        unsafe {
            if tile.is_narrow() {
                tile.run_few(place);
            } else {
                tile.run(place);
            }
        }
    }

    /// Ends results that are no bounds' of tiles, at some positions of a band.
    fn activate(&self, rows: &Rows<'_>, positions: Range<usize>, out: Target) {
        if self.bounds.is_some() || self.of.activation == Activation::Identity {
            return;
        }
        for row in 0..rows.count {
            let at = rows.first + row * rows.step + positions.start;
            // SAFETY: this part of the plan has written them, and no other one reads them.
            let written = unsafe { out.written(at, positions.len()) };
            activate(written, self.of.activation);
        }
    }

    /// Columns behind which there is no more memory for a whole register, copied.
    fn last(&self, seen: &[f32], columns: &Columns) -> (Vec<f32>, Steps) {
        let width = columns.registers * self.of.filters.set.lanes();
        let there = columns.mask.count_ones() as usize;
        let (channels, step) = (self.of.filters.inner, self.of.steps[1]);
        let mut copy = repeated(channels * width, 0.0);
        for (channel, out) in copy.chunks_exact_mut(width).enumerate() {
            out[..there].copy_from_slice(&seen[channel * step..][..there]);
        }
        (copy, Steps::of_panel(channels, width))
    }
}

/// Outputs of a group that tiles compute together, over the positions of a band.
struct Rows<'a> {
    left: &'a [f32],
    count: usize,
    start: Start<'a>,
    /// Where the results are: the first one of the band, and from one output to the next.
    first: usize,
    step: usize,
    /// The weights that are read next.
    next: &'a [f32],
}

impl<'a> Rows<'a> {
    fn new(plan: &Plan<'a>, band: &Band, number: usize, rows: Range<usize>) -> Self {
        let (of, filters) = (plan.of, plan.of.filters);
        let [_, high, wide] = of.geometry.positions;
        let positions: usize = of.geometry.positions.iter().product();
        let begin = (band.depth * high + band.rows.start) * wide + band.columns.start;
        let output = number * filters.outputs + rows.start;
        let group = number % filters.groups;
        Self {
            left: filters.from(group, rows.start),
            count: rows.len(),
            start: match of.bias {
                Some(bias) => Start::Rows(&bias[output % (filters.groups * filters.outputs)..]),
                None => Start::Zero,
            },
            first: output * positions + begin,
            step: positions,
            next: filters.from(group, rows.end),
        }
    }
}
