//! Fourier transforms of rows of any length, in f64.

#[cfg(feature = "deterministic")]
mod in_lanes;
mod kept;

use std::sync::Arc;

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{DType, Element, TensorData};
use rustfft::{Fft, FftDirection, FftPlanner, FftPlannerScalar, num_complex::Complex};

use super::{
    memory::{on_chunks, repeated},
    plan::tuning::transformed_per_part,
};
use crate::{deterministic, fault::fail, spec::dft::Dft};
use kept::Kept;

/// Plans by length and direction, and whether they are those of deterministic calls.
static KEPT: Kept<(usize, FftDirection, bool), Arc<dyn Fft<f64>>> = Kept::new();

/// Returns the transforms of `[rows, size, parts]`.
pub fn dft(x: FlexTensor, options: Dft) -> FlexTensor {
    let [rows, size, _] = x.shape().dims();
    let shape = [rows, options.outputs(), options.parts()];
    of_frames(x, None, Frames { count: 1, step: 0, size }, &options, &shape)
}

/// Returns the spectra of the frames of `[batch, size, parts]`, which start `step` elements apart and are
/// multiplied by the window.
pub fn stft(x: FlexTensor, window: Option<FlexTensor>, step: usize, options: Dft) -> FlexTensor {
    let [batch, size, _] = x.shape().dims();
    let count = (size - options.length) / step + 1;
    let shape = [batch, count, options.outputs(), options.parts()];
    let size = options.length;
    of_frames(x, window, Frames { count, step, size }, &options, &shape)
}

fn of_frames(
    x: FlexTensor,
    window: Option<FlexTensor>,
    frames: Frames,
    options: &Dft,
    shape: &[usize],
) -> FlexTensor {
    match x.dtype() {
        DType::F64 => transforms::<f64>(x, window, frames, options, shape),
        _ => transforms::<f32>(x, window, frames, options, shape),
    }
}

fn transforms<T: Float>(
    x: FlexTensor,
    window: Option<FlexTensor>,
    frames: Frames,
    options: &Dft,
    shape: &[usize],
) -> FlexTensor {
    let [_, size, parts] = x.shape().dims();
    let (x, window) = (x.into_data(), window.map(FlexTensor::into_data));
    let (Ok(values), Ok(window)) =
        (x.as_slice::<T>(), window.as_ref().map(TensorData::as_slice::<T>).transpose())
    else {
        fail("expected the signal and the window to have the same type");
    };
    let rows = Rows { values, signal: size, frames, complex: parts == 2, window };
    let mut out = repeated(shape.iter().product(), T::default());
    transform(rows, options, &mut out);
    FlexTensor::from_data(TensorData::new(out, shape.to_vec()))
}

/// Element type f32 or f64.
trait Float: Element + Default {
    fn widen(self) -> f64;
    fn narrow(value: f64) -> Self;
}

impl Float for f32 {
    fn widen(self) -> f64 {
        self.into()
    }

    fn narrow(value: f64) -> Self {
        value as f32
    }
}

impl Float for f64 {
    fn widen(self) -> f64 {
        self
    }

    fn narrow(value: f64) -> Self {
        value
    }
}

/// Consecutive signals or spectra, whose frames are transformed.
#[derive(Clone, Copy, Debug)]
struct Rows<'a, T> {
    values: &'a [T],
    /// Number of numbers in a signal.
    signal: usize,
    frames: Frames,
    /// A number is a pair of a real and an imaginary element, otherwise a real element.
    complex: bool,
    /// Factors of the numbers of each row, 1 by default.
    window: Option<&'a [T]>,
}

/// Parts of a signal that are transformed. They may overlap.
#[derive(Clone, Copy, Debug)]
struct Frames {
    count: usize,
    /// Distance between the starts of adjacent frames, in numbers.
    step: usize,
    /// Number of numbers in a frame.
    size: usize,
}

impl<T: Float> Rows<'_, T> {
    /// Returns the offset of a row.
    fn start(&self, row: usize) -> usize {
        let (signal, frame) = (row / self.frames.count, row % self.frames.count);
        signal * self.signal + frame * self.frames.step
    }

    /// Returns a number of the row that starts at `start`, 0 after its end.
    fn number(&self, start: usize, at: usize) -> Complex<f64> {
        if at >= self.frames.size {
            return Complex::default();
        }
        let place = start + at;
        let number = if self.complex {
            let part = |part| self.element(2 * place + part);
            Complex::new(part(0), part(1))
        } else {
            Complex::new(self.element(place), 0.0)
        };
        match self.window.and_then(|window| window.get(at)) {
            Some(factor) => number * factor.widen(),
            None => number,
        }
    }

    fn element(&self, place: usize) -> f64 {
        self.values.get(place).map_or(0.0, |value| value.widen())
    }
}

