//! Normalizations.

/// Parameters of LRN.
#[derive(Clone, Copy, Debug)]
pub struct Lrn {
    /// Number of channels in the sum, at least 1.
    pub size: usize,
    pub alpha: f32,
    pub beta: f32,
    pub bias: f32,
}
