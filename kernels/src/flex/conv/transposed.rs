//! Transposed convolutions as convolutions of each phase.
//!
//! Output pixels whose distance is a multiple of the stride read the input through the same taps. They are the outputs of one
//! convolution, whose results are interleaved afterwards.

use std::{mem::MaybeUninit, sync::Arc};

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::{DType, ops::ConvTransposeOptions};

use super::{
    Filters,
    geometry::Geometry,
    phases::{Part, Phases},
    run::Convolution,
};
use crate::flex::{
    in_wide_sums,
    memory::{Buffer, Cuts, Grid, SliceWriter, repeated, write_by_index, write_interleaved},
    packed::{Pack, pack},
    plan::threads,
    view::{Dense, View},
    widened,
};
use crate::spec::{epilogue::Activation, packed::Packed};

/// A transposed convolution with everything that it reads.
struct Transposed<'a> {
    phases: &'a Phases,
    batches: usize,
    sizes: [usize; 3],
    /// Padding before the first output pixel.
    before: [usize; 3],
    /// Sizes of the output.
    pixels: [usize; 3],
    values: &'a [f32],
    steps: [usize; 5],
    bias: Option<&'a [f32]>,
}

/// The transposed convolution. `other` computes double precision and empty outputs.
pub fn conv_transpose<const S: usize>(
    x: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    options: ConvTransposeOptions<S>,
    packed: Option<&Packed>,
    other: fn(FlexTensor, FlexTensor, Option<FlexTensor>, ConvTransposeOptions<S>) -> FlexTensor,
) -> FlexTensor {
    if let Some(y) = by_phases(&x, &weight, bias.as_ref(), &options, packed) {
        return y;
    }
    in_wide_sums(x, weight, bias, |x, weight, bias| other(x, weight, bias, options))
}

