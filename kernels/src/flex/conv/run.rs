//! Convolutions as matrix products of the weight with bands of the input (a tiled im2col).

use std::ops::Range;

use super::band::{Band, Channels, Input, Layout};
use super::columns::{Columns, columns};
use super::filters::Filters;
use super::geometry::Geometry;
use super::panels::{Panel, first_tile, is_fast, panels};
use super::rows::Rows;
use crate::flex::{
    elementary::activate,
    gemm::threads,
    memory::{Buffer, Cuts, Grid, InOrder, Order, Unwritten, Written, repeated, with_scratch},
    threads::{even_parts, task_for_each},
    tile::{Addend, Bounds, F32_PER_CACHE_LINE, FloatEpilogue, FloatOperands, RowOffsets, Tile},
    window::bands as shares_of,
};
use crate::spec::epilogue::Activation;

/// Maximum number of row panels for which a pointwise convolution reads its input in place instead of packing it.
const FEW: usize = 4;

/// The same, if the input of one output pixel spans more than [`PAGES`] pages.
const FAR: usize = 2;
const PAGES: usize = 128;

/// The same for kernels of several taps.
const FEW_OF_WINDOWS: usize = 8;

/// Floats in a page of memory.
const PAGE: usize = 1 << 10;

/// Maximum number of floats in the packed panels that are in use at once.
const PANELS: usize = 160 << 10;

/// Maximum number of floats in the input band of several groups that are copied together.
const TOGETHER: usize = 4 << 10;

/// A convolution and its operands.
pub struct Convolution<'a> {
    pub geometry: Geometry,
    pub batches: usize,
    pub filters: &'a Filters,
    pub values: &'a [f32],
    /// Strides of the input along batch, channels, depth, rows and columns.
    pub steps: [usize; 5],
    pub bias: Option<&'a [f32]>,
    /// Residual input, in the layout of the output.
    pub sum: Option<&'a [f32]>,
    pub activation: Activation,
}

/// Decisions and tables that all parts of a convolution share.
struct Plan<'a> {
    of: &'a Convolution<'a>,
    layout: Layout,
    bands: Vec<(Band, Seen)>,
    /// Offsets of the terms in a band, and in a packed panel.
    offsets: RowOffsets,
    panel: RowOffsets,
    /// True if the input is read in place, without bands.
    there: bool,
    /// Number of groups that are copied together.
    together: usize,
    /// Number of parts of the output channels of a group.
    across: usize,
    bounds: Option<Bounds>,
}

/// How tiles read the input of a band.
enum Seen {
    /// In place, by columns of tiles.
    Lying(Vec<Columns>),
    /// Packed, panel by panel.
    Panels(Vec<Panel>),
}

impl Convolution<'_> {
    /// Returns `None` if the sizes are too large for the offsets of tiles.
    pub fn run(mut self) -> Option<Buffer> {
        let [channel, depth, row, column] = [1, 2, 3, 4].map(|axis| self.steps[axis]);
        let [_, high, wide] = self.geometry.sizes;
        let dense = |step: usize, size: usize, of: usize| size == 1 || step == of;
        let flat = dense(column, wide, 1)
            && dense(row, high, wide)
            && dense(depth, self.geometry.sizes[0], high * wide);
        // A pointwise convolution needs no bands.
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
        // Few output pixels are divided among few threads. Output channels are divided then as well.
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
        let offsets = if there {
            RowOffsets::even(channels, channel)?
        } else {
            layout.offsets(channels)?
        };
        // Groups of few channels are copied together, so that they share the fixed cost.
        let together = if there {
            1
        } else {
            let most = self.batches * filters.groups * bands.len() / (2 * threads);
            let fit = TOGETHER / layout.length(channels).max(1);
            fit.min(most).clamp(1, filters.groups)
        };
        let units = self.batches * filters.groups.div_ceil(together) * bands.len();
        // Each part of the output channels copies its own band: no more parts than threads.
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
            offsets,
            panel: if by_panels {
                RowOffsets::of_panel(filters.inner, filters.set.columns())
            } else {
                RowOffsets::default()
            },
            there,
            together,
            across,
        };
        Some(plan.run(positions, threads))
    }
}

