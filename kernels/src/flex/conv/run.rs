//! Float convolutions: products of the weight and input bands.

use std::ops::Range;

use super::band::{Input, write_tiles};
use super::filters::Filters;
use super::geometry::Geometry;
use super::panels::{Panel, copy_side_by_side, first_tile, panels};
use super::rows::Rows;
use crate::deterministic;
use crate::flex::{
    elementary::activate,
    memory::{Buffer, InOrder, Unwritten, Written, repeated, with_scratch},
    plan::{
        Band, BandPlan, BandReads, ConvMethod, ConvSizes, Machine, TileColumns, WinogradPlan,
        tuning::max_panels_len,
    },
    tile::{Addend, Bounds, F32_PER_CACHE_LINE, FloatEpilogue, FloatOperands, RowOffsets, Tile},
};
use crate::spec::epilogue::Activation;

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
    pub residual: Option<&'a [f32]>,
    pub activation: Activation,
}

/// Tables that all parts of a convolution share.
struct Run<'a> {
    of: &'a Convolution<'a>,
    plan: BandPlan,
    /// Columns of the tiles of each band.
    columns: Vec<Columns>,
    /// Offsets of the taps of all channels in a band, and in a packed panel.
    band_offsets: RowOffsets,
    panel_offsets: RowOffsets,
    bounds: Option<Bounds>,
}

/// Columns of the tiles of a band.
enum Columns {
    /// Tiles that read a band in place.
    OfBand(Vec<TileColumns>),
    /// Panels that are packed from a band.
    OfPanels(Vec<Panel>),
}

/// A copy of the columns of a tile, and the offsets of its channels.
struct EndOfInput {
    values: Vec<f32>,
    offsets: RowOffsets,
}

impl Convolution<'_> {
    /// Returns `None` if the sizes are too large for the offsets of tiles.
    pub fn run(mut self) -> Option<Buffer> {
        let [channel, depth, row, column] = [1, 2, 3, 4].map(|axis| self.steps[axis]);
        let [_, high, wide] = self.geometry.sizes;
        let dense = |step: usize, size: usize, of: usize| size == 1 || step == of;
        let has_flat_planes = dense(column, wide, 1)
            && dense(row, high, wide)
            && dense(depth, self.geometry.sizes[0], high * wide);
        // A pointwise convolution needs no bands.
        let is_flat = self.geometry.is_pointwise() && has_flat_planes;
        if is_flat {
            self.geometry = self.geometry.flat();
            self.steps = [self.steps[0], channel, 0, 0, 1];
        }
        let filters = self.filters;
        let sizes = ConvSizes {
            geometry: self.geometry,
            batches: self.batches,
            groups: filters.groups,
            inputs: filters.inner / self.geometry.taps(),
            outputs: filters.outputs,
            panel_rows: filters.panel_rows,
        };
        let machine = Machine::of_floats(filters.set);
        let method = ConvMethod::of(&sizes, self.steps, self.residual.is_some(), machine.chosen_for);
        let squares = match method {
            ConvMethod::Bands => WinogradPlan::of(sizes, &machine),
            ConvMethod::ChannelsInLanes | ConvMethod::Windows => None,
        };
        let special = match (method, &squares) {
            (ConvMethod::ChannelsInLanes, _) => self.in_lanes(),
            (ConvMethod::Windows, _) => self.by_windows(),
            (ConvMethod::Bands, Some(plan)) => self.by_squares(plan),
            (ConvMethod::Bands, None) => None,
        };
        if special.is_some() {
            return special;
        }
        if squares.is_some() && self.batches > 1 && deterministic::is_on() {
            // An image with infinite results is not computed by squares. The others are, as they are alone.
            return self.one_by_one();
        }
        let plan = BandPlan::of_floats(sizes, is_flat.then_some(channel), &machine);
        let packs = plan.reads.packs_panels();
        let columns = plan.bands.iter().map(|band| {
            if !packs {
                return Columns::OfBand(plan.columns(band));
            }
            let (high, wide) = (band.rows.len(), band.columns.len());
            Columns::OfPanels(panels(filters.set, high, wide, plan.row_length(band)))
        });
        let run = Run {
            columns: columns.collect(),
            band_offsets: if is_flat {
                RowOffsets::even(sizes.inputs, channel)?
            } else {
                plan.layout.offsets(sizes.inputs)?
            },
            panel_offsets: if packs {
                RowOffsets::of_panel(filters.inner, filters.set.nr())
            } else {
                RowOffsets::default()
            },
            bounds: Bounds::of(self.activation),
            of: &self,
            plan,
        };
        let positions: usize = self.geometry.positions.iter().product();
        Some(Buffer::filled(run.plan.channels() * positions, |out| {
            run.plan.write(out, 1, |rows, band, out| run.part(rows, band, out))
        }))
    }

    /// The elements of the batch, each by the algorithm that it has alone.
    fn one_by_one(&self) -> Option<Buffer> {
        let positions: usize = self.geometry.positions.iter().product();
        let count = self.filters.groups * self.filters.outputs * positions;
        let each = (0..self.batches).map(|batch| {
            let alone = Convolution {
                batches: 1,
                values: self.values.get(batch * self.steps[0]..).unwrap_or(&[]),
                residual: self.residual.map(|values| &values[batch * count..]),
                ..*self
            };
            alone.run()
        });
        let each: Option<Vec<Buffer>> = each.collect();
        let each = each?;
        Some(Buffer::filled(self.batches * count, |out| {
            out.reshaped(self.batches, count).write_rows(|batch, out| out.write_copy_of_slice(&each[batch]))
        }))
    }

    /// Applies an activation that epilogues of tiles lack.
    pub fn activated<'a>(&self, mut out: Written<'a>) -> Written<'a> {
        if Bounds::of(self.activation).is_none() && self.activation != Activation::Identity {
            for row in 0..out.rows() {
                activate(out.row(row), self.activation);
            }
        }
        out
    }
}

