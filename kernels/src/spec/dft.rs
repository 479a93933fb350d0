//! Discrete Fourier transforms.

/// A transform. Complex numbers are pairs along the last axis, real numbers are single elements there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dft {
    /// Number of elements that are transformed; the signal is truncated or padded with zeros.
    pub length: usize,
    pub inverse: bool,
    /// Spectra omit the conjugates that a real signal implies. The inverse of such a spectrum is real.
    pub onesided: bool,
}

impl Dft {
    /// Returns the transform of signals of `length`.
    pub const fn new(length: usize) -> Self {
        Self { length, inverse: false, onesided: false }
    }

    /// Returns the number of results.
    pub const fn outputs(&self) -> usize {
        if self.onesided && !self.inverse { self.length / 2 + 1 } else { self.length }
    }

    /// Returns the number of parts of each result: 2 for a complex number.
    pub const fn parts(&self) -> usize {
        if self.onesided && self.inverse { 1 } else { 2 }
    }

    /// Returns the number of input elements that are read.
    pub const fn inputs(&self) -> usize {
        if self.onesided && self.inverse { self.length / 2 + 1 } else { self.length }
    }
}
