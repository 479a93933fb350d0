//! The discrete Fourier transform.
//!
//! A device may have a kernel for it. Otherwise short transforms are products with a matrix, and long ones passes over the
//! tensor.

mod chirp;
mod matrix;
mod passes;

use alloc::{boxed::Box, vec};
use burn::tensor::Tensor;
use once_cell::race::OnceBox;

use crate::shape::WithShape;
pub use crate::spec::dft::Dft;
use crate::{
    backend::{Outcome, call},
    ensure,
    sizes::elements,
    spec::{operand, shaped},
    widen::widened,
};
use matrix::windowed;
use passes::Complex;

/// Bytes of memory per number of a transform of any length: four copies of two f64.
const SCRATCH_BYTES: usize = 64;

/// Maximum length of a transform that is a product with a matrix, which takes a megabyte for 512.
const MAX_MATRIX_LENGTH: usize = 512;

/// A transform, with its matrix once computed.
#[derive(Clone, Debug)]
pub struct Plan {
    options: Dft,
    matrix: OnceBox<Tensor<2>>,
}

/// Transforms `[.., parts]` along `axis`.
#[inline(never)]
pub fn dft<const D: usize>(x: Tensor<D>, axis: usize, options: &Dft) -> Tensor<D> {
    Plan::new(*options).dft(x, axis)
}

/// Returns the spectra of `[batch, length, parts]` in frames, `[batch, frames, outputs, 2]`. Frames have
/// length `frame`, start `step` elements apart, and are multiplied by `window`.
#[inline(never)]
pub fn stft(x: Tensor<3>, step: usize, window: Option<Tensor<1>>, frame: usize, onesided: bool) -> Tensor<4> {
    let options = Dft { onesided, ..Dft::new(frame) };
    Plan::new(options).stft(x, step, window)
}

impl Plan {
    pub fn new(options: Dft) -> Self {
        Self { options, matrix: OnceBox::new() }
    }

    /// Transforms `[.., parts]` along `axis`.
    ///
    /// # Panics
    /// If the spectra or the scratch memory of one exceed the memory limit.
    #[inline(never)]
    pub fn dft<const D: usize>(&self, x: Tensor<D>, axis: usize) -> Tensor<D> {
        let dtype = x.dtype();
        let x = widened(x).swap_dims(axis, D - 2);
        let mut dims = x.dims();
        let [size, parts] = [dims[D - 2], dims[D - 1]];
        let rows = dims[..D - 2].iter().product();
        dims[D - 2] = self.options.outputs();
        dims[D - 1] = self.options.parts();
        elements(&[self.options.length], SCRATCH_BYTES);
        elements(&dims, x.dtype().size());
        let y = self.rows(x.with_shape([rows, size, parts]));
        y.with_shape(dims).swap_dims(axis, D - 2).cast(dtype)
    }

    /// [`stft`] with the window that this plan is always used with.
    #[inline(never)]
    pub fn stft(&self, x: Tensor<3>, step: usize, window: Option<Tensor<1>>) -> Tensor<4> {
        let (dtype, options) = (x.dtype(), self.options);
        let [batch, size, parts] = x.dims();
        let frame = options.length;
        ensure!(
            frame <= size,
            "expected frames of at most the length of the signal {:?}, found {frame}",
            x.dims()
        );
        ensure!(step > 0, "expected a positive frame step, found 0");
        if let Some(window) = &window {
            let signal = x.dims();
            shaped(operand("window", &window.dims()), &[frame], operand("signal", &signal));
        }
        let shape = [batch, (size - frame) / step + 1, options.outputs(), options.parts()];
        let x = widened(x);
        elements(&[frame], SCRATCH_BYTES);
        elements(&shape, x.dtype().size());
        if shape.contains(&0) || frame == 0 {
            return Tensor::zeros(shape, (&x.device(), dtype));
        }
        let window = window.map(|window| window.cast(x.dtype()));
        let (signal, factors) = (x.clone(), window.clone());
        if let Outcome::Float(y) = call!(stft(signal, factors; step, options)) {
            return Tensor::<4>::from_dispatch(y).cast(dtype);
        }
        let frames: Tensor<4> = x.unfold(1, frame, step);
        let rows = shape[0] * shape[1];
        let frames = frames.swap_dims(2, 3).with_shape([rows, frame, parts]);
        let y = if frame <= MAX_MATRIX_LENGTH {
            self.by_matrix(frames, window)
        } else {
            self.rows(match window {
                Some(window) => frames * window.with_shape([1, frame, 1]),
                None => frames,
            })
        };
        y.with_shape(shape).cast(dtype)
    }

