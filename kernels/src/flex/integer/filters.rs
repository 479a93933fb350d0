//! Packed weights of convolutions of bytes.

use super::band::Grouping;
use super::pack::{Left, first_bytes};
use crate::flex::conv::Geometry;
use crate::flex::simd::{DotInstructions, SIGNS};

/// The weight of each group of channels in panels of outputs.
pub struct Filters {
    pub dot: DotInstructions,
    pub grouping: Grouping,
    pub groups: Vec<Left>,
    /// Number of input channels of a group.
    pub channels: usize,
    /// Number of terms of an output element.
    pub terms: usize,
    /// A row whose terms are all 1.
    pub ones: Left,
    /// The sums of the terms of each output, as signed bytes.
    pub sums: Vec<i32>,
}

impl Filters {
    /// Packs a dense weight of output channels, input channels and taps.
    pub fn new(
        dot: DotInstructions,
        weight: &[u8],
        is_signed: bool,
        [outputs, channels]: [usize; 2],
        groups: usize,
        geometry: &Geometry,
    ) -> Self {
        let grouping = Grouping::of(geometry, channels);
        let [_, _, wide] = geometry.kernel;
        let taps = geometry.taps();
        let terms = channels * taps;
        let flip = if is_signed { 0 } else { SIGNS };
        let outputs = outputs / groups;
        // For each group the offset of its first term, the distance of its terms, and their number.
        let words: Vec<(usize, usize, usize)> = match grouping {
            Grouping::Channels => (0..channels.div_ceil(4))
                .flat_map(|four| {
                    let count = (channels - 4 * four).min(4);
                    (0..taps).map(move |tap| (4 * four * taps + tap, taps, count))
                })
                .collect(),
            Grouping::Columns(_) => (0..channels * taps / wide)
                .flat_map(|row| {
                    (0..wide).step_by(4).map(move |tap| (row * wide + tap, 1, (wide - tap).min(4)))
                })
                .collect(),
        };
        let pack = |group: usize| {
            Left::new(dot, outputs, words.len(), |output, out| {
                let weight = &weight[(group * outputs + output) * terms..][..terms];
                for (out, (first, step, count)) in out.iter_mut().zip(&words) {
                    let byte = |at: usize| {
                        if at < *count { weight[first + at * step] } else { 0 }
                    };
                    let bytes = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
                    *out = (bytes ^ flip) & first_bytes(*count);
                }
            })
        };
        let groups: Vec<Left> = (0..groups).map(pack).collect();
        let ones = Left::new(dot, 1, words.len(), |_, out| {
            for (out, (_, _, count)) in out.iter_mut().zip(&words) {
                *out = 0x0101_0101 & first_bytes(*count);
            }
        });
        let sums = groups.iter().flat_map(|group| group.sums.iter().copied());
        Self { dot, grouping, channels, terms, ones, sums: sums.collect(), groups }
    }

    /// Returns true if a convolution with this geometry reads this order.
    pub fn fits(&self, groups: usize, geometry: &Geometry) -> bool {
        self.groups.len() == groups && self.grouping == Grouping::of(geometry, self.channels)
    }
}
