//! Output channels that tiles compute together.

use super::run::Convolution;
use crate::flex::{plan::Band, tile::Bias};

/// Output channels of a group that tiles compute together, over a band.
pub struct Rows<'a> {
    pub left: &'a [f32],
    pub count: usize,
    pub bias: Bias<'a>,
    /// Residual input, starting at the first pixel of the band in the first channel.
    pub residual: Option<&'a [f32]>,
    /// Stride between channels.
    pub stride: usize,
    /// Weights of the next rows, to be prefetched.
    pub next: &'a [f32],
    /// Distance of the columns of the input to be prefetched, or 0.
    pub ahead: usize,
}

impl<'a> Rows<'a> {
    /// `count` rows from the output channel `first` on, counted through groups and batches.
    pub fn new(of: &Convolution<'a>, band: &Band, first: usize, count: usize) -> Self {
        let filters = of.filters;
        let positions: usize = of.geometry.positions.iter().product();
        let (group, output) = (first / filters.outputs % filters.groups, first % filters.outputs);
        Self {
            left: filters.from(group, output),
            count,
            bias: match of.bias {
                Some(bias) => Bias::Rows(&bias[first % (filters.groups * filters.outputs)..]),
                None => Bias::Zero,
            },
            residual: of.residual.map(|values| &values[first * positions + band.first(&of.geometry)..]),
            stride: positions,
            next: filters.from(group, output + count),
            ahead: 0,
        }
    }
}
