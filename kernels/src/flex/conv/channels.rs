//! Depthwise convolutions of planes narrower than a register, with channels in its lanes.

mod transpose;

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;

use super::run::Convolution;
use crate::flex::{
    elementary::activate,
    gemm::{Bounds, Plain, threads},
    instructions::{Set, WIDEST},
    memory::{Buffer, Cuts, Grid, OutputTile, Unwritten, Written, with_scratch},
    threads::uneven_parts,
};
use crate::spec::epilogue::Activation;
use transpose::{Square, Transpose};

/// Maximum number of elements of a padded plane.
const MOST: usize = 1 << 10;

/// Maximum number of taps.
const TAPS: usize = 64;

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
    taps: &'a [usize],
    width: usize,
}

impl Convolution<'_> {
    /// Returns `None` unless the convolution is depthwise with one output per channel, narrow rows and no residual input.
    pub fn by_blocks(&self) -> Option<Buffer> {
        let (g, filters) = (self.geometry, self.filters);
        let lanes = filters.set.lanes();
        let [channel, row, column] = [1, 3, 4].map(|axis| self.steps[axis]);
        let is_plane = [g.sizes[0], g.kernel[0], g.positions[0]] == [1; 3] && g.before[0] == 0;
        let dense = (g.sizes[2] == 1 || column == 1) && (g.sizes[1] == 1 || row == g.sizes[2]);
        let taps = g.taps();
        let padded = [1, 2].map(|axis| {
            let reach = (g.kernel[axis] - 1).checked_mul(g.dilations[axis])?;
            let last = (g.positions[axis] - 1).checked_mul(g.strides[axis])?;
            reach.checked_add(last)?.checked_add(1)
        });
        let [Some(height), Some(width)] = padded else {
            return None;
        };
        if !is_plane
            || !dense
            || filters.inner != taps
            || filters.outputs != 1
            || taps > TAPS
            || lanes < WIDEST / 2
            || g.positions[2] >= lanes
            || height.checked_mul(width).is_none_or(|plane| plane > MOST)
            || self.sum.is_some()
        {
            return None;
        }
        let bounds = Bounds::of(self.activation);
        let after = bounds.is_none() && self.activation != Activation::Identity;
        let places = (0..g.kernel[1]).flat_map(|down| {
            let right = 0..g.kernel[2];
            right.map(move |right| down * g.dilations[1] * width + right * g.dilations[2])
        });
        let places: Vec<usize> = places.collect();
        let positions = g.positions[1] * g.positions[2];
        let (groups, plane) = (filters.groups, g.sizes[1] * g.sizes[2]);
        let count = self.batches * groups * positions;
        let grid = Grid::of_rows(
            Cuts::Every {
                groups: self.batches,
                size: groups,
                step: lanes,
            },
            positions,
        );
        let tasks = uneven_parts(threads(count * taps));
        Some(Buffer::filled(count, |out| {
            let out = out.reshaped(self.batches * groups, positions);
            out.side_by_side(grid, tasks, |_, spot, out| {
                let (batch, first) = (spot.rows.start / groups, spot.rows.start % groups);
                let there = spot.rows.len();
                let mut weight = [[0.0; WIDEST]; TAPS];
                let mut bias = [0.0; WIDEST];
                for lane in 0..there {
                    let mut taps_of = [0.0; TAPS];
                    filters.copy(first + lane, 0, &mut taps_of[..taps]);
                    for (weight, tap) in weight.iter_mut().zip(&taps_of[..taps]) {
                        weight[lane] = *tap;
                    }
                    bias[lane] = self.bias.map_or(0.0, |bias| bias[first + lane]);
                }
                let from = batch * self.steps[0] + first * channel;
                let values = &self.values[from..][..(there - 1) * channel + plane];
                let block = Block {
                    of: self,
                    count: there,
                    values,
                    bias: &bias,
                    weight: &weight[..taps],
                    bounds: bounds.unwrap_or(Bounds {
                        low: f32::NEG_INFINITY,
                        high: f32::INFINITY,
                    }),
                    taps: &places,
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
    fn run<'a>(&self, room: &mut [f32], mut out: Unwritten<'a>) -> Written<'a> {
        let [_, high, wide] = self.of.geometry.positions;
        assert!(self.of.filters.set.is_there());
        assert!(out.rows() == self.count && out.columns() == high * wide);
        let to = out.tile(0..self.count, 0..high * wide);
        // SAFETY: the processor has the instructions.
        unsafe {
            match self.of.filters.set {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => x86::wide(self, room, to),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => x86::narrow(self, room, to),
                #[cfg(target_arch = "aarch64")]
                Set::Neon => all::<float32x4_t>(self, room, to),
                Set::Portable => all::<Plain>(self, room, to),
            }
        }
        // SAFETY: `sums` stores all pixels of all channels.
        unsafe { out.assume_written() }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m512};

    use super::{Block, OutputTile, all};

    /// # Safety
    ///
    /// The processor has AVX-512.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn wide(block: &Block<'_>, room: &mut [f32], out: OutputTile<'_>) {
        // SAFETY: the caller's promise.
        unsafe { all::<__m512>(block, room, out) }
    }

    /// # Safety
    ///
    /// The processor has AVX2.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn narrow(block: &Block<'_>, room: &mut [f32], out: OutputTile<'_>) {
        // SAFETY: the caller's promise.
        unsafe { all::<__m256>(block, room, out) }
    }
}

/// # Safety
///
/// The processor has the instructions of the lanes.
#[inline(always)]
unsafe fn all<L: Transpose>(block: &Block<'_>, room: &mut [f32], out: OutputTile<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        spread::<L>(block, room);
        match block.taps.len() {
            9 => sums::<L, 9>(block, room, out),
            25 => sums::<L, 25>(block, room, out),
            _ => sums::<L, 0>(block, room, out),
        }
    }
}

/// Writes the padded planes, pixel by pixel.
///
/// # Safety
///
/// As for [`all`].
#[inline(always)]
unsafe fn spread<L: Transpose>(block: &Block<'_>, room: &mut [f32]) {
    let g = &block.of.geometry;
    let ([_, high, wide], [_, above, left]) = (g.sizes, g.before);
    let height = room.len() / L::COUNT / block.width;
    room.fill(0.0);
    let mut square = Square::default();
    let (mut row, mut column) = (above, left);
    for first in (0..high * wide).step_by(L::COUNT) {
        let count = L::COUNT.min(high * wide - first);
        let values = &block.values[first..];
        // SAFETY: what the caller says.
        unsafe { L::read(values, block.of.steps[1], [block.count, count], &mut square) };
        for lanes in &square.0[..count] {
            // Strides may leave out the last rows and columns.
            if row < height && column < block.width {
                let at = (row * block.width + column) * L::COUNT;
                room[at..at + L::COUNT].copy_from_slice(&lanes[..L::COUNT]);
            }
            column += 1;
            if column == left + wide {
                (row, column) = (row + 1, left);
            }
        }
    }
}

/// Sums the taps of each output pixel, `N` or any number if it is 0, and stores them channel by channel.
///
/// # Safety
///
/// As for [`all`], and the planes are there.
#[inline(always)]
unsafe fn sums<L: Transpose, const N: usize>(
    block: &Block<'_>,
    room: &[f32],
    mut out: OutputTile<'_>,
) {
    let g = &block.of.geometry;
    let [_, high, wide] = g.positions;
    let furthest = block.taps.iter().copied().max().unwrap_or(0);
    let last = (high - 1) * g.strides[1] * block.width + (wide - 1) * g.strides[2] + furthest;
    assert!(room.len() >= (last + 1) * L::COUNT);
    assert!(block.taps.len() == block.weight.len() && (N == 0 || block.taps.len() == N));
    let mut square = Square::default();
    let (mut row, mut column) = (0, 0);
    // SAFETY: of all reads: the assertions above; and what the caller says.
    unsafe {
        let weight: [L; N] = std::array::from_fn(
            #[inline(always)]
            |tap| L::load(block.weight[tap].as_ptr()),
        );
        let bias = L::load(block.bias.as_ptr());
        let low = L::splat(block.bounds.low);
        let high_bound = L::splat(block.bounds.high);
        for first in (0..high * wide).step_by(L::COUNT) {
            let count = L::COUNT.min(high * wide - first);
            for lanes in &mut square.0[..count] {
                let from = row * g.strides[1] * block.width + column * g.strides[2];
                let from = room.as_ptr().add(from * L::COUNT);
                let mut sum = bias;
                if N == 0 {
                    for (tap, weight) in block.taps.iter().zip(block.weight) {
                        sum = sum.plus(L::load(from.add(tap * L::COUNT)), L::load(weight.as_ptr()));
                    }
                } else {
                    for (tap, weight) in block.taps.iter().zip(weight) {
                        sum = sum.plus(L::load(from.add(tap * L::COUNT)), weight);
                    }
                }
                sum.clamp(low, high_bound).store(lanes.as_mut_ptr());
                column += 1;
                if column == wide {
                    (row, column) = (row + 1, 0);
                }
            }
            L::write(&square, out.part(0..block.count, first..first + count));
        }
    }
}
