//! Depthwise convolutions of bytes.
//!
//! The channel is copied with its padding. A lane is an output pixel, and multiplies four neighbors of a row at once.

use burn::tensor::TensorData;

use super::band::Grouping;
use super::conv::Convolution;
use super::output_type::OutputType;
use crate::flex::{
    conv::Geometry,
    memory::{Cuts, Grid, SliceWriter, Unwritten, Written, with_scratch},
    plan::{threads, tuning::bytes_per_float},
    simd::{DotInstructions, DotIsa, LaneMask, with_dot_isa},
    threads::uneven_parts,
    tile::{ByteEpilogue, TilePosition, even_rows, write_row_blocks},
};

/// Output rows that are computed at once.
const ROWS: usize = 4;

/// Bytes that are loaded for four lanes.
const LOADED: usize = 16;

/// Windows that slide over one channel after another.
struct Windows {
    geometry: Geometry,
    dot: DotInstructions,
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
    epilogue: ByteEpilogue<'a>,
}

impl Convolution<'_> {
    /// Returns `None` unless the convolution is depthwise with one output per channel, and if windows exceed a register.
    pub fn by_channels(&self, output: OutputType, shape: &[usize]) -> Option<TensorData> {
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
        let threads = threads((units * positions).saturating_mul(g.taps()) / bytes_per_float());
        let length = windows.length();
        let row = positions * self.epilogue.conversion.size();
        let grid = Grid::of_rows(Cuts::every(units, 1), row);
        Some(output.filled(shape.to_vec(), |out| {
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
                            zero: (self.weight_zeros).map(|zeros| (filters.ones.rows(0..1), zeros[output])),
                            epilogue: self.epilogue.from(output, 0),
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
    fn new(dot: DotInstructions, g: Geometry) -> Option<Self> {
        let (stride, dilation) = (g.strides[2], g.dilations[2]);
        let [height, pitch] = g.padded_plane()?;
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
    fn run<'a>(&self, channel: &Channel<'_>, out: Unwritten<'a, u8>) -> Written<'a, u8> {
        let g = &self.geometry;
        let words = g.kernel[1] * self.fours * self.dot.words();
        assert!(channel.plane.len() >= self.length());
        assert!(channel.weight.len() >= words);
        assert!(channel.zero.is_none_or(|(ones, _)| ones.len() >= words));
        let bytes = g.positions[1] * g.positions[2] * channel.epilogue.conversion.size();
        assert!(out.rows() == 1 && out.columns() == bytes);
        // The epilogue has numbers for rows alone.
        assert!(channel.epilogue.columns.is_none() && channel.epilogue.products.is_none());
        channel.epilogue.check(1, self.dot.lanes());
        with_dot_isa!(self.dot, isa => all(isa, self, channel, out))
    }
}

#[inline(always)]
fn all<'a, I: DotIsa>(
    isa: I,
    windows: &Windows,
    channel: &Channel<'_>,
    out: Unwritten<'a, u8>,
) -> Written<'a, u8> {
    if channel.zero.is_some() {
        by_kernel::<I, true>(isa, windows, channel, out)
    } else {
        by_kernel::<I, false>(isa, windows, channel, out)
    }
}

#[inline(always)]
fn by_kernel<'a, I: DotIsa, const ZERO: bool>(
    isa: I,
    windows: &Windows,
    channel: &Channel<'_>,
    out: Unwritten<'a, u8>,
) -> Written<'a, u8> {
    let g = &windows.geometry;
    let is_plain = g.dilations[1] == 1 && g.positions[1] >= ROWS && I::HAS_REGISTERS;
    match (g.strides[1], g.kernel[1], windows.fours) {
        (1, 3, 1) if is_plain => by_rows::<I, ZERO, ROWS, 1, 3, 1>(isa, windows, channel, out),
        (2, 3, 1) if is_plain => by_rows::<I, ZERO, ROWS, 2, 3, 1>(isa, windows, channel, out),
        (1, 5, 2) if is_plain => by_rows::<I, ZERO, ROWS, 1, 5, 2>(isa, windows, channel, out),
        (2, 5, 2) if is_plain => by_rows::<I, ZERO, ROWS, 2, 5, 2>(isa, windows, channel, out),
        _ => by_rows::<I, ZERO, 1, 0, 0, 0>(isa, windows, channel, out),
    }
}

