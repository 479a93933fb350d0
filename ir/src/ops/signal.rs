//! Signals: Fourier transforms, windows, filter banks.

super::families![
    dft,
    windows,
];
