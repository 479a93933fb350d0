//! Plans of convolutions.

use super::{
    bands::{Band, Layout},
    columns::{TileColumns, tile_columns},
    machine::{Machine, TileSize},
    tuning,
};
use crate::flex::{memory::Cuts, simd::WIDEST, threads::even_parts};
use crate::spec::geometry::Geometry;

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct ConvSizes {
    pub geometry: Geometry,
    pub batches: usize,
    pub groups: usize,
    /// Number of input channels of a group.
    pub inputs: usize,
    /// Number of output channels of a group.
    pub outputs: usize,
    /// Number of output channels of a packed panel of the weight.
    pub panel_rows: usize,
}

/// Algorithm of a convolution of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvMethod {
    /// A depthwise convolution of narrow planes, with channels in the lanes.
    ChannelsInLanes,
    /// A depthwise convolution with output pixels in the lanes, over the input in place.
    Windows,
    /// A matrix product of the weight with bands of the input.
    Bands,
}

/// Division of a convolution into parts: output channels of a band, which one thread computes.
pub struct BandPlan {
    pub layout: Layout,
    pub bands: Vec<Band>,
    pub reads: BandReads,
    pub threads: usize,
    /// Number of groups that a part computes.
    pub groups_per_part: usize,
    /// Number of parts of the output channels of a group.
    pub channel_parts: usize,
    sizes: ConvSizes,
    tile: TileSize,
}

/// Memory from which tiles read the input of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandReads {
    /// The input itself: the columns of a tile for all output channels before the next ones, or all columns for the rows of a
    /// tile.
    Input { by_columns: bool },
    /// A copy with padding.
    Copy,
    /// Panels of NR output pixels, packed from the input.
    PanelsOfInput,
    /// Panels of NR output pixels, packed from a copy with padding.
    PanelsOfCopy,
}

impl BandReads {
    /// Returns true if the input of a band is copied.
    pub fn copies(self) -> bool {
        matches!(self, Self::Copy | Self::PanelsOfCopy)
    }

    /// Returns true if tiles read packed panels.
    pub fn packs_panels(self) -> bool {
        matches!(self, Self::PanelsOfInput | Self::PanelsOfCopy)
    }
}

impl ConvSizes {
    fn positions(&self) -> usize {
        self.geometry.positions.iter().product()
    }

    /// Number of multiplications. Only the number of output elements could overflow, which is that of a tensor.
    fn multiplications(&self) -> usize {
        let outputs = self.batches * self.groups * self.outputs * self.positions();
        outputs.saturating_mul(self.inputs * self.geometry.taps())
    }

    /// Number of bands of a slice of the depth that keep `threads` threads busy.
    ///
    /// Few output pixels are divided among few threads: output channels are divided then as well.
    fn bands(&self, machine: &Machine, threads: usize) -> usize {
        let slices = self.geometry.positions[0];
        let units = self.batches * self.groups * slices;
        machine.tile.bands(self.positions() / slices, even_parts(threads).div_ceil(units))
    }
}

/// Returns true if `lines` lines that are `stride` floats apart do not evict each other from the L1 cache.
fn stay_in_cache(lines: usize, stride: usize) -> bool {
    // Addresses that differ by a multiple of 4 KiB, the size of a page, map to the same set of the cache.
    let sets = tuning::F32_PER_PAGE >> stride.trailing_zeros().min(tuning::F32_PER_PAGE.ilog2());
    lines <= sets * tuning::CACHE_WAYS
}

impl ConvMethod {
    /// Chooses by the sizes. `strides`: those of the input along batch, channels, depth, rows and columns.
    pub fn of(sizes: &ConvSizes, strides: [usize; 5], has_addend: bool, tile: TileSize) -> Self {
        let g = &sizes.geometry;
        let [.., row, column] = strides;
        let taps = g.taps();
        let has_dense_rows = g.sizes[2] == 1 || column == 1;
        let has_dense_planes = has_dense_rows && (g.sizes[1] == 1 || row == g.sizes[2]);
        let has_one_depth = [g.sizes[0], g.kernel[0], g.positions[0]] == [1; 3] && g.before[0] == 0;
        let fits = |plane: [usize; 2]| {
            plane[0].checked_mul(plane[1]).is_some_and(|len| len <= tuning::max_plane_len())
        };
        if sizes.inputs != 1 {
            Self::Bands
        } else if sizes.outputs == 1
            && has_one_depth
            && has_dense_planes
            && !has_addend
            && tile.lanes >= WIDEST / 2
            && g.positions[2] < tile.lanes
            && taps <= tuning::max_lane_taps()
            && g.padded_plane().is_some_and(fits)
        {
            Self::ChannelsInLanes
        } else if sizes.outputs <= tuning::max_channel_multiplier()
            && taps <= tuning::max_depthwise_taps()
            && has_dense_rows
        {
            Self::Windows
        } else {
            Self::Bands
        }
    }
}

