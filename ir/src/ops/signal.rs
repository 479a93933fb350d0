//! Signals: Fourier transforms, windows, filter banks.

pub mod dft;
pub mod windows;

super::families![dft, windows];