fn by_phases<const S: usize>(
    x: &FlexTensor,
    weight: &FlexTensor,
    bias: Option<&FlexTensor>,
    options: &ConvTransposeOptions<S>,
    packed: Option<&Packed>,
) -> Option<FlexTensor> {
    let (dtype, shape, weights) = (x.dtype(), x.shape(), weight.shape());
    if dtype == DType::F64 || shape.contains(&0) || weights.contains(&0) {
        return None;
    }
    let on = |axis: usize| (axis + S).checked_sub(3);
    let at =
        |values: &[usize], other| std::array::from_fn(|axis| on(axis).map_or(other, |axis| values[axis]));
    let (sizes, kernel): ([usize; 3], [usize; 3]) = (at(&shape[2..], 1), at(&weights[2..], 1));
    let (strides, dilations) = (at(&options.stride, 1), at(&options.dilation, 1));
    let (before, more): ([usize; 3], [usize; 3]) = (at(&options.padding, 0), at(&options.padding_out, 0));
    let mut pixels = [0; 3];
    for axis in 0..3 {
        let reach = (sizes[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
        pixels[axis] = (reach + more[axis]).checked_sub(2 * before[axis])?;
    }
    if pixels.contains(&0) {
        return None;
    }
    let factors = [shape[0], weights[1], options.groups].into_iter().chain(pixels);
    factors.into_iter().try_fold(1usize, |count, size| count.checked_mul(size))?;
    let view = View::of(&widened(x.clone()))?;
    let bias = bias.map(Dense::new);
    let make = || Phases::new(weight, kernel, strides, dilations, options.groups).map(Arc::new);
    let fits =
        |pack: &Pack| matches!(pack, Pack::Phases(found) if found.is_of(strides, dilations, options.groups));
    let Pack::Phases(phases) = pack(packed, weight, fits, || make().map(Pack::Phases))? else {
        return None;
    };
    let (values, steps) = view.spatial();
    let transposed = Transposed {
        phases: &phases,
        batches: shape[0],
        sizes,
        before,
        pixels,
        values,
        steps,
        bias: bias.as_ref().map(Dense::values),
    };
    let mut result = vec![shape[0], weights[1] * options.groups];
    result.extend(&pixels[3 - S..]);
    let y = transposed.run()?.tensor(result);
    Some(match dtype {
        DType::F32 => y,
        _ => Flex::float_cast(y, dtype.into()),
    })
}

impl Transposed<'_> {
    fn run(&self) -> Option<Buffer> {
        let phases = self.phases;
        let mut parts = Vec::with_capacity(phases.parts.len());
        for part in &phases.parts {
            let geometry = self.geometry(part.kernel)?;
            let values = match &part.filters {
                Some(filters) => Some(self.convolution(filters, geometry, part.phases.len())?),
                None => None,
            };
            parts.push((part, geometry, values));
        }
        // Without strides the one phase is the result.
        if phases.strides == [1; 3] && matches!(parts[..], [(.., Some(_))]) {
            return parts.pop().and_then(|(.., values)| values);
        }
        let sources = self.sources(&parts);
        let pixels: usize = self.pixels.iter().product();
        let planes = self.batches * phases.outputs;
        let count = planes * pixels;
        let share = planes.div_ceil(threads(count * 4));
        let grid = Grid::of_rows(Cuts::every(planes, share), pixels);
        Some(Buffer::filled(count, |out| {
            let out = out.reshaped(planes, pixels);
            out.side_by_side(grid, usize::MAX, |_, spot, out| {
                out.write_rows(|row, out| self.put(&sources, spot.rows.start + row, out))
            })
        }))
    }

    /// Results of all phases, in the order of phases along depth, rows and columns.
    fn sources<'a>(&self, parts: &'a [Computed<'_>]) -> Vec<Source<'a>> {
        let [deep, high, wide] = self.phases.strides;
        let bias = Source { values: None, plane: 0, planes: 0, positions: [0; 3] };
        let mut sources = vec![bias; deep * high * wide];
        for (part, geometry, values) in parts {
            let count: usize = geometry.positions.iter().product();
            for (number, [depth, row, column]) in part.phases.iter().enumerate() {
                sources[(depth * high + row) * wide + column] = Source {
                    values: values.as_deref(),
                    plane: number * count,
                    planes: part.phases.len() * count,
                    positions: geometry.positions,
                };
            }
        }
        sources
    }

    /// Geometry of the convolution that computes some phases.
    fn geometry(&self, kernel: [usize; 3]) -> Option<Geometry> {
        let (strides, dilations) = (self.phases.strides, self.phases.dilations);
        let mut geometry = Geometry {
            sizes: self.sizes,
            kernel,
            strides: [1; 3],
            dilations,
            before: [0; 3],
            positions: [0; 3],
        };
        for axis in 0..3 {
            let first = self.before[axis] / strides[axis];
            let last = (self.before[axis] + self.pixels[axis] - 1) / strides[axis];
            geometry.positions[axis] = last - first + 1;
            let reach = kernel[axis].saturating_sub(1) * dilations[axis];
            geometry.before[axis] = match kernel[axis] {
                0 => 0,
                _ => reach.checked_sub(first)?,
            };
        }
        Some(geometry)
    }

    fn convolution(&self, filters: &Filters, geometry: Geometry, phases: usize) -> Option<Buffer> {
        let bias: Option<Vec<f32>> = self.bias.map(|bias| {
            let each = bias.iter().flat_map(|bias| std::iter::repeat_n(*bias, phases));
            each.collect()
        });
        let convolution = Convolution {
            geometry,
            batches: self.batches,
            filters,
            values: self.values,
            steps: self.steps,
            bias: bias.as_deref(),
            residual: None,
            activation: Activation::Identity,
        };
        convolution.run()
    }

    /// Writes the output pixels of a plane: the results of their phase, or the bias.
    fn put<'o>(
        &self,
        sources: &[Source<'_>],
        plane: usize,
        out: &'o mut [MaybeUninit<f32>],
    ) -> &'o mut [f32] {
        let strides = self.phases.strides;
        let bias = self.bias.map_or(0.0, |bias| bias[plane % self.phases.outputs]);
        // Phase of an output pixel along an axis, and its index among those of the phase.
        let phase = |axis: usize, pixel: usize| {
            let (stride, before) = (strides[axis], self.before[axis]);
            let pixel = before % stride + pixel;
            [pixel % stride, pixel / stride]
        };
        let wide = sources.iter().map(|source| source.positions[2]).max();
        let wide = wide.unwrap_or(0).max(self.pixels[2].div_ceil(strides[2]) + 1);
        let biases = repeated(wide, bias);
        let mut lines = Vec::with_capacity(strides[2]);
        let mut out = SliceWriter::new(out);
        for depth in 0..self.pixels[0] {
            for row in 0..self.pixels[1] {
                let ([deep, depth], [high, row]) = (phase(0, depth), phase(1, row));
                lines.clear();
                let of_line = &sources[(deep * strides[1] + high) * strides[2]..][..strides[2]];
                lines.extend(of_line.iter().map(|source| {
                    let line = source.line(plane, depth, row);
                    line.unwrap_or(&biases)
                }));
                let [first, _] = phase(2, 0);
                out.write(self.pixels[2], |out| interleaved(&lines, first, out));
            }
        }
        out.finish()
    }
}

/// Writes the elements of lines in turn, the first one from line `first`.
fn interleaved<'o>(lines: &[&[f32]], first: usize, out: &'o mut [MaybeUninit<f32>]) -> &'o mut [f32] {
    let [even, odd] = lines else {
        let (mut line, mut column) = (first, 0);
        return write_by_index(out, |_| {
            let value = lines[line][column];
            line += 1;
            if line == lines.len() {
                (line, column) = (0, column + 1);
            }
            value
        });
    };
    let mut out = SliceWriter::new(out);
    if first == 1 && out.missing() > 0 {
        out.copy(&odd[..1]);
    }
    let pairs = out.missing() / 2;
    out.write(2 * pairs, |out| write_interleaved(out, &even[first..][..pairs], &odd[first..][..pairs]));
    if out.missing() > 0 {
        out.copy(&even[first + pairs..][..1]);
    }
    out.finish()
}

