//! Depthwise convolutions of narrow planes, with channels in the lanes.

mod transpose;

use super::run::Convolution;
use crate::flex::{
    elementary::activate,
    memory::{Buffer, Cuts, Grid, InOrder, Unwritten, Written, with_scratch},
    plan::{threads, tuning::LANE_TAPS},
    simd::{Floats, Isa, WIDEST, with_isa},
    threads::uneven_parts,
    tile::{Bounds, RowOffsets},
};
use crate::spec::epilogue::Activation;
use transpose::Square;

/// Planes of at most as many channels as a register has lanes.
struct Block<'a> {
    of: &'a Convolution<'a>,
    /// Number of channels.
    count: usize,
    /// Input from the first channel on.
    values: &'a [f32],
    bias: &'a [f32; WIDEST],
    /// Weights of the channels for each tap.
    weight: &'a [[f32; WIDEST]],
    bounds: Bounds,
    /// Offsets of the taps in the padded planes.
    taps: &'a RowOffsets,
    width: usize,
}

impl Convolution<'_> {
    /// Computes a convolution of [`ConvMethod::ChannelsInLanes`](crate::flex::plan::ConvMethod::ChannelsInLanes).
    pub fn in_lanes(&self) -> Option<Buffer> {
        let (g, filters) = (self.geometry, self.filters);
        let lanes = filters.set.lanes();
        let (channel, taps) = (self.steps[1], g.taps());
        let [height, width] = g.padded_plane()?;
        assert!(filters.inner == taps && filters.outputs == 1 && self.residual.is_none());
        let bounds = Bounds::of(self.activation);
        let after = bounds.is_none() && self.activation != Activation::Identity;
        let offsets = (0..g.kernel[1]).flat_map(|down| {
            let right = 0..g.kernel[2];
            right.map(move |right| down * g.dilations[1] * width + right * g.dilations[2])
        });
        let offsets = RowOffsets::new(offsets.map(|offset| offset * lanes))?;
        let positions = g.positions[1] * g.positions[2];
        let (groups, plane) = (filters.groups, g.sizes[1] * g.sizes[2]);
        let count = self.batches * groups * positions;
        let grid = Grid::of_rows(Cuts::Every { groups: self.batches, size: groups, step: lanes }, positions);
        let tasks = uneven_parts(threads(count * taps));
        Some(Buffer::filled(count, |out| {
            let out = out.reshaped(self.batches * groups, positions);
            out.side_by_side(grid, tasks, |_, spot, out| {
                let (batch, first) = (spot.rows.start / groups, spot.rows.start % groups);
                let count = spot.rows.len();
                let mut weight = [[0.0; WIDEST]; LANE_TAPS];
                let mut bias = [0.0; WIDEST];
                for lane in 0..count {
                    let mut taps_of = [0.0; LANE_TAPS];
                    filters.copy(first + lane, 0, &mut taps_of[..taps]);
                    for (weight, tap) in weight.iter_mut().zip(&taps_of[..taps]) {
                        weight[lane] = *tap;
                    }
                    bias[lane] = self.bias.map_or(0.0, |bias| bias[first + lane]);
                }
                let from = batch * self.steps[0] + first * channel;
                let values = &self.values[from..][..(count - 1) * channel + plane];
                let block = Block {
                    of: self,
                    count,
                    values,
                    bias: &bias,
                    weight: &weight[..taps],
                    bounds: bounds.unwrap_or(Bounds { low: f32::NEG_INFINITY, high: f32::INFINITY }),
                    taps: &offsets,
                    width,
                };
                let room = height * width * lanes;
                let mut written = with_scratch(room, |room| block.run(room, out));
                if after {
                    activate(written.slice(), self.activation);
                }
                written
            })
        }))
    }
}

impl Block<'_> {
    /// Writes the channels, a row each.
    fn run<'a>(&self, room: &mut [f32], out: Unwritten<'a>) -> Written<'a> {
        let [_, high, wide] = self.of.geometry.positions;
        assert!(out.rows() == self.count && out.columns() == high * wide);
        with_isa!(self.of.filters.set, isa => all(isa, self, room, out))
    }
}

#[inline(always)]
fn all<'a, I: Isa>(isa: I, block: &Block<'_>, room: &mut [f32], out: Unwritten<'a>) -> Written<'a> {
    spread(isa, block, room);
    match block.taps.count() {
        9 => sums::<I, 9>(isa, block, room, out),
        25 => sums::<I, 25>(isa, block, room, out),
        _ => sums::<I, 0>(isa, block, room, out),
    }
}

/// Writes the padded planes, pixel by pixel.
#[inline(always)]
fn spread<I: Isa>(isa: I, block: &Block<'_>, room: &mut [f32]) {
    let g = &block.of.geometry;
    let ([_, high, wide], [_, above, left]) = (g.sizes, g.before);
    let height = room.len() / I::LANES / block.width;
    room.fill(0.0);
    let mut square = Square::default();
    let (mut row, mut column) = (above, left);
    for first in (0..high * wide).step_by(I::LANES) {
        let count = I::LANES.min(high * wide - first);
        let values = &block.values[first..];
        square.read(isa, values, block.of.steps[1], [block.count, count]);
        for lanes in &square.0[..count] {
            // Strides may leave out the last rows and columns.
            if row < height && column < block.width {
                let at = (row * block.width + column) * I::LANES;
                room[at..at + I::LANES].copy_from_slice(&lanes[..I::LANES]);
            }
            column += 1;
            if column == left + wide {
                (row, column) = (row + 1, left);
            }
        }
    }
}

/// Sums the taps of each output pixel, `N` or any number if it is 0, and writes them channel by channel.
#[inline(always)]
fn sums<'a, I: Isa, const N: usize>(
    isa: I,
    block: &Block<'_>,
    room: &[f32],
    out: Unwritten<'a>,
) -> Written<'a> {
    let g = &block.of.geometry;
    let [_, high, wide] = g.positions;
    assert!(block.taps.count() == block.weight.len() && (N == 0 || block.taps.count() == N));
    let mut square = Square::default();
    let (mut row, mut column) = (0, 0);
    let weight: [I::Floats; N] = std::array::from_fn(
        #[inline(always)]
        |tap| isa.load(&block.weight[tap]),
    );
    let bias = isa.load(block.bias);
    let (low, high_bound) = (isa.splat(block.bounds.low), isa.splat(block.bounds.high));
    let mut out = InOrder::columns(out);
    for first in (0..high * wide).step_by(I::LANES) {
        let count = I::LANES.min(high * wide - first);
        for lanes in &mut square.0[..count] {
            let from = row * g.strides[1] * block.width + column * g.strides[2];
            let seen = &room[from * I::LANES..];
            let mut sum = bias;
            if N == 0 {
                let (taps, _) = block.taps.groups::<_, 1>(seen, I::LANES);
                for (tap, weight) in taps.zip(block.weight) {
                    sum = isa.load(tap.row(0)).mul_add(isa.load(weight), sum);
                }
            } else {
                let taps = block.taps.first_rows::<_, N>(seen, I::LANES);
                for (tap, weight) in weight.into_iter().enumerate() {
                    sum = isa.load(taps.row(tap)).mul_add(weight, sum);
                }
            }
            sum.clamp(low, high_bound).store(lanes);
            column += 1;
            if column == wide {
                (row, column) = (row + 1, 0);
            }
        }
        out.write(
            count,
            #[inline(always)]
            |out| square.write(isa, out),
        );
    }
    out.finish()
}
