//! Fourier transforms and their windows.

pub mod dft;
