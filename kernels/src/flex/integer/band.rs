//! Bands of bytes, copied in groups of four terms with padding.

use super::pack::interleave;
use crate::flex::simd::DotInstructions;
use crate::flex::{
    conv::Geometry,
    memory::resize,
    plan::{Band, CopiedRange, Layout},
};

/// Origin of the four terms of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    Channels,
    /// Elements of a row at this distance, for few channels.
    Columns(usize),
}

/// The input of a group of channels.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub values: &'a [u8],
    pub channels: usize,
    /// Byte of the padding.
    pub zero: u8,
    /// Bits that are flipped in the input ([`DotInstructions::flip`]).
    pub flip: u32,
}

impl Grouping {
    /// The grouping for weights with `channels` input channels.
    pub fn of(geometry: &Geometry, channels: usize) -> Self {
        let rows = channels * geometry.kernel[2].div_ceil(4);
        if geometry.kernel[2] > 1 && rows < channels.div_ceil(4) * geometry.kernel[2] {
            Self::Columns(geometry.dilations[2])
        } else {
            Self::Channels
        }
    }

    /// Number of planes of groups, and the geometry of their convolution.
    pub fn grouped(self, channels: usize, mut geometry: Geometry) -> (usize, Geometry) {
        match self {
            Self::Channels => (channels.div_ceil(4), geometry),
            Self::Columns(dilation) => {
                geometry.kernel[2] = geometry.kernel[2].div_ceil(4);
                geometry.dilations[2] = 4 * dilation;
                (channels, geometry)
            }
        }
    }

    /// Copies the input of a band. `line` is memory for one line.
    pub fn copy(
        self,
        dot: DotInstructions,
        layout: &Layout,
        input: Input<'_>,
        band: &Band,
        out: &mut [u32],
        line: &mut Vec<u8>,
    ) {
        let g = &layout.geometry;
        let [_, high, wide] = g.sizes;
        let plane = g.sizes.iter().product::<usize>();
        let planes = match self {
            Self::Channels => input.channels.div_ceil(4),
            Self::Columns(_) => input.channels,
        };
        let height = band.rows.len() + layout.rows.furthest;
        let padding = u32::from_le_bytes([input.zero; 4]) ^ input.flip;
        let place =
            |at: usize, before: usize, size: usize| at.checked_sub(before).filter(|place| *place < size);
        let mut first = 0;
        for number in 0..planes {
            for tap in 0..g.kernel[0] {
                let depth = band.depth * g.strides[0] + tap * g.dilations[0];
                let depth = place(depth, g.before[0], g.sizes[0]);
                for row_phase in &layout.rows.phases {
                    for column_phase in &layout.columns.phases {
                        let rows = out[first..].chunks_exact_mut(layout.width).take(height);
                        first += layout.height * layout.width;
                        let shift = band.columns.start * g.strides[2] + column_phase;
                        for (row, out) in rows.enumerate() {
                            let row = (band.rows.start + row) * g.strides[1] + row_phase;
                            let row = place(row, g.before[1], high);
                            let (Some(depth), Some(row)) = (depth, row) else {
                                out.fill(padding);
                                continue;
                            };
                            let row = (depth * high + row) * wide;
                            let there = CopiedRange::new(g, 2, shift, out.len());
                            match self {
                                Self::Channels => {
                                    let lines = std::array::from_fn(|at| {
                                        let channel = (4 * number + at).min(input.channels - 1);
                                        let values = &input.values[channel * plane + row..][..wide];
                                        values.get(there.first..).unwrap_or(&[])
                                    });
                                    out[..there.begin].fill(padding);
                                    out[there.end..].fill(padding);
                                    let out = &mut out[there.begin..there.end];
                                    interleave(dot, lines, g.strides[2], input.flip, out);
                                }
                                Self::Columns(step) => {
                                    let values = &input.values[number * plane + row..][..wide];
                                    pad(values, shift, g, step, input.zero, out.len(), line);
                                    let lines = std::array::from_fn(|at| &line[at * step..]);
                                    interleave(dot, lines, g.strides[2], input.flip, out);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Writes a line of the input with its padding, from index `shift` on, for `count` groups of elements.
fn pad(values: &[u8], shift: usize, g: &Geometry, step: usize, zero: u8, count: usize, line: &mut Vec<u8>) {
    let length = g.strides[2] * (count - 1) + 3 * step + 1;
    let begin = g.before[2].saturating_sub(shift).min(length);
    let first = shift.saturating_sub(g.before[2]).min(values.len());
    let there = (values.len() - first).min(length - begin);
    line.clear();
    resize(line, length, zero);
    line[begin..][..there].copy_from_slice(&values[first..first + there]);
}
