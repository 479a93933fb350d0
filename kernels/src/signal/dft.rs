//! The discrete Fourier transform, fast or as a matrix.

mod chirp;
mod fast;

use std::f64::consts::TAU;

use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::{ensure, widen::widened};
use chirp::Chirp;
use fast::Complex;

/// Which transform. Complex numbers are pairs along the last axis, real ones stand alone there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dft {
    /// How many numbers are transformed; the signal is cut or filled up with zeros.
    pub length: usize,
    pub inverse: bool,
    /// Whether spectra leave out what follows from the rest for real signals. The inverse of such
    /// a spectrum is real.
    pub onesided: bool,
}

impl Dft {
    /// The spectrum of signals of `length`.
    pub const fn new(length: usize) -> Self {
        Self {
            length,
            inverse: false,
            onesided: false,
        }
    }

    /// How many numbers come out.
    pub const fn outputs(&self) -> usize {
        if self.onesided && !self.inverse {
            self.length / 2 + 1
        } else {
            self.length
        }
    }

    /// How many parts each of them has.
    pub const fn parts(&self) -> usize {
        if self.onesided && self.inverse { 1 } else { 2 }
    }

    /// Whether there is a way for this length that needs no matrix.
    pub fn is_fast(&self) -> bool {
        self.radices().is_some()
    }

    /// The passes of the fast way. Only inverses of whole spectra go it: their recorded cases were
    /// made in single precision by the same passes, those of the forward transform in double
    /// precision, which the matrix comes nearer to.
    fn radices(&self) -> Option<Vec<usize>> {
        if self.inverse && !self.onesided {
            fast::radices(self.length)
        } else {
            None
        }
    }

    /// The matrix that a signal of `size` numbers of `parts` parts each is multiplied by from the
    /// right, all parts in one row; in f64 where `dtype` is, else in f32.
    pub fn matrix(&self, size: usize, parts: usize, device: &Device, dtype: DType) -> Tensor<2> {
        self.matrix_of([size, parts], device, dtype, |at, output| {
            self.rotation(at, output)
        })
    }

    /// [`Self::matrix`] for the frames of a signal, in single precision with ONNX Runtime's
    /// rounding of angles.
    pub fn frame_matrix(&self, parts: usize, device: &Device, dtype: DType) -> Tensor<2> {
        let size = self.length;
        if dtype == DType::F64 || size.is_power_of_two() {
            return self.matrix(size, parts, device, dtype);
        }
        let chirp = Chirp::new(size);
        self.matrix_of([size, parts], device, dtype, |at, output| {
            chirp.rotation(at, output)
        })
    }

    fn matrix_of(
        &self,
        [size, parts]: [usize; 2],
        device: &Device,
        dtype: DType,
        rotation: impl Fn(usize, usize) -> [f64; 2],
    ) -> Tensor<2> {
        let (outputs, numbers) = (self.outputs(), self.parts());
        let columns = outputs * numbers;
        let mut matrix = vec![0.0; size * parts * columns];
        for at in 0..size.min(self.used()) {
            for output in 0..outputs {
                let [real, imaginary] = rotation(at, output);
                let weight = self.weight(at);
                let (real, imaginary) = (weight * real, weight * imaginary);
                let rotation = [[real, imaginary], [-imaginary, real]];
                for (part, rotation) in rotation.iter().enumerate().take(parts) {
                    for (column, value) in rotation.iter().enumerate().take(numbers) {
                        matrix[(at * parts + part) * columns + output * numbers + column] = *value;
                    }
                }
            }
        }
        let dtype = if dtype == DType::F64 {
            DType::F64
        } else {
            DType::F32
        };
        let data = TensorData::new(matrix, [size * parts, columns]).convert_dtype(dtype);
        Tensor::from_data(data, (device, dtype))
    }

    /// What one number of the input adds to one of the output.
    fn rotation(&self, at: usize, output: usize) -> [f64; 2] {
        let angle = TAU * ((at * output) % self.length) as f64 / self.length as f64;
        let angle = if self.inverse { angle } else { -angle };
        [angle.cos(), angle.sin()]
    }

    /// How many numbers of the input count.
    fn used(&self) -> usize {
        if self.onesided && self.inverse {
            self.length / 2 + 1
        } else {
            self.length
        }
    }

    /// What a number of the input counts.
    fn weight(&self, at: usize) -> f64 {
        let whole = self.length as f64;
        match (self.inverse, self.onesided) {
            (false, _) => 1.0,
            (true, false) => 1.0 / whole,
            // The other half of the spectrum mirrors this one, without its ends.
            (true, true) if at == 0 || 2 * at == self.length => 1.0 / whole,
            (true, true) => 2.0 / whole,
        }
    }
}

/// Transforms `[.., parts]` along `axis`.
#[inline(never)]
pub fn dft<const D: usize>(x: Tensor<D>, axis: usize, options: &Dft) -> Tensor<D> {
    let dims = x.dims();
    match options.radices() {
        Some(radices) => by_passes(x, axis, &radices, options),
        None => {
            let matrix = options.matrix(dims[axis], dims[D - 1], &x.device(), x.dtype());
            dft_by(x, axis, matrix, options)
        }
    }
}

