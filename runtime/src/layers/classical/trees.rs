//! Tree ensembles with their trees.
//!
//! Training does not change the trees. They are on the host, which reads the rows and copies the scores to the device
//! of the input.

mod load;

use alloc::sync::Arc;
use alloc::{string::String, vec::Vec};

use burn::module::Module;
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Int, Tensor};
use onnx_embed_kernels::reader::{Blocking, Reader, Waiting, now};
use onnx_embed_kernels::scores::Transform;
use onnx_embed_kernels::trees::{Aggregate, Classify, Number, Regress};

pub use load::Trees;
use load::list;

use super::classes::{Labels, Rows, scores};
use crate::host::Scalar;
use crate::weights::Weights;
use crate::{Array, ElementType};

/// Regression by trees.
#[derive(Module, Debug)]
pub struct TreeRegressor {
    #[module(skip)]
    model: Arc<Precision<Regress<f32>, Regress<f64>>>,
    #[module(skip)]
    dtype: DType,
}

/// Classification by trees.
#[derive(Module, Debug)]
pub struct TreeClassifier {
    #[module(skip)]
    model: Arc<Precision<Classify<f32>, Classify<f64>>>,
    #[module(skip)]
    labels: Arc<Labels>,
}

/// Precision in which trees compare and add.
#[derive(Debug)]
enum Precision<S, D> {
    Single(S),
    Double(D),
}

impl TreeRegressor {
    /// Loads trees for inputs of the type `precision` and results of `dtype`. `base` is the name of the base values.
    pub fn load(
        weights: &Weights<'_>,
        trees: Trees<'_>,
        [precision, dtype]: [ElementType; 2],
        targets: usize,
        aggregate: Aggregate,
        transform: Transform,
        base: Option<&str>,
    ) -> Self {
        let model = match precision {
            ElementType::Float64 => {
                Precision::Double(regress(weights, trees, targets, aggregate, transform, base))
            }
            _ => Precision::Single(regress(weights, trees, targets, aggregate, transform, base)),
        };
        Self { model: Arc::new(model), dtype: dtype.carrier().unwrap_or(DType::F32) }
    }

    /// Returns a row of predictions for each row of the input, which the host reads.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> Tensor<2> {
        now(self.forward_by(x, Blocking))
    }

    /// Async version of [`forward`](Self::forward).
    pub async fn forward_async<K: Basic>(&self, x: Tensor<2, K>) -> Tensor<2> {
        self.forward_by(x, Waiting).await
    }

    async fn forward_by<K: Basic>(&self, x: Tensor<2, K>, reader: impl Reader) -> Tensor<2> {
        let device = x.device();
        let (values, targets) = match &*self.model {
            Precision::Single(model) => {
                let rows = Rows::of(x, reader).await;
                (model.run(&rows.values, rows.width, rows.count), model.targets)
            }
            Precision::Double(model) => {
                let rows = Rows::of(x, reader).await;
                (model.run(&rows.values, rows.width, rows.count), model.targets)
            }
        };
        scores(values, targets, self.dtype, &device)
    }
}

impl TreeClassifier {
    /// Loads trees for inputs of the type `precision`. `base` is the name of the base values.
    pub fn load(
        weights: &Weights<'_>,
        trees: Trees<'_>,
        precision: ElementType,
        labels: Labels,
        transform: Transform,
        base: Option<&str>,
    ) -> Self {
        let classes = labels.len();
        let (model, one_column) = match precision {
            ElementType::Float64 => {
                let model = classify(weights, trees, classes, transform, base);
                let one_column = model.one_column;
                (Precision::Double(model), one_column)
            }
            _ => {
                let model = classify(weights, trees, classes, transform, base);
                let one_column = model.one_column;
                (Precision::Single(model), one_column)
            }
        };
        // If two classes both have weights, ONNX Runtime returns their numbers instead of integer labels.
        let labels = labels.or_numbers(one_column || classes > 2);
        Self { model: Arc::new(model), labels: Arc::new(labels) }
    }

    /// Returns the labels and the scores of all classes. The host reads the input.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> (Tensor<1, Int>, Tensor<2>) {
        now(self.integers(x, Blocking))
    }

    /// Async version of [`forward`](Self::forward).
    pub async fn forward_async<K: Basic>(&self, x: Tensor<2, K>) -> (Tensor<1, Int>, Tensor<2>) {
        self.integers(x, Waiting).await
    }

    /// Returns string labels and the scores of all classes.
    pub fn forward_strings<K: Basic>(&self, x: Tensor<2, K>) -> (Array<String>, Tensor<2>) {
        now(self.strings(x, Blocking))
    }

    /// Async version of [`forward_strings`](Self::forward_strings).
    pub async fn forward_strings_async<K: Basic>(&self, x: Tensor<2, K>) -> (Array<String>, Tensor<2>) {
        self.strings(x, Waiting).await
    }

    async fn integers<K: Basic>(&self, x: Tensor<2, K>, reader: impl Reader) -> (Tensor<1, Int>, Tensor<2>) {
        let (classes, scores) = self.classes(x, reader).await;
        (self.labels.integers(&classes, &scores.device()), scores)
    }

    async fn strings<K: Basic>(&self, x: Tensor<2, K>, reader: impl Reader) -> (Array<String>, Tensor<2>) {
        let (classes, scores) = self.classes(x, reader).await;
        (self.labels.texts(&classes), scores)
    }

    async fn classes<K: Basic>(&self, x: Tensor<2, K>, reader: impl Reader) -> (Vec<usize>, Tensor<2>) {
        let device = x.device();
        let ((classes, values), width) = match &*self.model {
            Precision::Single(model) => {
                let rows = Rows::of(x, reader).await;
                (model.run(&rows.values, rows.width, rows.count), model.classes)
            }
            Precision::Double(model) => {
                let rows = Rows::of(x, reader).await;
                (model.run(&rows.values, rows.width, rows.count), model.classes)
            }
        };
        (classes, scores(values, width, DType::F32, &device))
    }
}

fn regress<T: Number + Scalar>(
    weights: &Weights<'_>,
    trees: Trees<'_>,
    targets: usize,
    aggregate: Aggregate,
    transform: Transform,
    base: Option<&str>,
) -> Regress<T> {
    Regress {
        forest: trees.load(weights, targets).0,
        targets,
        aggregate,
        transform,
        base: list(weights, base),
    }
}

fn classify<T: Number + Scalar>(
    weights: &Weights<'_>,
    trees: Trees<'_>,
    classes: usize,
    transform: Transform,
    base: Option<&str>,
) -> Classify<T> {
    let (forest, leaves) = trees.load::<T>(weights, classes);
    let first = leaves.targets.first();
    let same = leaves.targets.iter().all(|target| Some(target) == first);
    let zero = T::from_f64(0.0);
    Classify {
        forest,
        classes,
        transform,
        base: list(weights, base),
        one_column: classes == 2 && same && first.is_some(),
        positive: leaves.weights.iter().all(|&weight| weight >= zero),
    }
}

#[cfg(test)]
pub(super) mod tests;
