//! Spectra.

pub mod dft;
