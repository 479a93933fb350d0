//! Support vector machines with their vectors.
//!
//! The vectors are on the host, which reads the rows, computes the results and copies them to the device of the input.

use alloc::sync::Arc;
use alloc::{string::String, vec, vec::Vec};

use burn::module::Module;
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Int, Tensor};
use onnx_embed_kernels::fault::fail;
use onnx_embed_kernels::reader::{Blocking, Reader, Waiting, now};
use onnx_embed_kernels::scores::Transform;
use onnx_embed_kernels::svm::{Basis, Classify, Kernel, Regress, Vectors, Votes};

use super::classes::{Labels, Rows, scores};
use crate::Array;
use crate::weights::Weights;

/// Regression by a support vector machine.
#[derive(Module, Debug)]
pub struct SvmRegressor {
    #[module(skip)]
    model: Arc<Regress>,
}

/// Classification by support vector machines.
#[derive(Module, Debug)]
pub struct SvmClassifier {
    #[module(skip)]
    model: Arc<Classify>,
    #[module(skip)]
    labels: Arc<Labels>,
}

/// Names of the lists of a machine, and its kernel function.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    pub kernel: Kernel,
    /// The attributes `gamma`, `coef0` and `degree`.
    pub parameters: [f32; 3],
    /// `None` if the machine is linear in the features.
    pub vectors: Option<&'a str>,
    pub coefficients: &'a str,
    pub rho: &'a str,
}

impl Machine<'_> {
    /// Loads a basis of `count` vectors. In a linear machine, the coefficients are the vectors.
    fn basis(&self, weights: &Weights<'_>, count: usize) -> Basis {
        let [gamma, coef0, degree] = self.parameters.map(f64::from);
        Basis {
            kernel: match self.vectors {
                Some(_) => self.kernel,
                None => Kernel::Linear,
            },
            gamma,
            coef0,
            degree,
            vectors: Vectors::new(&list(weights, self.vectors.unwrap_or(self.coefficients)), count),
        }
    }
}

impl SvmRegressor {
    /// Loads a machine of `count` vectors. If `one_class`, the results are 1 or -1.
    pub fn load(weights: &Weights<'_>, machine: Machine<'_>, count: usize, one_class: bool) -> Self {
        let linear = machine.vectors.is_none();
        let model = Regress {
            basis: machine.basis(weights, if linear { 1 } else { count }),
            coefficients: if linear { vec![1.0] } else { list(weights, machine.coefficients) },
            rho: list(weights, machine.rho).first().copied().unwrap_or(0.0),
            one_class,
        };
        Self { model: Arc::new(model) }
    }

    /// Returns a number for each row of the input, which the host reads.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> Tensor<2> {
        now(self.forward_by(x, Blocking))
    }

    /// Async version of [`forward`](Self::forward).
    pub async fn forward_async<K: Basic>(&self, x: Tensor<2, K>) -> Tensor<2> {
        self.forward_by(x, Waiting).await
    }

    async fn forward_by<K: Basic>(&self, x: Tensor<2, K>, reader: impl Reader) -> Tensor<2> {
        let device = x.device();
        let rows = single(x, reader).await;
        let values = self.model.run(&rows.values, rows.width, rows.count);
        scores(values, 1, DType::F32, &device)
    }
}

