//! Linear regressors and classifiers with their weights.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::future::ready;

use burn::module::Module;
use burn::tensor::{FloatDType, Int, Tensor};
use onnx_embed_kernels::extreme::arg_max;
use onnx_embed_kernels::reader::{Blocking, Waiting, now};
use onnx_embed_kernels::scores::{self, Transform};
use onnx_embed_kernels::shape::WithShape;

use onnx_embed_kernels::matmul;

use super::classes::{Classes, Labels, Naming};
use crate::Array;
use crate::weights::Weights;

/// A matrix and what is added to its product, which are attributes of an operator: no training changes them.
#[derive(Module, Debug)]
pub struct Coefficients {
    /// `[features, targets]`.
    matrix: Tensor<2>,
    intercepts: Option<Tensor<1>>,
}

/// Numbers predicted by a matrix.
#[derive(Module, Debug)]
pub struct LinearRegressor {
    coefficients: Coefficients,
    #[module(skip)]
    transform: Transform,
}

/// Classification by a matrix of coefficients.
#[derive(Module, Debug)]
pub struct LinearClassifier {
    coefficients: Coefficients,
    #[module(skip)]
    transform: Transform,
    naming: Naming,
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

    /// In the precision of the coefficients, whatever the input's.
    fn product(&self, x: Tensor<2>) -> Tensor<2> {
        let dtype: FloatDType = self.matrix.dtype().into();
        matmul::linear(x.cast(dtype), self.matrix.clone(), self.intercepts.clone())
    }
}

impl LinearRegressor {
    /// With coefficients stored as `[targets, features]`.
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
    /// With coefficients stored as `[targets, features]`; a single target tells two classes.
    pub fn load(
        weights: &Weights<'_>,
        coefficients: &str,
        intercepts: Option<&str>,
        targets: usize,
        labels: Labels,
        transform: Transform,
    ) -> Self {
        Self {
            coefficients: Coefficients::load(weights, coefficients, intercepts, targets),
            transform,
            naming: Naming::new(labels, weights.device()),
        }
    }

    /// The labels and the scores of all classes.
    pub fn forward(&self, x: Tensor<2>) -> (Tensor<1, Int>, Tensor<2>) {
        let found = ready(self.classes(x));
        now(self.naming.integers_and_scores(found, Blocking))
    }

    /// The same where labels are strings.
    pub fn forward_strings(&self, x: Tensor<2>) -> (Array<String>, Tensor<2>) {
        let found = ready(self.classes(x));
        now(self.naming.strings_and_scores(found, Blocking))
    }

    /// [`forward_strings`](Self::forward_strings) without blocking.
    pub async fn forward_strings_async(&self, x: Tensor<2>) -> (Array<String>, Tensor<2>) {
        let found = ready(self.classes(x));
        self.naming.strings_and_scores(found, Waiting).await
    }

    fn classes(&self, x: Tensor<2>) -> (Classes, Tensor<2>) {
        let scores = self.coefficients.product(x);
        let classes = match scores.dims() {
            [0, _] => Classes::Found(Vec::new()),
            [count, 1] => {
                let positive = scores.clone().greater_elem(0).int();
                Classes::OnDevice(Box::new(positive.with_shape([count])))
            }
            _ => Classes::OnDevice(Box::new(arg_max(scores.clone(), 1, false))),
        };
        let scores = match scores.dims()[1] {
            1 => scores::pairs(scores, self.transform),
            _ => scores::transform(scores, self.transform),
        };
        (classes, scores)
    }
}
