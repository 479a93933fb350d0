//! Tables of the input that windows read.

use crate::flex::{conv::Geometry, simd::RowLoads};

/// Offset of padding.
pub const BESIDE: usize = usize::MAX / 4;

/// Output columns of one register.
pub struct Register {
    pub first: usize,
    pub count: usize,
    /// The input elements of each tap along a row.
    pub taps: RowLoads,
}

/// Offsets of the input by output pixel and tap along an axis.
pub fn lines(g: &Geometry, axis: usize, step: usize) -> Vec<usize> {
    let positions = 0..g.positions[axis];
    let places = positions.flat_map(|position| {
        let taps = 0..g.kernel[axis];
        taps.map(move |tap| position * g.strides[axis] + tap * g.dilations[axis])
    });
    let places = places.map(|place| place.wrapping_sub(g.before[axis]));
    let lines = places.map(|place| if place < g.sizes[axis] { place * step } else { BESIDE });
    lines.collect()
}

impl Register {
    pub fn new(g: &Geometry, first: usize, lanes: usize) -> Self {
        let (stride, before) = (g.strides[2], g.before[2] as isize);
        let count = lanes.min(g.positions[2] - first);
        let taps = (0..g.kernel[2]).map(|tap| (first * stride + tap * g.dilations[2]) as isize - before);
        let taps = RowLoads::new(lanes, count, stride, g.sizes[2], taps);
        Self { first, count, taps }
    }
}
