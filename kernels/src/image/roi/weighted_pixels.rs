//! Pixels that are reduced to elements of the result.

use alloc::vec::Vec;
use burn::tensor::{DType, Tensor, TensorData};

use super::{Mode, points::Taps};
use crate::{dtype::lowered, reduce::sum::sum_dim, shape::WithShape};

/// The pixels of consecutive output elements, and their weights.
pub struct WeightedPixels {
    indices: Vec<i64>,
    /// Average: weights in the mean. Max: the weights of positive values.
    weights: Vec<f64>,
    /// Max: the weights of negative values.
    least: Vec<f64>,
}

impl WeightedPixels {
    pub fn with_capacity(count: usize) -> Self {
        Self {
            indices: Vec::with_capacity(count),
            weights: Vec::with_capacity(count),
            least: Vec::with_capacity(count),
        }
    }

    /// Appends the pixels of one output element.
    pub fn push(&mut self, first: usize, width: usize, y: &Taps, x: &Taps, round: fn(f64) -> f64) {
        // Points outside the image are 0, which exceeds all negative values.
        let least = f64::from(y.is_inside && x.is_inside);
        for y_tap in &y.list {
            let begin = first + y_tap.index * width;
            for x_tap in &x.list {
                let weight = |at: usize| round(y_tap.weights[at] * x_tap.weights[at]);
                self.indices.push((begin + x_tap.index) as i64);
                self.weights.push(weight(0));
                self.least.push(weight(1) * least);
            }
        }
    }

    /// Returns `[elements, 1, 1, channels]`, reduced from `length` pixels each.
    pub fn read(self, pixels: &Tensor<2>, [count, length]: [usize; 2], mode: Mode) -> Tensor<4> {
        let (device, channels) = (pixels.device(), pixels.dims()[1]);
        if length == 0 {
            return Tensor::zeros([count, 1, 1, channels], (&device, pixels.dtype()));
        }
        let flat = count * length;
        let indices = TensorData::new(self.indices, [flat]);
        let indices = Tensor::from_data(indices, (&device, lowered(&device, DType::I64)));
        let weights = |weights: Vec<f64>| {
            let weights = TensorData::new(weights, [flat, 1]);
            Tensor::<2>::from_data(weights, (&device, pixels.dtype()))
        };
        let values = pixels.clone().select(0, indices);
        let shape = [count, length, 1, channels];
        match mode {
            Mode::Average => {
                let parts = values * weights(self.weights);
                sum_dim(parts.with_shape(shape), 1)
            }
            Mode::Max => {
                let positive = values.clone().clamp_min(0.0) * weights(self.weights);
                let negative = values.clamp_max(0.0) * weights(self.least);
                (positive + negative).with_shape(shape).max_dim(1)
            }
        }
    }
}
