//! Signals: Fourier transforms, windows and filter banks.

pub mod dft;
pub mod windows;

super::families![dft, windows];
