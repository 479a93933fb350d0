//! Reductions of the numbers that windows see.

use crate::flex::simd::Isa;

/// Output pixels of one channel that a register has.
#[derive(Clone, Copy)]
pub struct At {
    /// Depth, row and column of the first one.
    pub position: [usize; 3],
    /// Index of the first one in the channel.
    pub offset: usize,
    /// Number of lanes that are output pixels.
    pub count: usize,
}

/// Reduction of the numbers that a window sees.
pub trait Fold {
    /// Weight of each tap; empty if there are none.
    fn weights(&self) -> &[f32];

    /// The result of no number.
    fn begin<I: Isa>(&self, isa: I) -> I::Floats;

    /// `sum` with the numbers that a tap of this weight sees.
    fn step<I: Isa>(&self, isa: I, sum: I::Floats, values: I::Floats, weight: I::Floats) -> I::Floats;

    /// The output pixels, from the results after the last tap.
    fn end<I: Isa>(&self, isa: I, sum: I::Floats, at: At) -> I::Floats;
}
