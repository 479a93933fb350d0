//! GridSample: the input sampled at points of a grid.

use alloc::{vec, vec::Vec};
use burn::tensor::Tensor;

use crate::shape::{WithShape, empty};
use crate::{
    ensure,
    image::sample::{WeightedIndex, combine_axes, index, outside, read},
    sizes::elements,
    spec::{equal_axes, operand},
    widen::widened,
};

/// Interpolation and padding of [`grid_sample`].
#[derive(Clone, Copy, Debug)]
pub struct GridSample {
    pub mode: Mode,
    pub padding: Padding,
    /// -1 and 1 are the centers of the first and last elements, instead of their outer edges.
    pub align_corners: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// Values outside the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// Samples `[batch, channels, spatial..]` at the points of `[batch, output.., axes]`, from -1 to 1, whose
/// last coordinate is that of the first spatial axis.
pub fn grid_sample<const D: usize>(x: Tensor<D>, grid: Tensor<D>, options: &GridSample) -> Tensor<D> {
    let (dtype, dims) = (x.dtype(), x.dims());
    let axes = D - 2;
    let mut shape = grid.dims();
    let (of_input, of_grid) = (operand("input", &dims), operand("grid", &shape));
    equal_axes(of_grid, 0, of_input, 0);
    ensure!(shape[D - 1] == axes, "expected {axes} coordinates on the last axis of {of_grid} for {of_input}");
    let points = shape[1..D - 1].iter().product();
    shape.copy_within(1..D - 1, 2);
    shape[1] = dims[1];
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    ensure!(
        !dims.contains(&0),
        "expected elements in the input for an output of shape {shape:?}, found {dims:?}"
    );
    // The values that one tap gathers, and an index for each.
    elements(&shape, size_of::<i64>());
    let x = widened(x).with_shape([dims[0], dims[1], dims[2..].iter().product()]);
    let grid = widened(grid).cast(x.dtype()).with_shape([dims[0], points, axes]);

    let axes = (0..axes).map(|axis| {
        let column = grid.clone().narrow(2, axes - 1 - axis, 1).squeeze_dim(2);
        let size = dims[2 + axis];
        (options.taps(column, size), size)
    });
    read(x, combine_axes(axes)).with_shape(shape).cast(dtype)
}

impl GridSample {
    /// Returns the elements around normalized coordinates of an axis of `size`, with their weights.
    fn taps(&self, coordinates: Tensor<2>, size: usize) -> Vec<WeightedIndex> {
        let x = coordinates.add_scalar(1.0);
        let x = if self.align_corners {
            x.div_scalar(2.0).mul_scalar(size as f32 - 1.0)
        } else {
            x.mul_scalar(size as f32).sub_scalar(1.0).div_scalar(2.0)
        };
        let x = self.finite(x, size);
        if self.mode == Mode::Nearest {
            return vec![self.weighted(self.padded(x.round(), size), None, size)];
        }
        // Cubic weights beyond the border apply to its copies, as in PyTorch and ONNX Runtime.
        let x = match (self.mode, self.padding) {
            (Mode::Cubic, Padding::Border) => x,
            _ => self.padded(x, size),
        };
        let base = x.clone().floor();
        let ratio = x - base.clone();
        let weighted = |(offset, weight): (i32, Tensor<2>)| {
            self.weighted(base.clone().add_scalar(offset), Some(weight), size)
        };
        match self.mode {
            Mode::Cubic => (-1..=2).zip(cubic(ratio)).map(weighted).collect(),
            _ => {
                let rest = ratio.clone().neg().add_scalar(1.0);
                [(0, rest), (1, ratio)].map(weighted).into()
            }
        }
    }

    /// Clamps infinite coordinates to far outside the input. NaN, and infinite coordinates that are reflected, become a
    /// coordinate outside the input if the padding is zeros, otherwise that of the first element, as in PyTorch.
    fn finite(&self, x: Tensor<2>, size: usize) -> Tensor<2> {
        // All neighbors of a coordinate this far outside are outside too.
        const MARGIN: f32 = 8.0;
        let (x, nowhere) = match self.padding {
            Padding::Reflection => (x.clone(), x.is_finite().bool_not()),
            _ => (x.clone().clamp(-MARGIN, size as f32 + MARGIN), x.is_nan()),
        };
        let instead = match self.padding {
            Padding::Zeros => -MARGIN,
            Padding::Border | Padding::Reflection => 0.0,
        };
        x.mask_fill(nowhere, instead)
    }

    /// Maps coordinates beyond the border into the input. [`GridSample::weighted`] applies the zero padding.
    fn padded(&self, x: Tensor<2>, size: usize) -> Tensor<2> {
        match self.padding {
            Padding::Zeros => x,
            Padding::Border => x.clamp(0.0, size as f32 - 1.0),
            Padding::Reflection => self.reflected(x, size),
        }
    }

    fn reflected(&self, x: Tensor<2>, size: usize) -> Tensor<2> {
        let (border, range) = if self.align_corners { (0.0, size as f32 - 1.0) } else { (-0.5, size as f32) };
        if range == 0.0 {
            return x.zeros_like();
        }
        let period = 2.0 * range;
        let distance = x.sub_scalar(border).abs();
        let periods = distance.clone().div_scalar(period).floor();
        let distance = distance - periods.mul_scalar(period);
        // A triangle wave: up to the range and back.
        let back = distance.sub_scalar(range).abs();
        back.neg().add_scalar(range + border)
    }