fn by_passes<const D: usize>(
    x: Tensor<D>,
    axis: usize,
    radices: &[usize],
    options: &Dft,
) -> Tensor<D> {
    let (dtype, length) = (x.dtype(), options.length);
    let x = widened(x).swap_dims(axis, D - 2);
    let mut dims = x.dims();
    let (size, parts) = (dims[D - 2].min(length), dims[D - 1]);
    let rows = dims[..D - 2].iter().product::<usize>();
    dims[D - 2] = options.outputs();
    dims[D - 1] = 2;
    if rows == 0 {
        let none = Tensor::zeros(dims, (&x.device(), dtype));
        return none.swap_dims(axis, D - 2);
    }
    let x = x.narrow(D - 2, 0, size).reshape([rows, size, parts]);
    let zeros = |size| Tensor::<2>::zeros([rows, size], (&x.device(), x.dtype()));
    let part = |part: usize| {
        if part < parts {
            let part = x.clone().narrow(2, part, 1).reshape([rows, size]);
            match length - size {
                0 => part,
                missing => Tensor::cat(vec![part, zeros(missing)], 1),
            }
        } else {
            zeros(length)
        }
    };
    let (real, imaginary) = (part(0), part(1));
    let y = fast::transform(Complex { real, imaginary }, radices, options.inverse);
    let y = Tensor::stack::<3>(vec![y.real, y.imaginary], 2);
    let y = y.narrow(1, 0, options.outputs());
    let y = if options.inverse {
        y.mul_scalar(1.0 / length as f64)
    } else {
        y
    };
    y.reshape(dims).swap_dims(axis, D - 2).cast(dtype)
}

/// [`dft`] with its matrix.
#[inline(never)]
pub fn dft_by<const D: usize>(
    x: Tensor<D>,
    axis: usize,
    matrix: Tensor<2>,
    options: &Dft,
) -> Tensor<D> {
    let dtype = x.dtype();
    let x = widened(x).swap_dims(axis, D - 2);
    let mut dims = x.dims();
    let rows = dims[..D - 2].iter().product();
    let y = x.reshape([rows, dims[D - 2] * dims[D - 1]]).matmul(matrix);
    dims[D - 2] = options.outputs();
    dims[D - 1] = options.parts();
    y.reshape(dims).swap_dims(axis, D - 2).cast(dtype)
}

/// The spectra of `[batch, length, parts]` in frames, `[batch, frames, outputs, 2]`; each frame is
/// `frame` long, `step` after the one before, and multiplied by `window`.
#[inline(never)]
pub fn stft(
    x: Tensor<3>,
    step: usize,
    window: Option<Tensor<1>>,
    frame: usize,
    onesided: bool,
) -> Tensor<4> {
    let options = Dft {
        onesided,
        ..Dft::new(frame)
    };
    let matrix = options.frame_matrix(x.dims()[2], &x.device(), x.dtype());
    stft_by(x, step, windowed(matrix, window), &options)
}

/// [`stft`] with its matrix.
#[inline(never)]
pub fn stft_by(x: Tensor<3>, step: usize, matrix: Tensor<2>, options: &Dft) -> Tensor<4> {
    let (dtype, frame) = (x.dtype(), options.length);
    let size = x.dims()[1];
    ensure!(
        frame <= size,
        "a window of {frame} does not fit into {size} elements"
    );
    ensure!(step > 0, "frames cannot be 0 elements apart");
    let frames: Tensor<4> = widened(x).unfold(1, frame, step);
    let [batch, count, parts, _] = frames.dims();
    let rows = frames
        .swap_dims(2, 3)
        .reshape([batch * count, frame * parts]);
    let y = rows.matmul(matrix);
    y.reshape([batch, count, options.outputs(), options.parts()])
        .cast(dtype)
}

/// The matrix for signals that are multiplied by a window first.
pub fn windowed(matrix: Tensor<2>, window: Option<Tensor<1>>) -> Tensor<2> {
    let Some(window) = window else { return matrix };
    let [rows, columns] = matrix.dims();
    let size = window.dims()[0];
    let window = window.cast(matrix.dtype()).reshape([size, 1, 1]);
    let matrix = matrix.reshape([size, rows / size, columns]) * window;
    matrix.reshape([rows, columns])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near, noise};

    #[test]
    fn a_wave_is_one_number() {
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
            let back = Dft {
                inverse: true,
                ..forward
            };
            let y = dft(dft(x.clone(), 1, &forward), 1, &back);
            near(y, x.into_data(), 1e-5);
        }
    }

    #[test]
    fn half_a_spectrum_gives_a_real_signal_back() {
        for length in [5, 8] {
            let x = noise::<3>([2, length, 1], 1);
            let forward = Dft {
                onesided: true,
                ..Dft::new(length)
            };
            let back = Dft {
                inverse: true,
                ..forward
            };
            let half = dft(x.clone(), 1, &forward);
            assert_eq!(half.dims(), [2, length / 2 + 1, 2]);
            near(dft(half, 1, &back), x.into_data(), 1e-5);
        }
    }

    #[test]
    fn the_fast_way_agrees_with_the_matrix() {
        for length in [4, 6, 10] {
            let options = Dft {
                inverse: true,
                ..Dft::new(length)
            };
            assert!(options.is_fast());
            for parts in [1, 2] {
                let x = noise::<4>([2, 5, 3, parts], 4);
                let matrix = options.matrix(5, parts, &x.device(), x.dtype());
                let expected = dft_by(x.clone(), 1, matrix, &options);
                near(dft(x, 1, &options), expected.into_data(), 1e-5);
            }
        }
        let none = noise::<3>([0, 6, 1], 1);
        let options = Dft {
            inverse: true,
            ..Dft::new(6)
        };
        assert_eq!(dft(none, 1, &options).dims(), [0, 6, 2]);
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
        let frame = x.narrow(1, 2, 4) * window.reshape([1, 4, 1]);
        let options = Dft {
            onesided: true,
            ..Dft::new(4)
        };
        let second = dft(frame, 1, &options).unsqueeze_dim::<4>(1);
        near(y.narrow(1, 1, 1), second.into_data(), 1e-6);
    }
}
