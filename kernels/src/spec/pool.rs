//! Pools over windows.

use alloc::vec::Vec;

use super::{geometry::Geometry, types::TensorType};

/// The reduction of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Largest,
    /// The mean of the elements inside the input, or of the padding too.
    Mean {
        padding: bool,
    },
}

/// Windows over the spatial axes of `[batch, channels, spatial..]`.
#[derive(Clone, Copy, Debug)]
pub struct Slide {
    pub of: Of,
    pub geometry: Geometry,
    /// Padding at the end of each axis.
    pub after: [usize; 3],
}

impl Slide {
    /// Returns the type of the pool of `[batch, channels, ..]`.
    pub fn result(&self, x: &TensorType) -> TensorType {
        let mut shape = x.shape.clone();
        let missing = 5 - shape.num_dims();
        for axis in 2..shape.num_dims() {
            shape[axis] = self.geometry.positions[axis - 2 + missing];
        }
        TensorType::new(shape, x.dtype)
    }

    /// Returns the number of elements in the mean at each output position along an axis, at least 1.
    pub fn counts(&self, axis: usize, padding: bool) -> Vec<f32> {
        let g = &self.geometry;
        let (begin, size) = (g.before[axis], g.sizes[axis]);
        let counted = if padding { 0..begin + size + self.after[axis] } else { begin..begin + size };
        let count = |position: usize| {
            let taps = 0..g.kernel[axis];
            let coordinates = taps.map(|tap| position * g.strides[axis] + tap * g.dilations[axis]);
            coordinates.filter(|coordinate| counted.contains(coordinate)).count()
        };
        let positions = 0..g.positions[axis];
        positions.map(|at| count(at).max(1) as f32).collect()
    }
}

/// Returns the type of `[batch, channels, ..]` with these spatial sizes.
pub fn planes(x: &TensorType, [rows, columns]: [usize; 2]) -> TensorType {
    TensorType::new([x.shape[0], x.shape[1], rows, columns], x.dtype)
}
