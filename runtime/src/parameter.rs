//! Parameters that a model shares with its file.

/// A parameter of a model: a float initializer of rank 1 or more that is a `Param` of the module.
///
/// A model compiled for training has each parameter that its outputs depend on, once, even if several operators read
/// it. Without training, some may be missing because simplification merged them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Path in the module, as in records: `encoder.layers.0.query.weight`.
    pub path: &'static str,
    /// Name in the file.
    pub name: &'static str,
    /// Shape in the file. The layer may store it transposed.
    pub shape: &'static [usize],
    /// Whether gradients change it. The mean and variance of a batch normalization are statistics, which have none.
    pub trained: bool,
}