/// Computes `R` rows at once, so that each input row is loaded once: for kernels of `HIGH` rows with stride
/// `STRIDE` and `FOURS` groups of taps along a row. If these are 0, one row for any kernel.
#[inline(always)]
fn by_rows<
    'a,
    I: DotIsa,
    const ZERO: bool,
    const R: usize,
    const STRIDE: usize,
    const HIGH: usize,
    const FOURS: usize,
>(
    isa: I,
    windows: &Windows,
    channel: &Channel<'_>,
    out: Unwritten<'a, u8>,
) -> Written<'a, u8> {
    let [_, high, wide] = windows.geometry.positions;
    let line = wide * channel.epilogue.conversion.size();
    out.write(
        #[inline(always)]
        |out| {
            write_row_blocks(
                out,
                0..high,
                line,
                #[inline(always)]
                |row, out| {
                    rows::<I, ZERO, R, STRIDE, HIGH, FOURS>(isa, windows, channel, row, out);
                },
            )
        },
    )
}

/// Writes the rows from `row` on.
#[inline(always)]
fn rows<
    I: DotIsa,
    const ZERO: bool,
    const R: usize,
    const STRIDE: usize,
    const HIGH: usize,
    const FOURS: usize,
>(
    isa: I,
    windows: &Windows,
    channel: &Channel<'_>,
    row: usize,
    out: &mut [SliceWriter<'_, u8>; R],
) {
    let g = &windows.geometry;
    let wide = g.positions[2];
    // A copy, which writing to the output cannot change.
    let epilogue = channel.epilogue;
    let (lines, fours) =
        if HIGH == 0 { (g.kernel[1], windows.fours) } else { ((R - 1) * STRIDE + HIGH, FOURS) };
    let size = epilogue.conversion.size();
    // A constant where `HIGH` is one: the compiler leaves out checks of the weights below.
    let words = if HIGH == 0 { lines } else { HIGH } * fours * I::WORDS;
    let weight = &channel.weight[..words];
    let (ones, zero) = channel.zero.unwrap_or((weight, 0));
    let ones = &ones[..words];
    let (plane, pitch, index) = (channel.plane, windows.pitch, windows.index);
    let ([_, down_stride, stride], [_, down_dilation, dilation]) = (g.strides, g.dilations);
    // Bytes that all groups of taps of a row read.
    let read = 4 * fours.saturating_sub(1) * dilation + (I::LANES - 4) * stride + LOADED;
    for first in (0..wide).step_by(I::LANES) {
        let mut sums = [isa.splat_int(0); R];
        let mut seen = [isa.splat_int(0); R];
        let from = &plane[row * down_stride * pitch + first * stride..];
        // Checked for all lines at once, so that the compiler unrolls the loop.
        for (down, [line]) in even_rows([from], lines, down_dilation * pitch, read).enumerate() {
            for four in 0..fours {
                let from = &line[4 * four * dilation..];
                let terms = isa.windows(from, 4 * stride, &index);
                for at in 0..R {
                    let tap = down.wrapping_sub(at * STRIDE);
                    if HIGH == 0 || tap < HIGH {
                        let word = (tap * fours + four) * I::WORDS;
                        sums[at] = isa.add_dot(sums[at], terms, &weight[word..]);
                        if ZERO {
                            seen[at] = isa.add_dot(seen[at], terms, &ones[word..]);
                        }
                    }
                }
            }
        }
        let count = I::LANES.min(wide - first);
        for (at, out) in out.iter_mut().enumerate() {
            // Rows that are written already have no room.
            if out.missing() == 0 {
                continue;
            }
            let mut sum = sums[at];
            if ZERO {
                sum = sum + seen[at] * isa.splat_int(zero);
            }
            out.write(
                count * size,
                #[inline(always)]
                |out| {
                    let at = TilePosition::default();
                    epilogue.write_register(isa, sum, at, LaneMask::first(count), out)
                },
            );
        }
    }
}
