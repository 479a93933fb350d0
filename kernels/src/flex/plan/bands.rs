//! Bands of a convolution's input (a tiled im2col).
//!
//! A band is the input of some output rows, copied with its padding.
//!
//! Elements of the input that are a stride apart are adjacent in the copy: each tap reads its part of a row as contiguous
//! elements, whatever the stride. A row of the copy is as long as a row of output pixels and the elements that the last tap
//! reads after it, so that output pixels, counted along rows of the copy, are 1 apart, with gaps between two rows.

use std::ops::Range;

use super::tuning::{max_band_len, min_band_columns};
use crate::flex::tile::RowOffsets;
use crate::spec::geometry::Geometry;

/// Layout of the copy of a band.
pub struct Layout {
    pub geometry: Geometry,
    pub rows: Axis,
    pub columns: Axis,
    /// Sizes of the copy of one phase.
    pub height: usize,
    pub width: usize,
    /// Elements from one channel to the next.
    channel: usize,
    /// Number of output pixels of a band along rows and columns.
    pub band: [usize; 2],
}

/// Output pixels in one slice of the depth.
#[derive(Clone, Debug)]
pub struct Band {
    pub depth: usize,
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

/// The taps along an axis: elements that are `stride` apart are adjacent for them.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Remainders of the taps' offsets, by `stride`.
    pub phases: Vec<usize>,
    /// For each tap the index of its phase, and the distance from the first element of the phase.
    pub taps: Vec<(usize, usize)>,
    /// Largest distance of a tap.
    pub furthest: usize,
}

/// Range of an axis of a copy that has elements of the input, and index of the first of these in the input.
#[derive(Clone, Copy)]
pub struct CopiedRange {
    pub begin: usize,
    pub end: usize,
    pub first: usize,
}

impl Band {
    /// Number of output pixels, which are contiguous.
    pub fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// Index of the first output pixel.
    pub fn first(&self, geometry: &Geometry) -> usize {
        let [_, high, wide] = geometry.positions;
        (self.depth * high + self.rows.start) * wide + self.columns.start
    }
}

impl Layout {
    /// Bands of an input with `channels` channels: at least `parts`, if there are as many rows or columns.
    pub fn new(geometry: Geometry, channels: usize, parts: usize) -> Self {
        let axis =
            |axis: usize| Axis::new(geometry.kernel[axis], geometry.strides[axis], geometry.dilations[axis]);
        let (rows, columns) = (axis(1), axis(2));
        let planes = geometry.kernel[0] * rows.phases.len() * columns.phases.len();
        let [_, high, wide] = geometry.positions;
        // The largest bands whose copies have `max_band_len` elements: of whole rows, or of a part of one row.
        let plane_len = max_band_len() / (channels * planes).max(1);
        let fitting_columns = (plane_len / (rows.furthest + 1)).saturating_sub(columns.furthest);
        let most_columns = fitting_columns.max(min_band_columns());
        let by_columns = if wide <= most_columns { wide } else { even(wide, most_columns) };
        let by_rows = if by_columns < wide {
            1
        } else {
            let fitting_rows = (plane_len / (wide + columns.furthest)).saturating_sub(rows.furthest);
            even(high, fitting_rows.clamp(1, high))
        };
        // Smaller ones, so that their number along an axis is a multiple of the parts.
        let for_parts = |size: usize, by: usize| size.div_ceil(size.div_ceil(by).next_multiple_of(parts));
        let bands = high.div_ceil(by_rows) * wide.div_ceil(by_columns);
        let band = if high > 1 && (by_columns == wide || bands < parts) {
            [for_parts(high, by_rows), by_columns]
        } else if high == 1 {
            [1, for_parts(wide, by_columns)]
        } else {
            [by_rows, by_columns]
        };
        let (height, width) = (band[0] + rows.furthest, band[1] + columns.furthest);
        let channel = planes * height * width;
        Self { geometry, height, width, channel, rows, columns, band }
    }

    /// All bands, in the order of their output pixels.
    pub fn bands(&self) -> Vec<Band> {
        let [deep, high, wide] = self.geometry.positions;
        let [by_rows, by_columns] = self.band;
        let mut bands = Vec::new();
        for depth in 0..deep {
            for row in (0..high).step_by(by_rows) {
                for column in (0..wide).step_by(by_columns) {
                    bands.push(Band {
                        depth,
                        rows: row..high.min(row + by_rows),
                        columns: column..wide.min(column + by_columns),
                    });
                }
            }
        }
        bands
    }

    /// Number of elements of a copy.
    pub fn length(&self, channels: usize) -> usize {
        channels * self.channel
    }

    /// Offsets of the elements that the taps of all channels read for the first output pixel, in the order of the weight.
    pub fn offsets(&self, channels: usize) -> Option<RowOffsets> {
        let plane = self.height * self.width;
        let phases = [self.rows.phases.len(), self.columns.phases.len()];
        let mut offsets = Vec::with_capacity(channels * self.geometry.taps());
        for channel in 0..channels {
            for depth in 0..self.geometry.kernel[0] {
                for (row_phase, down) in &self.rows.taps {
                    for (column_phase, right) in &self.columns.taps {
                        let phase = (depth * phases[0] + row_phase) * phases[1] + column_phase;
                        let at = channel * self.channel + phase * plane;
                        offsets.push(at + down * self.width + right);
                    }
                }
            }
        }
        RowOffsets::new(offsets.into_iter())
    }
}

impl CopiedRange {
    /// Element `at` of the axis is element `stride * at + shift - padding` of the input.
    pub fn new(g: &Geometry, axis: usize, shift: usize, length: usize) -> Self {
        let (stride, before) = (g.strides[axis], g.before[axis]);
        let begin = before.saturating_sub(shift).div_ceil(stride).min(length);
        let end = (g.sizes[axis] + before).saturating_sub(shift).div_ceil(stride);
        Self { begin, end: end.clamp(begin, length), first: (begin * stride + shift).saturating_sub(before) }
    }
}

impl Axis {
    pub fn new(kernel: usize, stride: usize, dilation: usize) -> Self {
        let offsets = || (0..kernel).map(|tap| tap * dilation);
        let mut phases: Vec<usize> = offsets().map(|offset| offset % stride).collect();
        phases.sort_unstable();
        phases.dedup();
        let index = |phase| phases.binary_search(&phase).unwrap_or(0);
        let taps: Vec<_> = offsets().map(|offset| (index(offset % stride), offset / stride)).collect();
        let furthest = taps.iter().map(|(_, distance)| *distance).max().unwrap_or(0);
        Self { phases, taps, furthest }
    }
}

/// `count` in equal parts of at most `most`.
fn even(count: usize, most: usize) -> usize {
    count.div_ceil(count.div_ceil(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_of_a_stride_are_adjacent_in_their_phase() {
        let axis = Axis::new(4, 2, 1);
        assert_eq!(axis.phases, [0, 1]);
        assert_eq!(axis.taps, [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(axis.furthest, 1);
        let axis = Axis::new(3, 2, 2);
        assert_eq!(axis.phases, [0]);
        assert_eq!(axis.taps, [(0, 0), (0, 1), (0, 2)]);
        let axis = Axis::new(2, 3, 4);
        assert_eq!((axis.phases, axis.taps), (vec![0, 1], vec![(0, 0), (1, 1)]));
    }
}
