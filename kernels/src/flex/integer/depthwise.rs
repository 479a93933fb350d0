//! Depthwise convolutions of bytes.
//!
//! The channel is copied with its padding. A lane is an output pixel, and multiplies four neighbors of a row at once.

use burn::tensor::TensorData;

use super::band::Grouping;
use super::conv::{BYTES, Convolution};
use super::dot::Dot;
#[cfg(target_arch = "aarch64")]
use super::lanes::Neon;
use super::lanes::{Lanes, Plain};
use super::result::Result;
use super::tile::{End, finish};
use crate::flex::{
    conv::Geometry,
    gemm::threads,
    memory::{Cuts, Grid, Unwritten, Written, with_scratch},
    threads::uneven_parts,
};

/// Output rows that are computed at once.
const ROWS: usize = 4;

/// Bytes that are loaded for four lanes.
const LOADED: usize = 16;

/// Windows that slide over one channel after another.
struct Windows {
    geometry: Geometry,
    dot: Dot,
    /// Bytes of a row of the copy.
    pitch: usize,
    height: usize,
    /// Groups of four taps along a row.
    fours: usize,
    /// Offsets of four neighbors for each of four lanes.
    index: [u8; LOADED],
}

/// Operands of one channel.
struct Channel<'a> {
    plane: &'a [u8],
    weight: &'a [u32],
    /// A weight of ones, whose sums the zero point of the weight is multiplied by.
    zero: Option<(&'a [u32], i32)>,
    end: End<'a>,
}

impl Convolution<'_> {
    /// Returns `None` unless the convolution is depthwise with one output per channel, and if windows exceed a register.
    pub fn by_channels(&self, result: Result, shape: &[usize]) -> Option<TensorData> {
        let (g, filters) = (self.geometry, self.filters);
        let is_single = filters.channels == 1 && filters.groups.first()?.rows == 1;
        let is_plane = g.sizes[0] == 1 && g.kernel[0] == 1 && g.positions[0] == 1;
        let by_columns = filters.grouping == Grouping::Columns(g.dilations[2]);
        if !is_single || !is_plane || g.before[0] != 0 || !by_columns {
            return None;
        }
        let windows = Windows::new(filters.dot, g)?;
        let [_, high, wide] = g.sizes;
        let positions = g.positions[1] * g.positions[2];
        let channels = filters.groups.len();
        let units = self.batches * channels;
        let threads = threads((units * positions).saturating_mul(g.taps()) / BYTES);
        let length = windows.length();
        let row = positions * self.end.result.size();
        let grid = Grid::of_rows(Cuts::every(units, 1), row);
        Some(result.filled(shape.to_vec(), |out| {
            let out = out.reshaped(units, row);
            out.in_tasks(grid, uneven_parts(threads), |parts| {
                with_scratch(length.div_ceil(4), |copy| {
                    let plane: &mut [u8] = bytemuck::cast_slice_mut(copy);
                    plane.fill(self.zero ^ self.flip as u8);
                    parts.write(|unit, _, out| {
                        let output = unit % channels;
                        let values = &self.values[unit * high * wide..][..high * wide];
                        windows.copy(values, self.flip as u8, plane);
                        let channel = Channel {
                            plane,
                            weight: filters.groups[output].rows(0..1),
                            zero: (self.weight_zeros)
                                .map(|zeros| (filters.ones.rows(0..1), zeros[output])),
                            end: self.end.from(output, 0),
                        };
                        windows.run(&channel, out)
                    })
                })
            })
        }))
    }
}

impl Windows {
    /// Returns `None` if the windows of four lanes exceed a register, or padding is most of the copy.
    fn new(dot: Dot, g: Geometry) -> Option<Self> {
        let (stride, dilation) = (g.strides[2], g.dilations[2]);
        let reach = |axis: usize| {
            let positions = (g.positions[axis] - 1).checked_mul(g.strides[axis])?;
            positions.checked_add((g.kernel[axis] - 1).checked_mul(g.dilations[axis])? + 1)
        };
        let (height, pitch) = (reach(1)?, reach(2)?);
        let there = g.sizes[1] * g.sizes[2] + g.positions[1].checked_mul(g.positions[2])?;
        let is_small = height.checked_mul(pitch)? <= there.checked_mul(8)?.checked_add(1 << 16)?;
        let fits = stride.checked_add(dilation)?.checked_mul(3)? < LOADED;
        (is_small && fits).then(|| Self {
            geometry: g,
            dot,
            pitch,
            height,
            fours: g.kernel[2].div_ceil(4),
            index: std::array::from_fn(|at| (at / 4 * stride + at % 4 * dilation) as u8),
        })
    }

