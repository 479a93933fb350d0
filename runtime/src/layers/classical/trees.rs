//! Tree ensembles with their trees.
//!
//! No training changes them. They stay on the host, and lie on the device too where it walks them.

mod load;

use alloc::sync::Arc;
use alloc::{boxed::Box, string::String};

use burn::module::Module;
use burn::tensor::kind::Basic;
use burn::tensor::{DType, FloatDType, Int, Tensor};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::reader::{Blocking, Reader, Waiting, now};
use onnx_embed_kernels::scores::Transform;
use onnx_embed_kernels::trees::{Aggregate, Classify, Number, Regress, Tables};

pub use load::Trees;
use load::list;

use super::classes::{Classes, Labels, Naming, Rows, scores};
use crate::host::Scalar;
use crate::weights::Weights;
use crate::{Array, ElementType};

/// Numbers predicted by trees.
#[derive(Module, Debug)]
pub struct TreeRegressor {
    #[module(skip)]
    model: Arc<Precision<Regress<f32>, Regress<f64>>>,
    tables: Option<Tables>,
    #[module(skip)]
    dtype: DType,
}

/// Classification by trees.
#[derive(Module, Debug)]
pub struct TreeClassifier {
    #[module(skip)]
    model: Arc<Precision<Classify<f32>, Classify<f64>>>,
    tables: Option<Tables>,
    naming: Naming,
}

/// In what numbers trees compare and add.
#[derive(Debug)]
enum Precision<S, D> {
    Single(S),
    Double(D),
}

impl TreeRegressor {
    /// For inputs of the type `precision`, results of `dtype`, and with the name of the base values.
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
        let device = weights.device();
        let tables = match &model {
            Precision::Single(model) => model.tables(device),
            Precision::Double(model) => model.tables(device),
        };
        Self { model: Arc::new(model), tables, dtype: dtype.carrier().unwrap_or(DType::F32) }
    }

    /// The predictions, a row for each of the input, which is read where the device does not walk trees.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> Tensor<2> {
        now(self.forward_by(x, Blocking))
    }

    /// [`forward`](Self::forward) without blocking.
    pub async fn forward_async<K: Basic>(&self, x: Tensor<2, K>) -> Tensor<2> {
        self.forward_by(x, Waiting).await
    }

    async fn forward_by<K: Basic>(&self, x: Tensor<2, K>, reader: impl Reader) -> Tensor<2> {
        let device = x.device();
        let found = self.tables.as_ref().and_then(|tables| {
            let x = x.clone();
            match &*self.model {
                Precision::Single(model) => model.run_on(tables, x),
                Precision::Double(model) => model.run_on(tables, x),
            }
        });
        if let Some(found) = found {
            let dtype: FloatDType = lowered(&device, self.dtype).into();
            return found.cast(dtype);
        }
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
    /// For inputs of the type `precision`, and with the name of the base values.
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
        let device = weights.device();
        let tables = match &model {
            Precision::Single(model) => model.tables(device),
            Precision::Double(model) => model.tables(device),
        };
        // ONNX Runtime tells two classes of which each has weights by their numbers.
        let labels = labels.or_numbers(one_column || classes > 2);
        Self { model: Arc::new(model), tables, naming: Naming::new(labels, device) }
    }

    /// The labels, and the scores of all classes; the input is read where the device does not walk trees.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> (Tensor<1, Int>, Tensor<2>) {
        let found = self.classes(x, Blocking);
        now(self.naming.integers_and_scores(found, Blocking))
    }

    /// [`forward`](Self::forward) without blocking.
    pub async fn forward_async<K: Basic>(&self, x: Tensor<2, K>) -> (Tensor<1, Int>, Tensor<2>) {
        let found = self.classes(x, Waiting);
        self.naming.integers_and_scores(found, Waiting).await
    }

    /// The same where labels are strings.
    pub fn forward_strings<K: Basic>(&self, x: Tensor<2, K>) -> (Array<String>, Tensor<2>) {
        let found = self.classes(x, Blocking);
        now(self.naming.strings_and_scores(found, Blocking))
    }

    /// [`forward_strings`](Self::forward_strings) without blocking.
    pub async fn forward_strings_async<K: Basic>(&self, x: Tensor<2, K>) -> (Array<String>, Tensor<2>) {
        let found = self.classes(x, Waiting);
        self.naming.strings_and_scores(found, Waiting).await
    }

    async fn classes<K: Basic>(&self, x: Tensor<2, K>, reader: impl Reader) -> (Classes, Tensor<2>) {
        let device = x.device();
        let found = self.tables.as_ref().and_then(|tables| {
            let x = x.clone();
            match &*self.model {
                Precision::Single(model) => model.run_on(tables, x),
                Precision::Double(model) => model.run_on(tables, x),
            }
        });
        if let Some((classes, scores)) = found {
            let dtype: FloatDType = lowered(&device, DType::F32).into();
            return (Classes::OnDevice(Box::new(classes)), scores.cast(dtype));
        }
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
        let scores = scores(values, width, DType::F32, &device);
        (Classes::Found(classes), scores)
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
mod tests;
