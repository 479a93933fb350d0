//! Regions of images.

/// Options of RoiAlign.
#[derive(Clone, Copy, Debug)]
pub struct RoiAlign {
    /// Rows and columns of the result.
    pub output: [usize; 2],
    /// Number of points along each axis of one element of the result; 0 for one point each element of the input that it spans.
    pub sampling: usize,
    /// Factor on the corners of regions.
    pub scale: f32,
    /// Whether whole coordinates are the edges of elements, not their centers.
    pub half_pixel: bool,
    pub mode: Mode,
}

/// The reduction of the points of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Average,
    /// The maximum of the weighted neighbours of all points, not of their sums.
    Max,
}
