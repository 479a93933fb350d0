//! Plans of convolutions by Winograd's minimal filtering.

use std::ops::Range;

use super::{conv::ConvSizes, machine::Machine, tuning};
use crate::flex::{
    memory::Cuts,
    threads::{even_parts, part},
};

/// Division of a convolution of 3 x 3 taps into squares of output pixels.
#[derive(Debug)]
pub struct WinogradPlan {
    pub square: Square,
    /// Number of squares of a row.
    pub wide: usize,
    /// Rows of squares that a part computes.
    pub bands: Vec<Range<usize>>,
    pub threads: usize,
    /// Number of parts of the output channels of a group.
    pub channel_parts: usize,
    sizes: ConvSizes,
}

/// Number of pixels along the sides of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Square {
    Two,
    Four,
}

/// Products of registers in the time of a transform of a register of squares of one channel, with its memory accesses.
struct Cost {
    input: usize,
    output: usize,
}

/// Maximum number of output pixels of a channel.
const MOST_PIXELS: usize = 1 << 30;

/// Bytes of weights that are read from the third cache in the time of a product of registers.
const BYTES_PER_PRODUCT: usize = 8;

impl Square {
    pub fn side(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// Number of products of an input and an output channel for a square.
    pub fn products(self) -> usize {
        (self.side() + 2) * (self.side() + 2)
    }

    fn cost(self) -> Cost {
        match self {
            Self::Two => Cost { input: 100, output: 100 },
            Self::Four => Cost { input: 300, output: 250 },
        }
    }
}

impl WinogradPlan {
    /// Returns `None` for kernels other than 3 x 3 without strides and dilations, and where direct sums are faster.
    pub fn of(sizes: ConvSizes, machine: &Machine) -> Option<Self> {
        let g = &sizes.geometry;
        let is_small_kernel = g.kernel == [1, 3, 3] && g.strides[1..] == [1; 2] && g.dilations[1..] == [1; 2];
        let has_one_depth = g.sizes[0] == 1 && g.positions[0] == 1 && g.before[0] == 0;
        let pixels = product(&g.positions);
        if !is_small_kernel || !has_one_depth || pixels > MOST_PIXELS {
            return None;
        }
        // Of one thread and one element of the batch: the rounding of results depends on neither number.
        let alone = Machine { threads: || 1, tile: machine.chosen_for, ..*machine };
        let of_one = ConvSizes { batches: 1, ..sizes };
        let direct = direct_products(&of_one, pixels, &alone);
        let limit = (direct / 100).saturating_mul(tuning::winograd_percent());
        let cost = |square| Self::with(square, of_one, &alone).products(&alone);
        let [two, four] = [Square::Two, Square::Four].map(cost);
        // The smaller squares have smaller errors and weights.
        let (square, cost) = if four < two / 10 * 9 { (Square::Four, four) } else { (Square::Two, two) };
        (cost < limit).then(|| Self::with(square, sizes, machine))
    }

    /// The plan with squares of a size.
    pub fn with(square: Square, sizes: ConvSizes, machine: &Machine) -> Self {
        let ConvSizes { batches, groups, inputs, outputs, panel_rows, .. } = sizes;
        let [_, high, wide] = sizes.geometry.positions.map(|pixels| pixels.div_ceil(square.side()));
        let units = batches * groups;
        let threads = machine.threads_for(product(&[units, square.products(), inputs, outputs, high, wide]));
        // Floats of a row of squares: transformed inputs, and sums of a panel of output channels.
        let row = product(&[square.products(), inputs + machine.tile.mr, wide]);
        let fitting = high.div_ceil((tuning::max_squares_len() / row).max(1));
        // Each part fills registers with squares.
        let full = (high * wide / machine.tile.lanes).clamp(1, high);
        let parallel = even_parts(threads).div_ceil(units).min(full);
        let count = fitting.max(parallel).next_multiple_of(parallel).min(high);
        let bands: Vec<_> = (0..count).map(|at| part(high, count, at)).collect();
        let channel_parts = threads.div_ceil(units * bands.len()).min(outputs.div_ceil(panel_rows));
        Self { square, wide, bands, threads, channel_parts, sizes }
    }

    /// Time in products of registers.
    fn products(&self, machine: &Machine) -> usize {
        let ConvSizes { batches, groups, inputs, outputs, .. } = self.sizes;
        let lanes = machine.tile.lanes;
        let rows: usize = self.bands.iter().map(Range::len).sum();
        let registers: usize = self.bands.iter().map(|band| (band.len() * self.wide).div_ceil(lanes)).sum();
        let Cost { input, output } = self.square.cost();
        let each = self.square.products();
        let rows = rows.div_ceil(rows_of_register(self.wide, lanes, self.square.side()));
        let of_group = [
            product(&[each, inputs, outputs, registers]),
            product(&[inputs, rows, self.wide.div_ceil(lanes), input, self.channel_parts]),
            product(&[outputs, registers, output]),
            product(&[4, each, inputs, outputs]) / BYTES_PER_PRODUCT,
        ];
        let of_group = of_group.into_iter().fold(0, usize::saturating_add);
        product(&[batches, groups, of_group])
    }

    /// Division of the output channels into parts.
    pub fn cuts(&self) -> Cuts<'static> {
        let ConvSizes { batches, groups, outputs, panel_rows, .. } = self.sizes;
        let parts = self.channel_parts;
        Cuts::Split { groups: batches * groups, size: outputs, unit: panel_rows, parts }
    }

    /// Index of the output pixel after each band.
    pub fn band_ends(&self) -> impl Iterator<Item = usize> {
        let [_, high, wide] = self.sizes.geometry.positions;
        self.bands.iter().map(move |band| high.min(band.end * self.square.side()) * wide)
    }
}

/// Number of rows of squares with sides of `side` pixels that a register has at once, if they are narrow.
pub fn rows_of_register(wide: usize, lanes: usize, side: usize) -> usize {
    (lanes / wide.next_power_of_two()).clamp(1, side.min(lanes))
}

/// Time of direct sums in products of registers.
fn direct_products(sizes: &ConvSizes, pixels: usize, machine: &Machine) -> usize {
    let ConvSizes { batches, groups, inputs, outputs, .. } = *sizes;
    let products = product(&[9, inputs, outputs, pixels.div_ceil(machine.tile.lanes)]);
    let weights = product(&[4, 9, inputs, outputs]) / BYTES_PER_PRODUCT;
    product(&[batches, groups, products.saturating_add(weights)])
}

/// The product of some sizes, or the largest number.
fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, size| usize::saturating_mul(product, *size))
}
