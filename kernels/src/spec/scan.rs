//! Cumulative sums and products.

/// A cumulative sum or product along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    pub axis: usize,
    /// Each element is excluded from its own sum.
    pub exclusive: bool,
    /// The scan starts at the end of the axis.
    pub reverse: bool,
    pub product: bool,
}
