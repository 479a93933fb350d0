//! Cumulative sums and products.

/// A cumulative sum or product along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    pub axis: usize,
    /// Whether each element is left out of its own sum.
    pub exclusive: bool,
    /// Whether it starts at the end of the axis.
    pub reverse: bool,
    pub product: bool,
}
