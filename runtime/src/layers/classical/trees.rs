//! Tree ensembles with their trees.
//!
//! No training changes them. They stay on the host, and lie on the device too where it walks them.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::kind::Basic;
use burn::tensor::{DType, FloatDType, Int, Tensor};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::fault::fail;
use onnx_embed_kernels::scores::Transform;
use onnx_embed_kernels::trees::{
    Aggregate, Classify, Forest, Indexed, Labelled, Mode, Number, Regress, Tables,
};

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

/// The names of the lists that hold the trees.
#[derive(Clone, Copy, Debug)]
pub enum Trees<'a> {
    /// Nodes named by the number of their tree and their own.
    Labelled {
        trees: &'a str,
        nodes: &'a str,
        modes: &'a str,
        features: &'a str,
        values: &'a str,
        yes: &'a str,
        no: &'a str,
        missing: Option<&'a str>,
        weight_trees: &'a str,
        weight_nodes: &'a str,
        weight_targets: &'a str,
        weights: &'a str,
    },
    /// Nodes named by their positions.
    Indexed {
        roots: &'a str,
        modes: &'a str,
        features: &'a str,
        values: &'a str,
        yes: &'a str,
        no: &'a str,
        yes_leaves: &'a str,
        no_leaves: &'a str,
        missing: Option<&'a str>,
        members: Option<&'a str>,
        weight_targets: &'a str,
        weights: &'a str,
    },
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
        Self {
            model: Arc::new(model),
            tables,
            dtype: dtype.carrier().unwrap_or(DType::F32),
        }
    }

    /// The predictions, a row for each of the input, which is read where the device does not walk trees.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> Tensor<2> {
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
            Precision::Single(model) => (predict(model, x), model.targets),
            Precision::Double(model) => (predict(model, x), model.targets),
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
        Self {
            model: Arc::new(model),
            tables,
            naming: Naming::new(labels, device),
        }
    }

    /// The labels, and the scores of all classes; the input is read where the device does not walk trees.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> (Tensor<1, Int>, Tensor<2>) {
        self.naming.integers_and_scores(self.classes(x))
    }

    /// The same where labels are strings.
    pub fn forward_strings<K: Basic>(&self, x: Tensor<2, K>) -> (Array<String>, Tensor<2>) {
        self.naming.strings_and_scores(self.classes(x))
    }

    fn classes<K: Basic>(&self, x: Tensor<2, K>) -> (Classes, Tensor<2>) {
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
            Precision::Single(model) => (choose(model, x), model.classes),
            Precision::Double(model) => (choose(model, x), model.classes),
        };
        let scores = scores(values, width, DType::F32, &device);
        (Classes::Found(classes), scores)
    }
}

fn predict<T: Number + Scalar, K: Basic>(model: &Regress<T>, x: Tensor<2, K>) -> Vec<f64> {
    let rows = Rows::of(x);
    model.run(&rows.values, rows.width, rows.count)
}

fn choose<T: Number + Scalar, K: Basic>(
    model: &Classify<T>,
    x: Tensor<2, K>,
) -> (Vec<usize>, Vec<f64>) {
    let rows = Rows::of(x);
    model.run(&rows.values, rows.width, rows.count)
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

/// What the leaves weigh for which classes.
struct Leaves<T> {
    targets: Vec<i64>,
    weights: Vec<T>,
}

impl Trees<'_> {
    fn load<T: Number + Scalar>(
        self,
        source: &Weights<'_>,
        targets: usize,
    ) -> (Forest<T>, Leaves<T>) {
        let ints = |name| source.array::<i64>(name).into_data();
        let numbers = |name| source.array::<T>(name).into_data();
        let (name, weights, weight_targets) = match self {
            Trees::Labelled {
                modes,
                weights,
                weight_targets,
                ..
            }
            | Trees::Indexed {
                modes,
                weights,
                weight_targets,
                ..
            } => (modes, numbers(weights), ints(weight_targets)),
        };
        let leaves = Leaves {
            targets: weight_targets.clone(),
            weights: weights.clone(),
        };
        let forest = match self {
            Trees::Labelled {
                trees,
                nodes,
                modes,
                features,
                values,
                yes,
                no,
                missing,
                weight_trees,
                weight_nodes,
                ..
            } => Labelled {
                trees: ints(trees),
                nodes: ints(nodes),
                modes: named(source, modes),
                features: ints(features),
                values: numbers(values),
                yes: ints(yes),
                no: ints(no),
                missing: list(source, missing),
                weight_trees: ints(weight_trees),
                weight_nodes: ints(weight_nodes),
                weight_targets,
                weights,
            }
            .build(targets),
            Trees::Indexed {
                roots,
                modes,
                features,
                values,
                yes,
                no,
                yes_leaves,
                no_leaves,
                missing,
                members,
                ..
            } => Indexed {
                roots: ints(roots),
                modes: numbered(source, modes),
                features: ints(features),
                values: numbers(values),
                yes: ints(yes),
                no: ints(no),
                yes_leaves: ints(yes_leaves),
                no_leaves: ints(no_leaves),
                missing: list(source, missing),
                members: list(source, members),
                weight_targets,
                weights,
            }
            .build(targets),
        };
        match forest {
            Ok(forest) => (forest, leaves),
            Err(reason) => fail(format_args!("the tree ensemble of `{name}` {reason}")),
        }
    }
}

fn list<T: Scalar>(weights: &Weights<'_>, name: Option<&str>) -> Vec<T> {
    name.map_or_else(Vec::new, |name| weights.array(name).into_data())
}

fn named(weights: &Weights<'_>, name: &str) -> Vec<Mode> {
    let mode = |text: &String| match Mode::named(text) {
        Some(mode) => mode,
        None => fail(format_args!("`{name}` has the unknown mode {text:?}")),
    };
    weights.strings(name).data().iter().map(mode).collect()
}

fn numbered(weights: &Weights<'_>, name: &str) -> Vec<Mode> {
    let mode = |&number: &u8| match Mode::numbered(number) {
        Some(mode) => mode,
        None => fail(format_args!("`{name}` has the unknown mode {number}")),
    };
    weights.array(name).data().iter().map(mode).collect()
}

#[cfg(test)]
mod tests;
