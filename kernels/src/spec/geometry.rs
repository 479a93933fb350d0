//! Geometry of convolutions and pools.

/// Sizes of windows over depth, rows and columns; missing axes have size 1.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Spatial sizes of the input.
    pub sizes: [usize; 3],
    pub kernel: [usize; 3],
    pub strides: [usize; 3],
    pub dilations: [usize; 3],
    /// Padding at the start of each axis.
    pub before: [usize; 3],
    /// Number of output pixels along each axis.
    pub positions: [usize; 3],
}
