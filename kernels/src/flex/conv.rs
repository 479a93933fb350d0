//! Conv over one axis with sums in ONNX Runtime's order.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::ModuleOps};
use burn::tensor::{TensorData, ops::ConvOptions};

use super::{
    in_wide_sums,
    product::{block, each_part, multiply, multiply_row},
    view::{Matrix, View},
};
use crate::convolution::window::Window;

/// How many values of windows are laid out at once.
const LAID_OUT: usize = 1 << 20;

pub fn conv1d(
    x: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    options: ConvOptions<1>,
) -> FlexTensor {
    match ordered(&x, &weight, bias.as_ref(), &options) {
        Some(y) => y,
        None => in_wide_sums(x, weight, bias, |x, weight, bias| {
            <Flex as ModuleOps<Flex>>::conv1d(x, weight, bias, options)
        }),
    }
}

fn ordered(
    x: &FlexTensor,
    weight: &FlexTensor,
    bias: Option<&FlexTensor>,
    options: &ConvOptions<1>,
) -> Option<FlexTensor> {
    let (sizes, weights) = (x.shape(), weight.shape());
    let (batches, length) = (sizes[0], sizes[2]);
    let (outputs, channels, kernel) = (weights[0], weights[1], weights[2]);
    let window = Window::new([kernel])
        .strides(options.stride)
        .dilations(options.dilation)
        .pads(options.padding);
    let groups = options.groups;
    let [positions] = window.positions([length], false);
    let shape = [batches, outputs, positions];
    let inner = channels * kernel;
    if shape.contains(&0) || inner == 0 {
        return None;
    }
    let x = View::of(x)?;
    let weight = View::of(&weight.reshape([outputs, inner].into()))?;
    let mut out = vec![0.0; shape.iter().product()];
    let rows = outputs / groups;
    each_part(&mut out, rows * positions, |at, out| {
        let (batch, group) = (at / groups, at % groups);
        let x = x.matrix(&[batch]).rows(group * channels, channels);
        let weight = weight.matrix(&[]).rows(group * rows, rows);
        convolve(x, weight, window, positions, out);
    });
    if let Some(bias) = bias {
        let bias: Vec<f32> = bias.clone().into_data().iter().collect();
        for (row, bias) in out.chunks_mut(positions).zip(bias.iter().cycle()) {
            for y in row {
                *y += bias;
            }
        }
    }
    Some(FlexTensor::from_data(TensorData::new(out, shape)))
}

/// One group of one element of the batch.
fn convolve(
    x: Matrix<'_>,
    weight: Matrix<'_>,
    window: Window<1>,
    positions: usize,
    out: &mut [f32],
) {
    let block = block(positions, weight.columns);
    let product = |b: Matrix<'_>, out: &mut [f32]| match weight.rows {
        1 => {
            let mut row = vec![0.0; weight.columns];
            weight.copy(0, 0, &mut row);
            multiply_row(&row, b, out);
        }
        _ => multiply(weight, b, block, false, out),
    };
    let plain = weight.columns == x.rows && window.strides == [1] && window.pads == [(0, 0)];
    if plain {
        return product(x, out);
    }
    let most = (LAID_OUT / weight.columns).max(1);
    let mut laid_out = Vec::new();
    let mut part = Vec::new();
    for first in (0..positions).step_by(most) {
        let width = most.min(positions - first);
        laid_out.resize(weight.columns * width, 0.0);
        lay_out(x, window, first, width, &mut laid_out);
        let b = Matrix::dense(&laid_out, width);
        if width == positions {
            return product(b, out);
        }
        part.resize(weight.rows * width, 0.0);
        product(b, &mut part);
        for (out, part) in out.chunks_mut(positions).zip(part.chunks(width)) {
            out[first..first + width].copy_from_slice(part);
        }
    }
}

/// A row for each channel and tap, with what it sees from the position `first` on.
fn lay_out(x: Matrix<'_>, window: Window<1>, first: usize, width: usize, out: &mut [f32]) {
    let ([stride], [dilation], [(before, _)]) = (window.strides, window.dilations, window.pads);
    let taps = window.kernel[0];
    for (at, row) in out.chunks_exact_mut(width).enumerate() {
        let (channel, tap) = (at / taps, at % taps);
        // A position sees the place `stride * position + shift - before`.
        let shift = tap * dilation;
        let begin = before.saturating_sub(shift).div_ceil(stride);
        let end = (x.columns + before).saturating_sub(shift).div_ceil(stride);
        let [begin, end] = [begin, end].map(|at| at.clamp(first, first + width) - first);
        row[..begin].fill(0.0);
        row[end.max(begin)..].fill(0.0);
        if begin < end {
            let place = stride * (first + begin) + shift - before;
            let seen = x
                .rows(channel, 1)
                .columns(place, x.columns - place)
                .every(stride);
            seen.copy(0, 0, &mut row[begin..end]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_laid_out_from_any_position_on() {
        let values: Vec<f32> = (1..=12).map(|value| value as f32).collect();
        let x = Matrix::dense(&values, 6);
        for window in [
            Window::new([3]).pads([(1, 2)]),
            Window::new([2]).strides([2]).dilations([3]).pads([(4, 1)]),
            Window::new([3]).pads([(9, 9)]),
        ] {
            let [positions] = window.positions([6], false);
            let taps = window.kernel[0];
            for first in 0..positions {
                for width in 1..=positions - first {
                    let mut out = vec![f32::NAN; 2 * taps * width];
                    lay_out(x, window, first, width, &mut out);
                    for (at, value) in out.iter().enumerate() {
                        let (row, position) = (at / width, first + at % width);
                        let seen = window.taps([6], [position])[row % taps];
                        let expected = seen
                            .flatten()
                            .map_or(0.0, |[place]| x.at(row / taps, place));
                        assert_eq!(*value, expected);
                    }
                }
            }
        }
    }
}