/// Writes the transforms of as many rows as fit into `out`, one after another.
fn transform<T: Float>(rows: Rows<'_, T>, options: &Dft, out: &mut [T]) {
    let one = options.outputs() * options.parts();
    if one == 0 || out.is_empty() {
        return;
    }
    #[cfg(feature = "deterministic")]
    if deterministic::is_on() && in_lanes::transform(&rows, options, out) {
        return;
    }
    let plan = plan(options);
    // In a deterministic call no row is rounded with another one.
    let together = if deterministic::is_on() { 1 } else { 2 };
    let pairs = (transformed_per_part() / options.length).max(1);
    let run = |share: usize, out: &mut [T]| {
        let none = Complex::default();
        let mut numbers = repeated(options.length, none);
        let mut scratch = repeated(plan.get_inplace_scratch_len(), none);
        for (at, out) in out.chunks_mut(together * one).enumerate() {
            let first = 2 * share * pairs + at * together;
            let mut process = |numbers: &mut [Complex<f64>]| {
                plan.process_with_scratch(numbers, &mut scratch);
            };
            let (one, other) = out.split_at_mut(one);
            if options.inverse && options.onesided {
                signals(&rows, first, &mut numbers, &mut process, [one, other]);
            } else if rows.complex || options.inverse {
                for (row, out) in [one, other].into_iter().enumerate() {
                    if !out.is_empty() {
                        whole(&rows, first + row, options, &mut numbers, &mut process, out);
                    }
                }
            } else {
                spectra(&rows, first, &mut numbers, &mut process, [one, other]);
            }
        }
    };
    if out.len() > pairs * 2 * one {
        on_chunks(out, pairs * 2 * one, run);
    } else {
        run(0, out);
    }
}

/// Transforms the complex numbers of one row.
fn whole<T: Float>(
    rows: &Rows<'_, T>,
    row: usize,
    options: &Dft,
    numbers: &mut [Complex<f64>],
    process: &mut impl FnMut(&mut [Complex<f64>]),
    out: &mut [T],
) {
    let start = rows.start(row);
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = rows.number(start, at);
    }
    process(numbers);
    let scale = if options.inverse { 1.0 / options.length as f64 } else { 1.0 };
    for (out, number) in out.chunks_exact_mut(2).zip(numbers) {
        write(out, *number * scale);
    }
}

/// Computes the spectra of two real rows by one transform: one row is its real part, the other its imaginary part.
fn spectra<T: Float>(
    rows: &Rows<'_, T>,
    first: usize,
    numbers: &mut [Complex<f64>],
    process: &mut impl FnMut(&mut [Complex<f64>]),
    [one, other]: [&mut [T]; 2],
) {
    let has_other = !other.is_empty();
    let starts = [first, first + 1].map(|row| rows.start(row));
    for (at, number) in numbers.iter_mut().enumerate() {
        let imaginary = if has_other { rows.number(starts[1], at).re } else { 0.0 };
        *number = Complex::new(rows.number(starts[0], at).re, imaginary);
    }
    process(numbers);
    let mirrored = |at: usize| numbers[(numbers.len() - at) % numbers.len()].conj();
    for (at, out) in one.chunks_exact_mut(2).enumerate() {
        write(out, (numbers[at] + mirrored(at)) * 0.5);
    }
    for (at, out) in other.chunks_exact_mut(2).enumerate() {
        let difference = (numbers[at] - mirrored(at)) * 0.5;
        write(out, Complex::new(difference.im, -difference.re));
    }
}

/// Computes two real rows from halves of their spectra by one transform.
fn signals<T: Float>(
    rows: &Rows<'_, T>,
    first: usize,
    numbers: &mut [Complex<f64>],
    process: &mut impl FnMut(&mut [Complex<f64>]),
    [one, other]: [&mut [T]; 2],
) {
    let (length, has_other) = (numbers.len(), !other.is_empty());
    let starts = [first, first + 1].map(|row| rows.start(row));
    for at in 0..=length / 2 {
        let number = |start: usize| {
            let number = rows.number(start, at);
            // Both ends are their own mirror.
            if at == 0 || 2 * at == length { Complex::new(number.re, 0.0) } else { number }
        };
        let a = number(starts[0]);
        let b = if has_other { number(starts[1]) } else { Complex::default() };
        let times_i = |number: Complex<f64>| Complex::new(-number.im, number.re);
        numbers[(length - at) % length] = a.conj() + times_i(b.conj());
        numbers[at] = a + times_i(b);
    }
    process(numbers);
    let scale = 1.0 / length as f64;
    for (out, number) in one.iter_mut().zip(&*numbers) {
        *out = T::narrow(number.re * scale);
    }
    for (out, number) in other.iter_mut().zip(&*numbers) {
        *out = T::narrow(number.im * scale);
    }
}

fn write<T: Float>(out: &mut [T], number: Complex<f64>) {
    for (out, part) in out.iter_mut().zip([number.re, number.im]) {
        *out = T::narrow(part);
    }
}

fn plan(options: &Dft) -> Arc<dyn Fft<f64>> {
    let length = options.length;
    let direction = if options.inverse { FftDirection::Inverse } else { FftDirection::Forward };
    let is_alike = deterministic::is_on();
    KEPT.get((length, direction, is_alike), || {
        if is_alike {
            // Without vector instructions.
            FftPlannerScalar::new().plan_fft(length, direction)
        } else {
            FftPlanner::new().plan_fft(length, direction)
        }
    })
}

#[cfg(test)]
mod tests;