    /// Transforms each row of `[rows, size, parts]`.
    fn rows(&self, x: Tensor<3>) -> Tensor<3> {
        let options = self.options;
        let [rows, size, _] = x.dims();
        let shape = [rows, options.outputs(), options.parts()];
        if shape.contains(&0) || size == 0 || options.length == 0 {
            return Tensor::zeros(shape, (&x.device(), x.dtype()));
        }
        let signal = x.clone();
        match call!(dft(signal; options)) {
            Outcome::Float(y) => Tensor::from_dispatch(y),
            _ if options.length <= MAX_MATRIX_LENGTH => self.by_matrix(x, None),
            _ => by_passes(x, options),
        }
    }

    fn by_matrix(&self, x: Tensor<3>, window: Option<Tensor<1>>) -> Tensor<3> {
        let [rows, size, parts] = x.dims();
        let (device, dtype) = (x.device(), x.dtype());
        let make = || windowed(self.options.matrix([size, parts], &device, dtype), window);
        let fits = |matrix: &Tensor<2>| {
            matrix.dims()[0] == size * parts && matrix.device() == device && matrix.dtype() == dtype
        };
        let matrix = match self.matrix.get() {
            Some(matrix) if fits(matrix) => matrix.clone(),
            // The module was moved to another device, or axes have other sizes.
            Some(_) => make(),
            None => self.matrix.get_or_init(|| Box::new(make())).clone(),
        };
        #[expect(clippy::disallowed_methods, reason = "CPUs have a kernel for transforms")]
        let y = x.with_shape([rows, size * parts]).matmul(matrix);
        y.with_shape([rows, self.options.outputs(), self.options.parts()])
    }
}

