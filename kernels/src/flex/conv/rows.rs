//! Output channels that tiles compute together.

use super::run::Convolution;
use crate::flex::{plan::Band, tile::Bias};

/// Output channels of a group that tiles compute together, over a band.
pub struct Rows<'a> {
    pub left: &'a [f32],
    pub count: usize,
    /// Whether a part begins with them.
    pub is_first: bool,
    pub bias: Bias<'a>,
    /// Residual input, starting at the first pixel of the band in the first channel.
    pub residual: Option<&'a [f32]>,
    /// Stride between channels.
    pub stride: usize,
    /// Weights of the next rows, to be prefetched.
    pub next: &'a [f32],
}

impl<'a> Rows<'a> {
    /// `count` rows from the row `at` of a part on, whose first output channel is `part`, counted through groups and batches.
    pub fn new(of: &Convolution<'a>, band: &Band, (part, at): (usize, usize), count: usize) -> Self {
        let first = part + at;
        let filters = of.filters;
        let positions: usize = of.geometry.positions.iter().product();
        let (group, output) = (first / filters.outputs % filters.groups, first % filters.outputs);
        Self {
            left: filters.from(group, output),
            count,
            is_first: at == 0,
            bias: match of.bias {
                Some(bias) => Bias::Rows(&bias[first % (filters.groups * filters.outputs)..]),
                None => Bias::Zero,
            },
            residual: of.residual.map(|values| &values[first * positions + band.first(&of.geometry)..]),
            stride: positions,
            next: filters.from(group, output + count),
        }
    }
}
