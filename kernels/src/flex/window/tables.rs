//! Tables of the input that windows read.

use crate::flex::conv::Geometry;

/// Offset of padding.
pub const BESIDE: usize = usize::MAX / 4;

/// Output columns of one vector.
pub struct Register {
    pub first: usize,
    pub count: usize,
    /// For each tap along a row: offset of the first input element, and the mask of those inside the input.
    pub taps: Vec<(isize, u32)>,
}

/// Offsets of the input by output pixel and tap along an axis.
pub fn lines(g: &Geometry, axis: usize, step: usize) -> Vec<usize> {
    let positions = 0..g.positions[axis];
    let places = positions.flat_map(|position| {
        let taps = 0..g.kernel[axis];
        taps.map(move |tap| position * g.strides[axis] + tap * g.dilations[axis])
    });
    let places = places.map(|place| place.wrapping_sub(g.before[axis]));
    let lines = places.map(|place| {
        if place < g.sizes[axis] {
            place * step
        } else {
            BESIDE
        }
    });
    lines.collect()
}

impl Register {
    pub fn new(g: &Geometry, first: usize, lanes: usize) -> Self {
        let (stride, size) = (g.strides[2], g.sizes[2] as isize);
        let count = lanes.min(g.positions[2] - first);
        // A stride of 2 loads pairs, with a bit for each element.
        let width = if stride == 2 { 2 } else { 1 };
        let taps = (0..g.kernel[2]).map(|tap| {
            let from = (first * stride + tap * g.dilations[2]) as isize - g.before[2] as isize;
            let mask = (0..count).filter(|lane| {
                let place = from + (lane * stride) as isize;
                (0..size).contains(&place)
            });
            (from, mask.fold(0, |mask, lane| mask | 1 << (lane * width)))
        });
        Self {
            first,
            count,
            taps: taps.collect(),
        }
    }
}
