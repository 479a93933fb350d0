//! Support vector machines.

/// Kernel function of a row and a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kernel {
    #[default]
    Linear,
    Poly,
    Rbf,
    Sigmoid,
}

/// Parameters of a machine on a device.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    pub kernel: Kernel,
    pub gamma: f32,
    pub coef0: f32,
    pub degree: f32,
    /// Number of sums of a row over the vectors of each class; `None` for the products themselves.
    pub sums: Option<usize>,
    pub classes: usize,
}

/// Least distance of the probability of one of two classes from 0 and 1.
pub const NEAREST: f64 = 1e-7;
/// Error at which the iteration for the probabilities of classes ends, times their number.
pub const TOLERANCE: f64 = 0.005;
/// Greatest number of its steps.
pub const STEPS: usize = 100;