    /// Number of bytes of the copy, those that vector loads read past its end included.
    fn length(&self) -> usize {
        let (g, lanes) = (self.geometry, self.dot.lanes());
        let first = (g.positions[2] - 1) / lanes * lanes;
        let last = (first + lanes) * g.strides[2] + 4 * self.fours * g.dilations[2] + LOADED;
        self.height * self.pitch + last
    }

    /// Copies a channel. The padding stays.
    fn copy(&self, values: &[u8], flip: u8, plane: &mut [u8]) {
        let g = self.geometry;
        let [_, above, before] = g.before;
        let count = self.pitch.saturating_sub(before).min(g.sizes[2]);
        if count == 0 {
            return;
        }
        let lines = plane.chunks_exact_mut(self.pitch).take(self.height);
        let rows = values.chunks_exact(g.sizes[2]);
        for (line, row) in lines.skip(above).zip(rows) {
            let line = &mut line[before..][..count];
            line.copy_from_slice(&row[..count]);
            if flip != 0 {
                for byte in line {
                    *byte ^= flip;
                }
            }
        }
    }

    /// Writes the bytes of an output channel.
    fn run<'a>(&self, channel: &Channel<'_>, mut out: Unwritten<'a, u8>) -> Written<'a, u8> {
        let g = &self.geometry;
        let words = g.kernel[1] * self.fours * self.dot.words();
        assert!(self.dot.is_there() && channel.plane.len() >= self.length());
        assert!(channel.weight.len() >= words);
        assert!(channel.zero.is_none_or(|(ones, _)| ones.len() >= words));
        let bytes = g.positions[1] * g.positions[2] * channel.end.result.size();
        assert!(out.rows() == 1 && out.columns() == bytes);
        // The epilogue has numbers for rows alone.
        assert!(channel.end.columns.is_none() && channel.end.products.is_none());
        channel.end.check(1, self.dot.lanes());
        let to = out.tile(0..1, 0..bytes).as_mut_ptr();
        // SAFETY: the processor has the instructions, and the assertions hold for what is read and written.
        unsafe {
            match self.dot {
                #[cfg(target_arch = "x86_64")]
                Dot::Vnni => compiled::vnni(self, channel, to),
                #[cfg(target_arch = "x86_64")]
                Dot::VnniNarrow => compiled::vnni_narrow(self, channel, to),
                #[cfg(target_arch = "x86_64")]
                Dot::Madd => compiled::madd(self, channel, to),
                #[cfg(target_arch = "aarch64")]
                Dot::Sdot => compiled::sdot(self, channel, to),
                #[cfg(target_arch = "aarch64")]
                Dot::Neon => all::<Neon>(self, channel, to),
                Dot::Portable => all::<Plain>(self, channel, to),
            }
        }
        // SAFETY: `rows` stores each row in registers, which have all columns.
        unsafe { out.assume_written() }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod compiled {
    use super::super::lanes;
    use super::{Channel, Windows, all};

    macro_rules! compiled {
        ($name:ident $feature:literal $lanes:ident) => {
            #[target_feature(enable = $feature)]
            pub unsafe fn $name(windows: &Windows, channel: &Channel<'_>, to: *mut u8) {
                // SAFETY: the caller's promise.
                unsafe { all::<lanes::$lanes>(windows, channel, to) }
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    compiled! { vnni "avx512f,avx512bw,avx512vnni" Vnni }
    #[cfg(target_arch = "x86_64")]
    compiled! { vnni_narrow "avx2,avxvnni" VnniNarrow }
    #[cfg(target_arch = "x86_64")]
    compiled! { madd "avx2" Madd }
    #[cfg(target_arch = "aarch64")]
    compiled! { sdot "dotprod" Sdot }
}

/// # Safety
///
/// [`Windows::run`] has checked the channel.
#[inline(always)]
unsafe fn all<L: Lanes>(windows: &Windows, channel: &Channel<'_>, to: *mut u8) {
    // SAFETY: what the caller says.
    unsafe {
        if channel.zero.is_some() {
            by_kernel::<L, true>(windows, channel, to);
        } else {
            by_kernel::<L, false>(windows, channel, to);
        }
    }
}

/// # Safety
///
/// As for [`all`].
#[inline(always)]
unsafe fn by_kernel<L: Lanes, const ZERO: bool>(
    windows: &Windows,
    channel: &Channel<'_>,
    to: *mut u8,
) {
    let g = &windows.geometry;
    let is_plain = g.dilations[1] == 1 && g.positions[1] >= ROWS && L::HAS_REGISTERS;
    // SAFETY: what the caller says.
    unsafe {
        match (g.strides[1], g.kernel[1], windows.fours) {
            (1, 3, 1) if is_plain => rows::<L, ZERO, ROWS, 1, 3, 1>(windows, channel, to),
            (2, 3, 1) if is_plain => rows::<L, ZERO, ROWS, 2, 3, 1>(windows, channel, to),
            (1, 5, 2) if is_plain => rows::<L, ZERO, ROWS, 1, 5, 2>(windows, channel, to),
            (2, 5, 2) if is_plain => rows::<L, ZERO, ROWS, 2, 5, 2>(windows, channel, to),
            _ => rows::<L, ZERO, 1, 0, 0, 0>(windows, channel, to),
        }
    }
}

/// Computes `R` rows at once, so that each input row is loaded once: for kernels of `HIGH` rows with stride `STRIDE` and
/// `FOURS` groups of taps along a row. If these are 0, one row for any kernel.
///
/// # Safety
///
/// As for [`all`], and the windows are such.
#[inline(always)]
unsafe fn rows<
    L: Lanes,
    const ZERO: bool,
    const R: usize,
    const STRIDE: usize,
    const HIGH: usize,
    const FOURS: usize,
>(
    windows: &Windows,
    channel: &Channel<'_>,
    to: *mut u8,
) {
    let g = &windows.geometry;
    let [_, high, wide] = g.positions;
    let (lines, fours) = if HIGH == 0 {
        (g.kernel[1], windows.fours)
    } else {
        ((R - 1) * STRIDE + HIGH, FOURS)
    };
    let (weight, size) = (channel.weight.as_ptr(), channel.end.result.size());
    let (ones, zero) = match channel.zero {
        Some((ones, zero)) => (ones.as_ptr(), zero),
        None => (weight, 0),
    };
    for row in (0..high).step_by(R) {
        // The last rows may be computed twice.
        let row = row.min(high - R);
        for first in (0..wide).step_by(L::COUNT) {
            // SAFETY: of all reads and writes: the assertions of the caller.
            unsafe {
                let mut sums = [L::splat(0); R];
                let mut seen = [L::splat(0); R];
                for down in 0..lines {
                    let line = row * g.strides[1] + down * g.dilations[1];
                    let line = channel
                        .plane
                        .as_ptr()
                        .add(line * windows.pitch + first * g.strides[2]);
                    for four in 0..fours {
                        let from = line.add(4 * four * g.dilations[2]);
                        let terms = L::windows(from, 4 * g.strides[2], &windows.index);
                        for at in 0..R {
                            let tap = down.wrapping_sub(at * STRIDE);
                            if HIGH == 0 || tap < HIGH {
                                let word = (tap * fours + four) * L::WORDS;
                                sums[at] = sums[at].plus(terms, weight.add(word));
                                if ZERO {
                                    seen[at] = seen[at].plus(terms, ones.add(word));
                                }
                            }
                        }
                    }
                }
                let count = L::COUNT.min(wide - first);
                let mask = ((1u64 << count) - 1) as u32;
                for at in 0..R {
                    let mut sum = sums[at];
                    if ZERO {
                        sum = sum.add(seen[at].mul(L::splat(zero)));
                    }
                    let pixel = (row + at) * wide + first;
                    let to = to.add(pixel * size);
                    finish(sum, channel.end, [0, 0], to, mask);
                }
            }
        }
    }
}
