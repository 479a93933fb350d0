//! Weights of linear and cubic interpolation.

use alloc::{vec, vec::Vec};
use burn::tensor::{DType, Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::{Axis, Mode, Resize};
use crate::{product::matmul::product, shape::WithShape, sizes::elements};

/// Index and weight of each of `count` input elements around a coordinate, per output element.
pub struct Taps {
    count: usize,
    input: usize,
    /// `[output][count]`, row by row.
    indices: Vec<usize>,
    weights: Vec<f32>,
}

/// Maximum number of selected elements per output. For more, multiplying by a matrix is cheaper.
const MAX_SELECTED: usize = 4;

impl Taps {
    pub fn new(axis: &Axis, options: &Resize) -> Self {
        // When shrinking, the filter is wider by the inverse of the scale.
        let scale = if options.antialias { f64::from(axis.scale).min(1.0) } else { 1.0 };
        let radius = match options.mode {
            Mode::Cubic { .. } => 2.0,
            _ => 1.0,
        };
        let first = (-radius / scale).floor() as i64 + 1;
        let count = (2 - 2 * first) as usize;
        let last = axis.input as i64 - 1;
        let mut taps = Self {
            count,
            input: axis.input,
            indices: Vec::with_capacity(axis.output * count),
            weights: Vec::with_capacity(axis.output * count),
        };
        for coordinate in &axis.coordinates {
            let base = coordinate.floor();
            let ratio = f64::from(coordinate - base);
            let offsets = (0..count as i64).map(|tap| first + tap);
            let weight = |offset: i64| {
                let outside = !(0..=last).contains(&(base as i64 + offset));
                if outside && options.exclude_outside {
                    0.0
                } else {
                    filter(options.mode, ((offset as f64 - ratio) * scale).abs())
                }
            };
            let weights: Vec<f64> = offsets.clone().map(weight).collect();
            let sum: f64 = weights.iter().sum();
            let normalize = options.antialias || options.exclude_outside;
            let sum = if normalize && sum != 0.0 { sum } else { 1.0 };
            taps.weights.extend(weights.iter().map(|weight| (weight / sum) as f32));
            taps.indices.extend(offsets.map(|offset| (base as i64 + offset).clamp(0, last) as usize));
        }
        taps
    }

    pub fn apply<const D: usize>(&self, x: Tensor<D>, dim: usize) -> Tensor<D> {
        if self.count > MAX_SELECTED { self.multiply(x, dim) } else { self.select(x, dim) }
    }

    fn select<const D: usize>(&self, x: Tensor<D>, dim: usize) -> Tensor<D> {
        let (device, dtype) = (x.device(), x.dtype());
        let output = self.indices.len() / self.count;
        let mut shape = [1; D];
        shape[dim] = output;
        let tap = |tap: usize| {
            let indices = self.indices.iter().skip(tap).step_by(self.count);
            let indices: Vec<i32> = indices.map(|index| *index as i32).collect();
            let weights = self.weights.iter().skip(tap).step_by(self.count);
            let weights = TensorData::new(weights.copied().collect(), shape).convert_dtype(dtype);
            let indices = TensorData::new(indices, [output]);
            let near = x.clone().select(dim, Tensor::from_data(indices, (&device, DType::I32)));
            near * Tensor::from_data(weights, (&device, dtype))
        };
        (0..self.count).map(tap).reduce(|sum, part| sum + part).expect("interpolation has neighbors")
    }

    fn multiply<const D: usize>(&self, x: Tensor<D>, dim: usize) -> Tensor<D> {
        let (device, dtype) = (x.device(), x.dtype());
        let output = self.indices.len() / self.count;
        let mut matrix = vec![0f32; elements(&[self.input, output], size_of::<f32>())];
        for (tap, (index, weight)) in self.indices.iter().zip(&self.weights).enumerate() {
            matrix[index * output + tap / self.count] += weight;
        }
        let matrix = TensorData::new(matrix, [self.input, output]).convert_dtype(dtype);
        let matrix = Tensor::<2>::from_data(matrix, (&device, dtype));
        let x = x.swap_dims(dim, D - 1);
        let mut dims = x.dims();
        let rows = dims[..D - 1].iter().product();
        dims[D - 1] = output;
        // Burn's own matrix product reads out of bounds if there are no rows.
        let y = product(x.with_shape([rows, self.input]), matrix);
        y.with_shape(dims).swap_dims(dim, D - 1)
    }
}

/// Returns the weight of an element at `distance` from the coordinate.
fn filter(mode: Mode, distance: f64) -> f64 {
    let x = distance;
    match mode {
        Mode::Cubic { a } => {
            let a = f64::from(a);
            if x <= 1.0 {
                ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
            } else if x < 2.0 {
                ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
            } else {
                0.0
            }
        }
        _ => (1.0 - x).max(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        image::resize::{Coordinates, Target},
        testing::{near, noise},
    };

    #[test]
    fn selecting_and_multiplying_are_the_same() {
        let x = noise([2, 7, 3], 1);
        for (mode, antialias) in [
            (Mode::Linear, false),
            (Mode::Linear, true),
            (Mode::Cubic { a: -0.5 }, false),
            (Mode::Cubic { a: -0.75 }, true),
        ] {
            let options = Resize { antialias, ..Resize::new(mode, Coordinates::HalfPixel) };
            for size in [3, 5, 12] {
                let target = Target::Sizes(&[size]);
                let plan = Axis::plan(&[2, 7, 3], &[1], target, &[], options.coordinates);
                let taps = Taps::new(&plan[0], &options);
                let selected = taps.select(x.clone(), 1);
                near(taps.multiply(x.clone(), 1), selected.into_data(), 1e-6);
            }
        }
    }
}