impl Run<'_> {
    /// Writes output channels over a band: those of some groups, or some of one group.
    fn part<'a>(&self, rows: Range<usize>, band: usize, out: Unwritten<'a>) -> Written<'a> {
        let (of, layout) = (self.of, &self.plan.layout);
        let (band, columns) = (&self.plan.bands[band], &self.columns[band]);
        let (groups, outputs) = (of.filters.groups, of.filters.outputs);
        // Rows are the output channels of all groups of all elements of the batch, one after another.
        let batch_groups = rows.start / outputs..rows.end.div_ceil(outputs);
        let (batch, group) = (batch_groups.start / groups, batch_groups.start % groups);
        let channels = of.filters.inner / of.geometry.taps();
        let first = batch * of.steps[0] + group * channels * of.steps[1];
        let values = of.values.get(first..).unwrap_or(&[]);
        let panels = self.panels_length(columns);
        if !self.plan.reads.copies() {
            let values = &values[band.columns.start..];
            return with_scratch(panels, |panels| {
                self.tiles(values, (band, columns), rows.start, panels, out)
            });
        }
        let [_, channel, depth, row, column] = of.steps;
        let input =
            Input { values, steps: [channel, depth, row, column], channels: batch_groups.len() * channels };
        let length = layout.length(channels);
        // Loads of registers read past the last pixel.
        let after = 4 * of.filters.set.lanes().max(16);
        let copied = (batch_groups.len() * length + after).next_multiple_of(F32_PER_CACHE_LINE);
        with_scratch(copied + panels, |copy| {
            let (copy, panels) = copy.split_at_mut(copied);
            layout.copy(of.filters.set, input, band, copy);
            out.in_rows(outputs, |at, out| {
                let copy = &copy[at / outputs * length..];
                self.tiles(copy, (band, columns), rows.start + at, panels, out)
            })
        })
    }

    /// Number of floats of the packed panels of a band that are in use at once.
    fn panels_length(&self, columns: &Columns) -> usize {
        let Columns::OfPanels(panels) = columns else {
            return 0;
        };
        let set = self.of.filters.set;
        let length = self.of.filters.inner * set.nr();
        panels.len().min(max_panels_len() / length.max(1)).max(1) * length + set.lanes()
    }

    /// Writes output channels of one group over a band, from the output row `first` on.
    fn tiles<'a>(
        &self,
        values: &[f32],
        (band, columns): (&Band, &Columns),
        first: usize,
        packed: &mut [f32],
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let filters = self.of.filters;
        match columns {
            Columns::OfBand(columns) => {
                let mut pixels = InOrder::columns(out);
                let together = self.plan.tiles_by_columns();
                for columns in columns.chunks(together.unwrap_or(columns.len()).max(1)) {
                    let count = columns.iter().map(TileColumns::count).sum();
                    let end = self.end_of_input(values, columns);
                    pixels.write(count, |out| {
                        out.in_rows(filters.panel_rows, |at, out| {
                            let mut rows = Rows::new(self.of, band, first + at, out.rows());
                            if at == 0 && together.is_some() {
                                rows.ahead = filters.set.nr();
                            }
                            let out = self.tiles_over_band(&rows, (values, &end), columns, out);
                            self.of.activated(out)
                        })
                    });
                }
                pixels.finish()
            }
            Columns::OfPanels(panels) => {
                let width = filters.set.nr();
                let together = (packed.len() / (filters.inner * width)).max(1);
                out.in_columns(together * width, |pixel, out| {
                    let panels = &panels[pixel / width..][..out.columns().div_ceil(width)];
                    let mut whole = 0;
                    if !self.plan.reads.copies() {
                        whole = out.columns() / width;
                        let values = &values[pixel..];
                        copy_side_by_side(filters.set, values, &self.band_offsets, whole, packed);
                    }
                    for (at, panel) in panels.iter().enumerate().skip(whole) {
                        let packed = &mut packed[at * filters.inner * width..];
                        panel.copy(filters.set, values, self.band_offsets.offsets(), packed);
                    }
                    out.in_rows(filters.panel_rows, |at, out| {
                        let rows = Rows::new(self.of, band, first + at, out.rows());
                        let out = self.tiles_over_panels(&rows, packed, pixel, out);
                        self.of.activated(out)
                    })
                })
            }
        }
    }

    /// Computes the tiles of some rows that read a band in place.
    fn tiles_over_band<'a>(
        &self,
        rows: &Rows<'_>,
        (values, end): (&[f32], &Option<EndOfInput>),
        columns: &[TileColumns],
        out: Unwritten<'a>,
    ) -> Written<'a> {
        write_tiles(columns, 1, out, |columns, is_first, out| {
            let right = match end {
                Some(end) if self.is_beyond(values, columns) => (&end.values[..], &end.offsets),
                _ => (&values[columns.first..], &self.band_offsets),
            };
            self.tile(rows, is_first, right, columns, out)
        })
    }

    /// Returns true if the registers of a tile extend beyond the input.
    fn is_beyond(&self, values: &[f32], columns: &TileColumns) -> bool {
        let width = columns.registers * self.of.filters.set.lanes();
        values.len() < columns.first + self.band_offsets.furthest() + width
    }

    /// A copy of the columns of the last tile, if its registers extend beyond the input. Copies of bands have room for them: only
    /// pointwise convolutions read the input itself.
    fn end_of_input(&self, values: &[f32], columns: &[TileColumns]) -> Option<EndOfInput> {
        let columns = columns.last().filter(|columns| self.is_beyond(values, columns))?;
        assert!(matches!(self.plan.reads, BandReads::Input { .. }));
        let width = columns.registers * self.of.filters.set.lanes();
        let (channels, step) = (self.of.filters.inner, self.of.steps[1]);
        let mut copy = repeated(channels * width, 0.0);
        for (channel, out) in copy.chunks_exact_mut(width).enumerate() {
            let pixels = columns.count();
            out[..pixels].copy_from_slice(&values[columns.first + channel * step..][..pixels]);
        }
        Some(EndOfInput { values: copy, offsets: RowOffsets::of_panel(channels, width) })
    }

    /// Computes the tiles of some rows over packed panels; `pixel` is the first output pixel of the panels.
    fn tiles_over_panels<'a>(
        &self,
        rows: &Rows<'_>,
        packed: &[f32],
        pixel: usize,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let set = self.of.filters.set;
        let (width, length) = (set.nr(), self.of.filters.inner * set.nr());
        out.in_columns(width, |first, out| {
            let packed = &packed[first / width * length..];
            let step = first_tile(set, out.columns());
            out.in_columns(step, |at, out| {
                let count = out.columns();
                let columns = TileColumns {
                    first: at,
                    registers: count.div_ceil(set.lanes()),
                    mask: (1 << count) - 1,
                    at: pixel + first + at,
                };
                let right = (&packed[at..], &self.panel_offsets);
                self.tile(rows, first == 0, right, &columns, out)
            })
        })
    }

    /// Computes a tile. The first one of a panel of rows prefetches the weights of the next panel.
    fn tile<'a>(
        &self,
        rows: &Rows<'_>,
        is_first: bool,
        (right, offsets): (&[f32], &RowOffsets),
        columns: &TileColumns,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let set = self.of.filters.set;
        let operands = FloatOperands {
            left: rows.left,
            right,
            offsets,
            next: if is_first { rows.next } else { &[] },
            ahead: rows.ahead,
        };
        let epilogue = FloatEpilogue {
            bias: rows.bias,
            addend: rows.residual.map(|values| Addend { values: &values[columns.at..], stride: rows.stride }),
            bounds: self.bounds,
        };
        let tile = Tile {
            rows: rows.count,
            registers: columns.registers,
            columns: columns.mask,
            operands,
            epilogue,
        };
        if tile.is_narrow(set) { tile.run_narrow(set, out) } else { tile.run(set, out) }
    }
}