impl SvmClassifier {
    /// Loads a classifier.
    ///
    /// `sizes` is the name of the numbers of vectors of each class, `probabilities` those of the slopes and offsets of
    /// probabilities.
    pub fn load(
        weights: &Weights<'_>,
        machine: Machine<'_>,
        sizes: Option<&str>,
        probabilities: Option<[&str; 2]>,
        labels: Labels,
        transform: Transform,
    ) -> Self {
        let classes = labels.len();
        let votes = match sizes {
            None => Votes::Linear {
                positive: list(weights, machine.coefficients).iter().all(|&coefficient| coefficient >= 0.0),
                probable: probabilities.is_some(),
            },
            Some(sizes) => {
                let sizes = weights.array::<i64>(sizes).into_data();
                Votes::Pairs {
                    sizes: sizes.into_iter().map(|size| size.max(0) as usize).collect(),
                    coefficients: list(weights, machine.coefficients),
                    probabilities: probabilities
                        .map(|[slopes, offsets]| (list(weights, slopes), list(weights, offsets))),
                }
            }
        };
        let count = match &votes {
            Votes::Linear { .. } => classes,
            Votes::Pairs { sizes, coefficients, .. } => {
                let count = sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size));
                let needed = count.and_then(|count| count.checked_mul(classes.checked_sub(1)?));
                match (count, needed) {
                    (Some(count), Some(needed)) if sizes.len() == classes && coefficients.len() >= needed => {
                        count
                    }
                    _ => fail(format_args!(
                        "expected `{}` to have at least `classes - 1` coefficients for each support vector",
                        machine.coefficients
                    )),
                }
            }
        };
        let model = Classify {
            basis: machine.basis(weights, count),
            classes,
            transform,
            rho: list(weights, machine.rho),
            votes,
        };
        Self { model: Arc::new(model), labels: Arc::new(labels) }
    }

    /// Returns the labels and the scores of all classes, or of all pairs of classes. The host reads the input.
    pub fn forward<K: Basic>(&self, x: Tensor<2, K>) -> (Tensor<1, Int>, Tensor<2>) {
        now(self.integers(x, Blocking))
    }

    /// Async version of [`forward`](Self::forward).
    pub async fn forward_async<K: Basic>(&self, x: Tensor<2, K>) -> (Tensor<1, Int>, Tensor<2>) {
        self.integers(x, Waiting).await
    }

    /// Returns string labels and the same scores as [`forward`](Self::forward).
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
        let rows = single(x, reader).await;
        let (classes, values) = self.model.run(&rows.values, rows.width, rows.count);
        (classes, scores(values, self.model.width(), DType::F32, &device))
    }
}

fn list(weights: &Weights<'_>, name: &str) -> Vec<f64> {
    weights.array(name).into_data()
}

/// Reads rows in single precision, the precision of ONNX's machines, independent of the input's.
async fn single<K: Basic>(x: Tensor<2, K>, reader: impl Reader) -> Rows<f64> {
    let rows = Rows::<f32>::of(x, reader).await;
    Rows { values: rows.values.into_iter().map(f64::from).collect(), count: rows.count, width: rows.width }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use burn::tensor::Device;
    use onnx_embed_kernels::attempt::attempt;

    use super::super::trees::tests::file;
    use super::*;
    use crate::ElementType;
    use crate::weights::WeightSource;

    /// Loads a machine of three classes with three vectors of two features; `sizes` are the numbers of vectors of each class.
    fn load(sizes: [i64; 3]) -> Result<SvmClassifier, String> {
        let floats = |count: u8| (1..=count).flat_map(|at| f32::from(at).to_le_bytes()).collect();
        let (bytes, table) = file(&[
            ("vectors", ElementType::Float32, floats(6)),
            ("coefficients", ElementType::Float32, floats(6)),
            ("rho", ElementType::Float32, floats(3)),
            ("sizes", ElementType::Int64, sizes.map(i64::to_le_bytes).concat()),
        ]);
        let machine = Machine {
            kernel: Kernel::Rbf,
            parameters: [0.5, 0.0, 3.0],
            vectors: Some("vectors"),
            coefficients: "coefficients",
            rho: "rho",
        };
        let load = |weights: &Weights<'_>| {
            let labels = Labels::Ints(vec![1, 2, 3]);
            SvmClassifier::load(weights, machine, Some("sizes"), None, labels, Transform::None)
        };
        let made = table.load(WeightSource::Memory(&[&bytes]), &Device::flex(), load);
        made.map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_of_vectors_of_another_file_fit_the_coefficients() {
        let run = |sizes| {
            let model = load(sizes)?;
            let x = Tensor::<2>::ones([1, 2], &Device::flex());
            attempt(|| model.forward(x).1.dims()).map_err(|fault| fault.reason)
        };
        for sizes in [[1, 1, 1], [0, 3, 0], [i64::MIN, 3, -1]] {
            assert_eq!(run(sizes), Ok([1, 3]));
        }
        assert_eq!(run([1, 0, 0]), Err("expected 1 support vectors of 2 features, found 6 values".into()));
        for sizes in [[1, 1, 2], [i64::MAX, 1, 1], [i64::MAX; 3]] {
            let reason = run(sizes).unwrap_err();
            assert!(
                reason.ends_with("at least `classes - 1` coefficients for each support vector"),
                "{reason}"
            );
        }
    }
}
