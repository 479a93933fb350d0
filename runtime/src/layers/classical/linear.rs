//! Linear regressors and classifiers with their coefficients.

use alloc::{string::String, sync::Arc, vec::Vec};

use burn::module::Module;
use burn::tensor::{FloatDType, Int, Tensor};
use onnx_embed_kernels::arg_max::arg_max;
use onnx_embed_kernels::reader::{Blocking, Reader, Waiting, now};
use onnx_embed_kernels::scores::{self, Transform};
use onnx_embed_kernels::shape::WithShape;

use onnx_embed_kernels::matmul;

use super::classes::{Labels, integers};
use crate::Array;
use crate::convert::elements;
use crate::weights::Weights;

/// A matrix and the intercepts of its product. They are attributes of an operator, so training does not change them.
#[derive(Module, Debug)]
pub struct Coefficients {
    /// Matrix of shape `[features, targets]`.
    matrix: Tensor<2>,
    intercepts: Option<Tensor<1>>,
}

/// Linear regression.
#[derive(Module, Debug)]
pub struct LinearRegressor {
    coefficients: Coefficients,
    #[module(skip)]
    transform: Transform,
}

/// Linear classification.
#[derive(Module, Debug)]
pub struct LinearClassifier {
    coefficients: Coefficients,
    #[module(skip)]
    transform: Transform,
    #[module(skip)]
    labels: Arc<Labels>,
    /// Integer labels on the device.
    integer_labels: Option<Tensor<1, Int>>,
}

impl Coefficients {
    fn load(weights: &Weights<'_>, coefficients: &str, intercepts: Option<&str>, targets: usize) -> Self {
        let matrix = weights.tensor::<1>(coefficients);
        let features = matrix.dims()[0] / targets;
        Self {
            matrix: matrix.with_shape([targets, features]).transpose(),
            intercepts: intercepts.map(|name| weights.tensor(name)),
        }
    }

    /// Returns the product in the precision of the coefficients, independent of the input's.
    fn product(&self, x: Tensor<2>) -> Tensor<2> {
        let dtype: FloatDType = self.matrix.dtype().into();
        matmul::linear(x.cast(dtype), self.matrix.clone(), self.intercepts.clone())
    }
}

impl LinearRegressor {
    /// Loads coefficients stored as `[targets, features]`.
    pub fn load(
        weights: &Weights<'_>,
        coefficients: &str,
        intercepts: Option<&str>,
        targets: usize,
        transform: Transform,
    ) -> Self {
        Self {
            coefficients: Coefficients::load(weights, coefficients, intercepts, targets),
            transform: match targets {
                1 => transform.of_one(),
                _ => transform,
            },
        }
    }

    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        scores::transform(self.coefficients.product(x), self.transform)
    }
}

impl LinearClassifier {
    /// Loads coefficients stored as `[targets, features]`. A single target distinguishes two classes.
    pub fn load(
        weights: &Weights<'_>,
        coefficients: &str,
        intercepts: Option<&str>,
        targets: usize,
        labels: Labels,
        transform: Transform,
    ) -> Self {
        let integer_labels = match &labels {
            Labels::Ints(labels) if !labels.is_empty() => Some(integers(labels.clone(), weights.device())),
            _ => None,
        };
        Self {
            coefficients: Coefficients::load(weights, coefficients, intercepts, targets),
            transform,
            labels: Arc::new(labels),
            integer_labels,
        }
    }

    /// Returns the labels and the scores of all classes.
    pub fn forward(&self, x: Tensor<2>) -> (Tensor<1, Int>, Tensor<2>) {
        let (classes, scores) = self.classes(x);
        let labels = match (classes, &self.integer_labels) {
            (Some(classes), Some(labels)) => chosen(labels.clone(), classes),
            _ => self.labels.integers(&[], &scores.device()),
        };
        (labels, scores)
    }

    /// Returns string labels, for which the host reads the classes, and the scores of all classes.
    pub fn forward_strings(&self, x: Tensor<2>) -> (Array<String>, Tensor<2>) {
        now(self.strings(x, Blocking))
    }

    /// Async version of [`forward_strings`](Self::forward_strings).
    pub async fn forward_strings_async(&self, x: Tensor<2>) -> (Array<String>, Tensor<2>) {
        self.strings(x, Waiting).await
    }

    async fn strings(&self, x: Tensor<2>, reader: impl Reader) -> (Array<String>, Tensor<2>) {
        let (classes, scores) = self.classes(x);
        let classes = match classes {
            Some(classes) => read_classes(classes, self.labels.len(), reader).await,
            None => Vec::new(),
        };
        (self.labels.texts(&classes), scores)
    }

    /// Returns the class of each row, if there are rows, and the scores of all classes.
    fn classes(&self, x: Tensor<2>) -> (Option<Tensor<1, Int>>, Tensor<2>) {
        let scores = self.coefficients.product(x);
        let classes = match scores.dims() {
            [0, _] => None,
            [count, 1] => {
                let positive = scores.clone().greater_elem(0).int();
                Some(positive.with_shape([count]))
            }
            _ => Some(arg_max(scores.clone(), 1, false)),
        };
        let scores = match scores.dims()[1] {
            1 => scores::pairs(scores, self.transform),
            _ => scores::transform(scores, self.transform),
        };
        (classes, scores)
    }
}

/// Returns the labels of classes. They are clamped because a device may find any class for rows with NaN.
fn chosen(labels: Tensor<1, Int>, classes: Tensor<1, Int>) -> Tensor<1, Int> {
    let last = labels.dims()[0] as i64 - 1;
    labels.select(0, classes.clamp(0, last))
}

/// Reads classes from a device and clamps them below `count`.
async fn read_classes(classes: Tensor<1, Int>, count: usize, reader: impl Reader) -> Vec<usize> {
    let classes: Vec<i64> = elements(reader.read(classes).await);
    let last = count.saturating_sub(1) as i64;
    classes.into_iter().map(|class| class.clamp(0, last) as usize).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn classes_of_a_device_have_labels_whatever_it_finds() {
        let device = Device::flex();
        let found = || Tensor::<1, Int>::from_data([0i64, 9, -1], &device);
        let labels = integers(vec![7, -3], &device);
        assert_eq!(chosen(labels, found()).into_data(), TensorData::from([7i64, -3, 7]));
        assert_eq!(now(read_classes(found(), 2, Blocking)), [0, 1, 0]);
    }
}
