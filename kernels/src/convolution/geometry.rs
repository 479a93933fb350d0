//! Where windows read and write.

/// The sizes of windows over depth, rows and columns; axes that are not there have one place.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub sizes: [usize; 3],
    pub kernel: [usize; 3],
    pub strides: [usize; 3],
    pub dilations: [usize; 3],
    /// The padding before the first place.
    pub before: [usize; 3],
    pub positions: [usize; 3],
}
