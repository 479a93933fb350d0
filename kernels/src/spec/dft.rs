//! Discrete Fourier transforms.

/// A transform. Complex numbers are pairs along the last axis, real numbers are single elements there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dft {
    /// Number of elements that are transformed; the signal is cut or padded with zeros.
    pub length: usize,
    pub inverse: bool,
    /// Whether spectra omit the conjugates that a real signal implies. The inverse of such a spectrum is real.
    pub onesided: bool,
}

impl Dft {
    /// Transform of signals of `length`.
    pub const fn new(length: usize) -> Self {
        Self {
            length,
            inverse: false,
            onesided: false,
        }
    }

    /// Number of results.
    pub const fn outputs(&self) -> usize {
        if self.onesided && !self.inverse {
            self.length / 2 + 1
        } else {
            self.length
        }
    }

    /// Number of parts of each result: 2 of a complex number.
    pub const fn parts(&self) -> usize {
        if self.onesided && self.inverse { 1 } else { 2 }
    }

    /// Number of elements of the input that are read.
    pub const fn inputs(&self) -> usize {
        if self.onesided && self.inverse {
            self.length / 2 + 1
        } else {
            self.length
        }
    }
}
