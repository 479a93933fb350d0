//! Fourier transforms with their matrices.

pub mod dft;
