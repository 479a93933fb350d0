//! Windows and filter banks for signals.

use alloc::{vec, vec::Vec};
use core::f64::consts::{LN_10, PI};

use burn::tensor::{Device, Tensor};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use onnx_embed_kernels::sizes::elements;

use super::float;
use crate::ElementType;

/// Returns a Hann window. A periodic one is the symmetric window of `size + 1` without its last element.
pub fn hann_window(device: &Device, dtype: ElementType, size: usize, periodic: bool) -> Tensor<1> {
    window(device, dtype, size, periodic, |phase| (phase / 2.0).sin().powi(2))
}

/// Returns a Hamming window, periodic as [`hann_window`].
pub fn hamming_window(device: &Device, dtype: ElementType, size: usize, periodic: bool) -> Tensor<1> {
    let alpha = 25.0 / 46.0;
    window(device, dtype, size, periodic, |phase| alpha - (1.0 - alpha) * phase.cos())
}

/// Returns a Blackman window, periodic as [`hann_window`].
pub fn blackman_window(device: &Device, dtype: ElementType, size: usize, periodic: bool) -> Tensor<1> {
    window(device, dtype, size, periodic, |phase| {
        // In this order the peak is exactly 1.
        -0.5 * phase.cos() + 0.08 * (2.0 * phase).cos() + 0.42
    })
}

/// Returns `bands` triangular filters of the mel scale, over the bins of a spectrum of `dft_length`.
pub fn mel_weight_matrix(
    device: &Device,
    dtype: ElementType,
    [bands, dft_length, sample_rate]: [usize; 3],
    [lower, upper]: [f64; 2],
) -> Tensor<2> {
    let bins = dft_length / 2 + 1;
    let mel = |hertz: f64| 2595.0 * (hertz / 700.0).ln_1p() / LN_10;
    let (first, last) = (mel(lower), mel(upper));
    let step = (last - first) / (bands + 2) as f64;
    let bin = |band: usize| {
        let hertz = 700.0 * ((first + band as f64 * step) / 2595.0 * LN_10).exp_m1();
        ((dft_length as f64 + 1.0) * hertz / sample_rate as f64).floor() as usize
    };
    let mut weights = vec![0.0; elements(&[bins, bands], size_of::<f64>())];
    let mut set = |bin: usize, band: usize, value: f64| {
        if bin < bins {
            weights[bin * bands + band] = value;
        }
    };
    for band in 0..bands {
        let [low, center, high] = [band, band + 1, band + 2].map(bin);
        if low == center {
            set(center, band, 1.0);
        }
        for at in low..center.saturating_add(1).min(bins) {
            if low < center {
                set(at, band, (at - low) as f64 / (center - low) as f64);
            }
        }
        for at in center..high.min(bins) {
            set(at, band, (high - at) as f64 / (high - center) as f64);
        }
    }
    float(device, dtype, [bins, bands], &weights)
}

fn window(
    device: &Device,
    dtype: ElementType,
    size: usize,
    periodic: bool,
    value: impl Fn(f64) -> f64,
) -> Tensor<1> {
    let length = if periodic { size } else { size.saturating_sub(1) };
    let phase = |at: usize| match length {
        0 => PI,
        _ => 2.0 * PI * at as f64 / length as f64,
    };
    let size = elements(&[size], size_of::<f64>());
    let values: Vec<f64> = (0..size).map(|at| value(phase(at))).collect();
    float(device, dtype, [size], &values)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;

    fn values(window: Tensor<1>) -> Vec<f32> {
        let data = window.into_data();
        data.iter::<f32>().map(|value| (value * 1e3).round() / 1e3).collect()
    }

    #[test]
    fn windows_are_symmetric_or_periodic() {
        let device = Device::flex();
        let hann = |size, periodic| values(hann_window(&device, ElementType::Float32, size, periodic));
        assert_eq!(hann(4, true), [0.0, 0.5, 1.0, 0.5]);
        assert_eq!(hann(5, false), [0.0, 0.5, 1.0, 0.5, 0.0]);
        assert_eq!(hann(1, false), [1.0]);
        let hamming = hamming_window(&device, ElementType::Float32, 3, false);
        assert_eq!(values(hamming), [0.087, 1.0, 0.087]);
        let blackman = blackman_window(&device, ElementType::Float32, 3, false);
        assert_eq!(values(blackman), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn triangles_rise_and_fall() {
        let (device, dtype) = (Device::flex(), ElementType::Float32);
        let weights = mel_weight_matrix(&device, dtype, [2, 16, 8192], [0.0, 4096.0]);
        let low = weights.clone().narrow(0, 0, 5).into_data();
        let expected = [[1.0f32, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 0.5], [0.0, 0.0]];
        assert_eq!(low, TensorData::from(expected));
        assert_eq!(weights.dims(), [9, 2]);
    }
}
