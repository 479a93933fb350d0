//! Regions of images.

use super::types::TensorType;

/// Options of RoiAlign.
#[derive(Clone, Copy, Debug)]
pub struct RoiAlign {
    /// Rows and columns of the result.
    pub output: [usize; 2],
    /// Number of points along each axis of one output element; 0 for one point per input element that it spans.
    pub sampling: usize,
    /// Factor on the corners of regions.
    pub scale: f32,
    /// Integral coordinates are the edges of elements, not their centers.
    pub half_pixel: bool,
    pub mode: Mode,
}

/// The reduction of the points of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Average,
    /// The maximum of the weighted neighbors of all points, not of the interpolated values.
    Max,
}

/// Returns the type of regions of this many rows and columns; `None` for f64, as coordinates are f32.
pub fn result(x: &TensorType, regions: &TensorType, [rows, columns]: [usize; 2]) -> Option<TensorType> {
    let fits = x.dtype.size() <= 4 && regions.dtype.size() <= 4;
    fits.then(|| TensorType::new([regions.shape[0], x.shape[1], rows, columns], x.dtype))
}
