//! Sizes of convolutions and pools.

/// Sizes of windows over depth, rows and columns; axes that are missing have size 1.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Spatial sizes of the input.
    pub sizes: [usize; 3],
    pub kernel: [usize; 3],
    pub strides: [usize; 3],
    pub dilations: [usize; 3],
    /// Padding at the begin of each axis.
    pub before: [usize; 3],
    /// Number of window positions, the size of the output.
    pub positions: [usize; 3],
}