/// Transforms each row of `[rows, size, parts]`.
fn by_passes(x: Tensor<3>, options: Dft) -> Tensor<3> {
    let [rows, size, parts] = x.dims();
    let inputs = options.inputs();
    let size = size.min(inputs);
    let zeros = |size| Tensor::<2>::zeros([rows, size], (&x.device(), x.dtype()));
    let part = |part: usize| {
        if part >= parts {
            return zeros(inputs);
        }
        let part = x.clone().slice([0..rows, 0..size, part..part + 1]);
        let part = part.with_shape([rows, size]);
        if size < inputs { Tensor::cat(vec![part, zeros(inputs - size)], 1) } else { part }
    };
    let (mut real, mut imaginary) = (part(0), part(1));
    if inputs < options.length {
        // The other half of the spectrum of a real signal mirrors the given one, without its ends.
        let missing = options.length - inputs;
        let mirror = |part: &Tensor<2>| part.clone().narrow(1, 1, missing).flip([1]);
        real = Tensor::cat(vec![real.clone(), mirror(&real)], 1);
        imaginary = Tensor::cat(vec![imaginary.clone(), -mirror(&imaginary)], 1);
    }
    let y = passes::transform(Complex { real, imaginary }, options.inverse);
    let y = if options.inverse { y.scaled(1.0 / options.length as f64) } else { y };
    let y = match options.parts() {
        1 => y.real.unsqueeze_dim(2),
        _ => Tensor::stack::<3>(vec![y.real, y.imaginary], 2),
    };
    y.narrow(1, 0, options.outputs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near, noise};

    #[test]
    fn a_wave_has_one_frequency() {
        let wave = [1f32, 0.0, -1.0, 0.0].map(|value| [value]);
        let y = dft(float::<3>([wave]), 1, &Dft::new(4));
        let expected = [[0f32, 0.0], [2.0, 0.0], [0.0, 0.0], [2.0, 0.0]];
        near(y, [expected], 1e-6);
    }

    #[test]
    fn the_inverse_gives_the_signal_back() {
        for length in [5, 7, 8] {
            let x = noise::<4>([2, length, 3, 2], 1);
            let forward = Dft::new(length);
            let back = Dft { inverse: true, ..forward };
            let y = dft(dft(x.clone(), 1, &forward), 1, &back);
            near(y, x.into_data(), 1e-5);
        }
    }

    #[test]
    fn half_a_spectrum_gives_a_real_signal_back() {
        for length in [5, 8] {
            let x = noise::<3>([2, length, 1], 1);
            let forward = Dft { onesided: true, ..Dft::new(length) };
            let back = Dft { inverse: true, ..forward };
            let half = dft(x.clone(), 1, &forward);
            assert_eq!(half.dims(), [2, length / 2 + 1, 2]);
            near(dft(half, 1, &back), x.into_data(), 1e-5);
        }
    }

    /// All implementations agree with the matrix, which `a_wave_has_one_frequency` compares with the definition.
    #[test]
    fn all_implementations_agree() {
        for length in [1, 2, 6, 7, 10, 13] {
            for (inverse, onesided) in [(false, false), (false, true), (true, false), (true, true)] {
                let options = Dft { length, inverse, onesided };
                for parts in [1, 2] {
                    for size in [1, length.div_ceil(2), length, length + 1] {
                        let x = noise::<3>([3, size, parts], 4);
                        let expected = Plan::new(options).by_matrix(x.clone(), None).into_data();
                        near(by_passes(x.clone(), options), expected.clone(), 1e-5);
                        near(dft(x, 1, &options), expected, 1e-5);
                    }
                }
            }
        }
        let none = dft(noise::<3>([0, 6, 1], 1), 1, &Dft::new(6));
        assert_eq!(none.dims(), [0, 6, 2]);
    }

    #[test]
    fn long_transforms_need_no_matrix() {
        let options = Dft::new(16_001);
        let x = noise::<3>([1, 16_001, 1], 4);
        let found = by_passes(x.clone(), options);
        near(found, dft(x, 1, &options).into_data(), 2e-3);
    }

    #[test]
    fn a_spectrum_has_the_energy_of_its_signal() {
        let x = noise::<3>([2, 6, 1], 1);
        let y = dft(x.clone(), 1, &Dft::new(6));
        near(y.powi_scalar(2).sum(), (x.powi_scalar(2).sum() * 6.0).into_data(), 1e-4);
    }

    #[test]
    fn signals_are_cut_or_filled_up() {
        let x = noise::<3>([1, 6, 2], 1);
        let cut = dft(x.clone().narrow(1, 0, 4), 1, &Dft::new(4));
        near(dft(x.clone(), 1, &Dft::new(4)), cut.into_data(), 1e-6);
        let zeros = Tensor::zeros([1, 2, 2], &x.device());
        let filled = Tensor::cat(vec![x.clone(), zeros], 1);
        let filled = dft(filled, 1, &Dft::new(8));
        near(dft(x, 1, &Dft::new(8)), filled.into_data(), 1e-5);
    }

    #[test]
    fn frames_are_transformed_one_by_one() {
        let x = noise::<3>([2, 9, 1], 1);
        let window = float::<1>([0.5f32, 1.0, 2.0, 1.0]);
        let y = stft(x.clone(), 2, Some(window.clone()), 4, true);
        assert_eq!(y.dims(), [2, 3, 3, 2]);
        let frame = x.narrow(1, 2, 4) * window.with_shape([1, 4, 1]);
        let options = Dft { onesided: true, ..Dft::new(4) };
        let second = dft(frame, 1, &options).unsqueeze_dim::<4>(1);
        near(y.narrow(1, 1, 1), second.into_data(), 1e-6);
    }
}
