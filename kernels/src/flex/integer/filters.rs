//! Weights of convolutions of bytes in the order in which tiles read them.

use super::band::Grouping;
use super::pack::{Left, first_bytes};
use crate::flex::conv::Geometry;
use crate::flex::simd::{DotInstructions, SIGNS};

/// The weight of each group of channels in panels of outputs.
pub struct Filters {
    pub dot: DotInstructions,
    pub grouping: Grouping,
    pub groups: Vec<Left>,
    /// How many channels a group has.
    pub channels: usize,
    /// Terms of an output.
    pub terms: usize,
    /// A row of which each term is 1.
    pub ones: Left,
    /// The sums of the terms of each output, as signed bytes.
    pub sums: Vec<i32>,
}

impl Filters {
    /// Of a dense weight of outputs, channels, and the kernel of a convolution.
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
        // Where the first term of each group is, how far the others are from each other, and how many there are.
        let words: Vec<(usize, usize, usize)> = match grouping {
            Grouping::Channels => (0..channels.div_ceil(4))
                .flat_map(|four| {
                    let there = (channels - 4 * four).min(4);
                    (0..taps).map(move |tap| (4 * four * taps + tap, taps, there))
                })
                .collect(),
            Grouping::Columns(_) => (0..channels * taps / wide)
                .flat_map(|row| {
                    (0..wide)
                        .step_by(4)
                        .map(move |tap| (row * wide + tap, 1, (wide - tap).min(4)))
                })
                .collect(),
        };
        let pack = |group: usize| {
            Left::new(dot, outputs, words.len(), |output, out| {
                let weight = &weight[(group * outputs + output) * terms..][..terms];
                for (out, (first, step, there)) in out.iter_mut().zip(&words) {
                    let byte = |at: usize| {
                        if at < *there {
                            weight[first + at * step]
                        } else {
                            0
                        }
                    };
                    let bytes = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
                    *out = (bytes ^ flip) & first_bytes(*there);
                }
            })
        };
        let groups: Vec<Left> = (0..groups).map(pack).collect();
        let ones = Left::new(dot, 1, words.len(), |_, out| {
            for (out, (_, _, there)) in out.iter_mut().zip(&words) {
                *out = 0x0101_0101 & first_bytes(*there);
            }
        });
        let sums = groups.iter().flat_map(|group| group.sums.iter().copied());
        Self {
            dot,
            grouping,
            channels,
            terms,
            ones,
            sums: sums.collect(),
            groups,
        }
    }

    /// Whether they are packed as a convolution with this geometry reads them.
    pub fn fits(&self, groups: usize, geometry: &Geometry) -> bool {
        self.groups.len() == groups && self.grouping == Grouping::of(geometry, self.channels)
    }
}