/// Some phases, the geometry of their convolution, and its result; none if no tap is in the input.
type Computed<'a> = (&'a Part, Geometry, Option<Buffer>);

/// Result of a phase; without values all its elements are the bias.
#[derive(Clone, Copy)]
struct Source<'a> {
    values: Option<&'a [f32]>,
    /// Index of its first plane, and the distance of its planes.
    plane: usize,
    planes: usize,
    positions: [usize; 3],
}

impl<'a> Source<'a> {
    /// The values of a row of a plane.
    fn line(&self, plane: usize, depth: usize, row: usize) -> Option<&'a [f32]> {
        let [_, high, wide] = self.positions;
        let first = plane * self.planes + self.plane + (depth * high + row) * wide;
        self.values.map(|values| &values[first..][..wide])
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::convolution::{
        conv_transpose::{conv_transpose1d, conv_transpose2d, conv_transpose3d},
        window::Window,
    };
    use crate::flex::simd::with_each_set;
    use crate::testing::{near, noise};

    /// Compares single precision, which has phases, with double precision, which has none.
    fn check(channels: [usize; 2], groups: usize, window: Window<2>, more: [usize; 2]) {
        for sizes in [[1, 1], [5, 3], [4, 40]] {
            let x = noise::<4>([2, channels[0], sizes[0], sizes[1]], 1);
            let [high, wide] = window.kernel;
            let weight = noise::<4>([channels[0], channels[1] / groups, high, wide], 2);
            let bias = noise::<1>([channels[1]], 3);
            let double = |x: &Tensor<4>| x.clone().cast(DType::F64);
            let wider = bias.clone().cast(DType::F64);
            let expected = conv_transpose2d(double(&x), double(&weight), Some(wider), window, more, groups);
            let expected = expected.cast(DType::F32).into_data();
            with_each_set(|_| {
                let (x, weight, bias) = (x.clone(), weight.clone(), Some(bias.clone()));
                let y = conv_transpose2d(x, weight, bias, window, more, groups);
                near(y, expected.clone(), 1e-5);
            });
        }
    }

    #[test]
    fn windows_of_every_kind() {
        let window = |kernel, stride, pad| {
            let window = Window::new([kernel; 2]).strides([stride; 2]);
            window.pads([(pad, pad); 2])
        };
        check([3, 5], 1, window(2, 2, 0), [0; 2]);
        check([3, 5], 1, window(4, 2, 1), [0; 2]);
        check([3, 5], 1, window(4, 1, 0), [0; 2]);
        check([4, 6], 2, window(3, 2, 0), [1, 0]);
        check([4, 4], 4, window(3, 2, 0), [0, 1]);
        check([2, 17], 1, window(5, 3, 0), [2, 1]);
        check([2, 3], 1, window(1, 3, 0), [0; 2]);
        check([2, 3], 1, Window::new([3, 2]).strides([1, 4]), [0, 3]);
        check([2, 3], 1, Window::new([3, 3]).dilations([2, 3]), [0; 2]);
        check([2, 3], 1, window(2, 2, 0).dilations([2, 1]), [0; 2]);
        let uneven = Window::new([5, 4]).strides([2, 2]);
        check([2, 3], 1, uneven.pads([(1, 2), (2, 0)]), [1, 1]);
    }

    #[test]
    fn one_and_three_axes() {
        let wide = |x: Tensor<3>| x.cast(DType::F64);
        let (x, weight) = (noise::<3>([2, 6, 11], 1), noise::<3>([6, 4, 16], 2));
        let window = Window::new([16]).strides([8]).pads([(4, 4)]);
        let run = |x, weight| conv_transpose1d(x, weight, None, window, [0], 1);
        let expected = run(wide(x.clone()), wide(weight.clone())).cast(DType::F32);
        near(run(x, weight), expected.into_data(), 1e-5);
        let wide = |x: Tensor<5>| x.cast(DType::F64);
        let x = noise::<5>([1, 4, 3, 4, 5], 1);
        let weight = noise::<5>([4, 2, 2, 3, 4], 2);
        let window = Window::new([2, 3, 4]).strides([2, 1, 2]).pads([(1, 0); 3]);
        let run = |x, weight| conv_transpose3d(x, weight, None, window, [0, 0, 1], 2);
        let expected = run(wide(x.clone()), wide(weight.clone())).cast(DType::F32);
        near(run(x, weight), expected.into_data(), 1e-5);
    }
}
