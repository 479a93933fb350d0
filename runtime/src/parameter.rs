//! The parameters that a model has in common with its file.

/// A parameter: a float initializer of the file, of rank 1 or more, as a `Param` of the module.
///
/// A model that is compiled for training has every one that its outputs depend on, each once, however many
/// operators read it. Without training some may be missing, as they were merged into others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Where the module has it, as in the paths of records: `encoder.layer0.query.weight`.
    pub path: &'static str,
    /// What the file calls it.
    pub name: &'static str,
    /// Its shape in the file; a layer may have it transposed.
    pub shape: &'static [usize],
    /// Whether gradients change it. The mean and variance of a batch normalization are statistics, which they
    /// do not.
    pub trained: bool,
}