    /// Returns the elements at integral coordinates `x`.
    fn weighted(&self, x: Tensor<2>, weight: Option<Tensor<2>>, size: usize) -> WeightedIndex {
        let weight = if self.padding == Padding::Zeros {
            let weight = weight.unwrap_or_else(|| x.ones_like());
            Some(weight.mask_fill(outside(&x, size), 0.0))
        } else {
            weight
        };
        WeightedIndex { index: Some(index(self.padded(x, size), size)), weight }
    }
}

/// Returns the weights of Keys' cubic convolution, with a = -0.75, of the four elements around a coordinate
/// that is `ratio` after the second one.
fn cubic(ratio: Tensor<2>) -> [Tensor<2>; 4] {
    const A: f32 = -0.75;
    let inner = |x: Tensor<2>| {
        let line = x.clone().mul_scalar(A + 2.0).sub_scalar(A + 3.0);
        (line * x.square()).add_scalar(1.0)
    };
    let outer = |x: Tensor<2>| {
        let line = x.clone().mul_scalar(A).sub_scalar(5.0 * A);
        let square = (line * x.clone()).add_scalar(8.0 * A);
        (square * x).sub_scalar(4.0 * A)
    };
    let rest = ratio.clone().neg().add_scalar(1.0);
    [outer(ratio.clone().add_scalar(1.0)), inner(ratio), inner(rest.clone()), outer(rest.add_scalar(1.0))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near, noise};

    fn sample(mode: Mode, padding: Padding, align_corners: bool, points: &[f32]) -> Tensor<1> {
        let x = float::<4>([[[[1f32, 2.0, 4.0, 8.0]]]]);
        let grid = points.iter().flat_map(|point| [*point, 0.0]).collect();
        let grid = burn::tensor::TensorData::new(grid, [1, 1, points.len(), 2]);
        let options = GridSample { mode, padding, align_corners };
        grid_sample(x, float(grid), &options).flatten(0, 3)
    }

    #[test]
    fn points_lie_between_edges_or_between_centers() {
        let y = sample(Mode::Linear, Padding::Border, false, &[-1.0, -0.75, -0.5, 0.0, 1.0]);
        near(y, [1f32, 1.0, 1.5, 3.0, 8.0], 1e-6);
        let y = sample(Mode::Linear, Padding::Border, true, &[-1.0, -0.5, 0.0, 1.0]);
        near(y, [1f32, 1.75, 3.0, 8.0], 1e-6);
    }

    #[test]
    fn what_lies_outside_is_zero_or_the_border_or_a_reflection() {
        let points = [-1.25, 1.25, 2.0];
        let nearest = |padding| sample(Mode::Nearest, padding, false, &points);
        near(nearest(Padding::Zeros), [0f32, 0.0, 0.0], 0.0);
        near(nearest(Padding::Border), [1f32, 8.0, 8.0], 0.0);
        near(nearest(Padding::Reflection), [1f32, 8.0, 2.0], 0.0);
        let y = sample(Mode::Linear, Padding::Zeros, false, &[-1.0, 1.125]);
        near(y, [0.5f32, 2.0], 1e-6);
    }

    #[test]
    fn halves_round_to_even() {
        let y = sample(Mode::Nearest, Padding::Zeros, false, &[-0.5, 0.0, 0.5]);
        near(y, [1f32, 4.0, 4.0], 0.0);
    }

    #[test]
    fn what_is_not_finite_lies_outside_or_on_an_end() {
        let points = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 3e38];
        for mode in [Mode::Nearest, Mode::Linear, Mode::Cubic] {
            for align_corners in [false, true] {
                let at = |padding| sample(mode, padding, align_corners, &points);
                near(at(Padding::Zeros), [0f32; 4], 0.0);
                near(at(Padding::Border), [8f32, 1.0, 1.0, 8.0], 0.0);
                let y = at(Padding::Reflection).narrow(0, 0, 3);
                near(y, [1f32; 3], 1e-6);
            }
        }
    }

    #[test]
    fn what_is_not_finite_counts_nothing_along_an_axis_of_one_element() {
        let points = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        for mode in [Mode::Nearest, Mode::Linear] {
            let options = GridSample { mode, padding: Padding::Zeros, align_corners: true };
            let column = points.iter().flat_map(|point| [0.0, *point, 0.0]).collect();
            let grid = burn::tensor::TensorData::new(column, [1, 1, 1, 3, 3]);
            let x = float::<5>([[[[[1f32, 2.0, 4.0]]]]]);
            let y = grid_sample(x, float(grid), &options).flatten::<1>(0, 4);
            near(y, [0f32; 3], 0.0);
        }
    }

    #[test]
    fn cubic_weights_follow_keys() {
        let y = sample(Mode::Cubic, Padding::Border, false, &[0.0, -1.0]);
        near(y, [2.718_75_f32, 0.906_25], 1e-6);
    }

    #[test]
    fn the_grid_of_the_input_itself_reads_the_input() {
        let dims = [2, 3, 2, 4, 3];
        let x = noise(dims, 1);
        let along = |size: usize, at: usize| 2.0 * at as f32 / (size - 1) as f32 - 1.0;
        let points = crate::testing::indices([2, 2, 4, 3])
            .flat_map(|[_, d, h, w]| [along(3, w), along(4, h), along(2, d)])
            .collect();
        let grid = float(burn::tensor::TensorData::new(points, [2, 2, 4, 3, 3]));
        let options = GridSample { mode: Mode::Linear, padding: Padding::Zeros, align_corners: true };
        near(grid_sample(x.clone(), grid, &options), x.into_data(), 1e-5);
    }
}