impl Plan<'_> {
    fn run(&self, positions: usize, threads: usize) -> Buffer {
        let (of, filters) = (self.of, self.of.filters);
        let channels = Channels {
            batches: of.batches,
            groups: filters.groups,
            outputs: filters.outputs,
            panel: filters.panel,
            together: self.together,
            across: self.across,
        };
        let ends = self
            .bands
            .iter()
            .map(|(band, _)| band.first(&of.geometry) + band.len());
        let ends: Vec<usize> = ends.collect();
        let grid = Grid {
            rows: channels.cuts(),
            columns: Cuts::Ends(&ends),
            order: Order::RowMajor,
        };
        Buffer::filled(channels.count() * positions, |out| {
            let tasks = task_for_each(threads);
            let out = out.reshaped(channels.count(), positions);
            out.side_by_side(grid, tasks, |index, spot, out| {
                self.part(spot.rows, &self.bands[index % self.bands.len()], out)
            })
        })
    }

    /// Writes output channels over a band: those of some groups, or some of one group.
    fn part<'a>(
        &self,
        rows: Range<usize>,
        (band, seen): &(Band, Seen),
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let of = self.of;
        let (groups, outputs) = (of.filters.groups, of.filters.outputs);
        let numbers = rows.start / outputs..rows.end.div_ceil(outputs);
        let channels = of.filters.inner / of.geometry.taps();
        let first =
            numbers.start / groups * of.steps[0] + numbers.start % groups * channels * of.steps[1];
        let values = of.values.get(first..).unwrap_or(&[]);
        let [_, depth, row, column] = [1, 2, 3, 4].map(|axis| of.steps[axis]);
        let panels = self.room(seen);
        if self.there {
            let values = &values[band.columns.start..];
            return with_scratch(panels, |panels| {
                self.tiles(values, (band, seen), rows.start, panels, out)
            });
        }
        let input = Input {
            values,
            steps: [of.steps[1], depth, row, column],
            channels: numbers.len() * channels,
        };
        let length = self.layout.length(channels);
        // Vector loads read past the last pixel.
        let behind = 4 * of.filters.set.lanes().max(16);
        let copied = (numbers.len() * length + behind).next_multiple_of(F32_PER_CACHE_LINE);
        with_scratch(copied + panels, |copy| {
            let (copy, panels) = copy.split_at_mut(copied);
            self.layout.copy(of.filters.set, input, band, copy);
            out.in_rows(outputs, |at, out| {
                let copy = &copy[at / outputs * length..];
                self.tiles(copy, (band, seen), rows.start + at, panels, out)
            })
        })
    }

    /// Floats of the packed panels of a band that are in use at once.
    fn room(&self, seen: &Seen) -> usize {
        let Seen::Panels(panels) = seen else {
            return 0;
        };
        let set = self.of.filters.set;
        let length = self.of.filters.inner * set.columns();
        panels.len().min(PANELS / length.max(1)).max(1) * length + set.lanes()
    }

    /// Writes output channels of one group over a band, from the output row `first` on.
    fn tiles<'a>(
        &self,
        values: &[f32],
        (band, seen): (&Band, &Seen),
        first: usize,
        room: &mut [f32],
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let filters = self.of.filters;
        match seen {
            Seen::Lying(columns) => out.in_rows(filters.panel, |at, out| {
                let rows = Rows::new(self.of, band, first + at, out.rows());
                let out = self.lying(&rows, values, columns, out);
                self.activated(out)
            }),
            Seen::Panels(panels) => {
                let width = filters.set.columns();
                let together = (room.len() / (filters.inner * width)).max(1);
                out.in_columns(together * width, |pixel, out| {
                    let panels = &panels[pixel / width..][..out.columns().div_ceil(width)];
                    for (at, panel) in panels.iter().enumerate() {
                        let room = &mut room[at * filters.inner * width..];
                        panel.copy(filters.set, values, self.offsets.offsets(), room);
                    }
                    out.in_rows(filters.panel, |at, out| {
                        let rows = Rows::new(self.of, band, first + at, out.rows());
                        let out = self.by_panels(&rows, room, pixel, out);
                        self.activated(out)
                    })
                })
            }
        }
    }

    /// The tiles of some rows that read the input of a band in place.
    fn lying<'a>(
        &self,
        rows: &Rows<'_>,
        values: &[f32],
        columns: &[Columns],
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let mut pixels = InOrder::columns(out);
        let columns = columns.iter().filter(|columns| columns.mask != 0);
        for (at, columns) in columns.enumerate() {
            let right = &values[columns.first..];
            let width = columns.registers * self.of.filters.set.lanes();
            let copy;
            let (right, offsets) = if right.len() >= self.offsets.furthest() + width {
                (right, &self.offsets)
            } else {
                copy = self.last(right, columns);
                (&copy.0[..], &copy.1)
            };
            pixels.write(columns.mask.count_ones() as usize, |out| {
                self.tile(rows, at == 0, (right, offsets), columns, out)
            });
        }
        pixels.finish()
    }

    /// Computes the tiles of some rows over packed panels; `pixel` is the first output pixel of the panels.
    fn by_panels<'a>(
        &self,
        rows: &Rows<'_>,
        packed: &[f32],
        pixel: usize,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let set = self.of.filters.set;
        let (width, length) = (set.columns(), self.of.filters.inner * set.columns());
        out.in_columns(width, |first, out| {
            let packed = &packed[first / width * length..];
            let step = first_tile(set, out.columns());
            out.in_columns(step, |at, out| {
                let count = out.columns();
                let columns = Columns {
                    first: at,
                    registers: count.div_ceil(set.lanes()),
                    mask: (1 << count) - 1,
                    at: pixel + first + at,
                };
                let right = (&packed[at..], &self.panel);
                self.tile(rows, first == 0, right, &columns, out)
            })
        })
    }

    /// Computes a tile. The first one of its rows prefetches the next weights.
    fn tile<'a>(
        &self,
        rows: &Rows<'_>,
        is_first: bool,
        (right, offsets): (&[f32], &RowOffsets),
        columns: &Columns,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let set = self.of.filters.set;
        let operands = FloatOperands {
            left: rows.left,
            right,
            offsets,
            next: if is_first { rows.next } else { &[] },
        };
        let epilogue = FloatEpilogue {
            bias: rows.bias,
            addend: rows.sum.map(|sum| Addend {
                values: &sum[columns.at..],
                stride: rows.stride,
            }),
            bounds: self.bounds,
        };
        let tile = Tile {
            rows: rows.count,
            registers: columns.registers,
            columns: columns.mask,
            operands,
            epilogue,
        };
        if tile.is_narrow(set) {
            tile.run_narrow(set, out)
        } else {
            tile.run(set, out)
        }
    }

    /// Applies an activation that the tiles' epilogue lacks.
    fn activated<'a>(&self, mut out: Written<'a>) -> Written<'a> {
        if self.bounds.is_none() && self.of.activation != Activation::Identity {
            for row in 0..out.rows() {
                activate(out.row(row), self.of.activation);
            }
        }
        out
    }

    /// A copy of columns at the end of the input, where a whole vector cannot be loaded.
    fn last(&self, seen: &[f32], columns: &Columns) -> (Vec<f32>, RowOffsets) {
        let width = columns.registers * self.of.filters.set.lanes();
        let there = columns.mask.count_ones() as usize;
        let (channels, step) = (self.of.filters.inner, self.of.steps[1]);
        let mut copy = repeated(channels * width, 0.0);
        for (channel, out) in copy.chunks_exact_mut(width).enumerate() {
            out[..there].copy_from_slice(&seen[channel * step..][..there]);
        }
        (copy, RowOffsets::of_panel(channels, width))
    }
}