impl BandPlan {
    /// A convolution of floats. `channel_stride`: the distance of two channels of an input that can be read without a copy.
    pub fn of_floats(sizes: ConvSizes, channel_stride: Option<usize>, machine: &Machine) -> Self {
        let (nr, mr) = (machine.tile.nr, machine.tile.mr);
        let threads = machine.threads_for(sizes.multiplications());
        let bands = sizes.bands(machine, threads);
        let channels = if channel_stride.is_some() { 1 } else { sizes.inputs };
        let mut layout = Layout::new(sizes.geometry, channels, bands);
        let panels = sizes.outputs.div_ceil(mr);
        let reads = match channel_stride {
            Some(stride) => {
                layout.band[1] = layout.band[1].next_multiple_of(nr);
                let by_columns = stay_in_cache(sizes.inputs, stride);
                let most = if by_columns { tuning::in_place_panels() } else { tuning::conflict_panels() };
                if panels > most { BandReads::PanelsOfInput } else { BandReads::Input { by_columns } }
            }
            None if machine.tile.has_fast_packing() && panels > tuning::copy_panels() => {
                BandReads::PanelsOfCopy
            }
            None => BandReads::Copy,
        };
        let copied = if channel_stride.is_some() {
            1
        } else {
            tuning::grouped_band_len() / layout.length(sizes.inputs).max(1)
        };
        let groups_per_part = |units: usize| copied.min(units / (2 * threads));
        Self::new(sizes, layout, reads, machine.tile, threads, groups_per_part)
    }

    /// A convolution of bytes, for which `planes` planes of a convolution with another geometry are copied.
    pub fn of_bytes(sizes: ConvSizes, planes: usize, copied: Geometry, machine: &Machine) -> Self {
        let threads = machine.threads_for(sizes.multiplications() / tuning::bytes_per_float());
        let layout = Layout::new(copied, planes, sizes.bands(machine, threads));
        // A few more parts than threads, so that no thread waits.
        let groups_per_part = |units: usize| match threads {
            1 => usize::MAX,
            _ => units.div_ceil(4 * threads),
        };
        Self::new(sizes, layout, BandReads::Copy, machine.tile, threads, groups_per_part)
    }

    /// `groups_per_part` returns the number of groups of a part for the number of parts with one group each.
    fn new(
        sizes: ConvSizes,
        layout: Layout,
        reads: BandReads,
        tile: TileSize,
        threads: usize,
        groups_per_part: impl FnOnce(usize) -> usize,
    ) -> Self {
        let bands = layout.bands();
        let groups_per_part =
            groups_per_part(sizes.batches * sizes.groups * bands.len()).clamp(1, sizes.groups);
        let units = sizes.batches * sizes.groups.div_ceil(groups_per_part) * bands.len();
        // Each part of the output channels copies its own band: only as many as keep all threads busy.
        let channel_parts = threads.div_ceil(units).min(sizes.outputs.div_ceil(sizes.panel_rows));
        Self { layout, bands, reads, threads, groups_per_part, channel_parts, sizes, tile }
    }

    /// Number of output channels, those of each element of the batch counted.
    pub fn channels(&self) -> usize {
        self.sizes.batches * self.sizes.groups * self.sizes.outputs
    }

    /// Number of output pixels of a row of a band and of the elements between it and the next one.
    pub fn row_length(&self, band: &Band) -> usize {
        if self.reads.copies() { self.layout.width } else { band.columns.len() }
    }

    /// The columns of the tiles over a band that is read in place.
    pub fn columns(&self, band: &Band) -> Vec<TileColumns> {
        let most = self.tile.registers(self.sizes.panel_rows);
        let (rows, pixels) = (band.rows.len(), band.columns.len());
        tile_columns(rows, pixels, self.row_length(band), self.tile.lanes, most)
    }

    /// Number of tiles whose columns are read for all output channels before the next columns, if a band is read so.
    pub fn tiles_by_columns(&self) -> Option<usize> {
        let panel_len = (self.sizes.inputs * self.tile.nr).max(1);
        let by_columns = self.reads == BandReads::Input { by_columns: true };
        by_columns.then(|| (tuning::HALF_OF_L1 / panel_len).max(1))
    }

    /// Division of the output channels into parts.
    pub fn cuts(&self) -> Cuts<'static> {
        let ConvSizes { batches, groups, outputs, panel_rows, .. } = self.sizes;
        if self.channel_parts == 1 {
            return Cuts::Every {
                groups: batches,
                size: groups * outputs,
                step: self.groups_per_part * outputs,
            };
        }
        Cuts::Split { groups: batches * groups, size: outputs, unit: panel_rows, parts: self.channel_parts }
    }

    /// Index of the output pixel after each band.
    pub fn band_ends(&self) -> impl Iterator<Item = usize> {
        let ends = self.bands.iter();
        ends.map(|band| band.first(&self.sizes.geometry) + band.len())
    }
}
