//! Rows that classical models read, labels and scores that they return.

use alloc::sync::Arc;
use alloc::{borrow::ToOwned, boxed::Box, string::String, vec, vec::Vec};

use burn::module::Module;
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::reader::Reader;

use crate::Array;
use crate::convert::{convert, elements};
use crate::host::Scalar;
use crate::weights::Weights;

/// The labels of a classifier.
#[derive(Clone, Debug)]
pub enum Labels {
    Ints(Vec<i64>),
    Strings(Vec<String>),
}

impl Labels {
    /// Those of the file.
    pub fn ints(weights: &Weights<'_>, name: &str) -> Self {
        Labels::Ints(weights.array(name).into_data())
    }

    /// Those of the file.
    pub fn strings(weights: &Weights<'_>, name: &str) -> Self {
        Labels::Strings(weights.strings(name).into_data())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Labels::Ints(labels) => labels.len(),
            Labels::Strings(labels) => labels.len(),
        }
    }

    /// 0 and 1, which stand for the classes of a model that has two but no labels for them.
    pub(super) fn or_numbers(self, have_labels: bool) -> Self {
        match self {
            _ if have_labels => self,
            Labels::Ints(_) => Labels::Ints(vec![0, 1]),
            Labels::Strings(labels) if labels.len() == 2 => Labels::Strings(labels),
            Labels::Strings(_) => Labels::Strings(vec!["0".to_owned(), "1".to_owned()]),
        }
    }

    fn at(&self, classes: &[usize]) -> Vec<i64> {
        let Labels::Ints(labels) = self else {
            panic!("the labels of the classifier are strings");
        };
        classes.iter().map(|&class| labels[class]).collect()
    }

    fn texts(&self, classes: &[usize]) -> Array<String> {
        let Labels::Strings(labels) = self else {
            panic!("the labels of the classifier are integers");
        };
        let chosen: Vec<String> = classes.iter().map(|&class| labels[class].clone()).collect();
        Array::vector(chosen)
    }
}

/// The places of the rows' classes among the labels.
pub(super) enum Classes {
    Found(Vec<usize>),
    /// Where the device found them, which may give anything for rows that are no numbers.
    OnDevice(Box<Tensor<1, Int>>),
}

/// The labels where classes are found.
#[derive(Module, Debug)]
pub(super) struct Naming {
    #[module(skip)]
    labels: Arc<Labels>,
    /// Those that are integers.
    tensor: Option<Tensor<1, Int>>,
}

impl Naming {
    pub fn new(labels: Labels, device: &Device) -> Self {
        let tensor = match &labels {
            Labels::Ints(labels) if !labels.is_empty() => Some(integers(labels.clone(), device)),
            _ => None,
        };
        Self { labels: Arc::new(labels), tensor }
    }

    /// The labels of classes and their scores, on the device of these.
    pub async fn integers_and_scores(
        &self,
        found: impl Future<Output = (Classes, Tensor<2>)>,
        reader: impl Reader,
    ) -> (Tensor<1, Int>, Tensor<2>) {
        let (classes, scores) = found.await;
        let labels = match (classes, &self.tensor) {
            (Classes::OnDevice(classes), _) if classes.dims()[0] == 0 => *classes,
            (Classes::OnDevice(classes), Some(labels)) => {
                let last = self.labels.len() as i64 - 1;
                labels.clone().select(0, classes.clamp(0, last))
            }
            (classes, _) => {
                let places = self.places(classes, reader).await;
                integers(self.labels.at(&places), &scores.device())
            }
        };
        (labels, scores)
    }

    /// As [`Naming::integers_and_scores`], where labels are strings: these are on the host, so that classes are read.
    pub async fn strings_and_scores(
        &self,
        found: impl Future<Output = (Classes, Tensor<2>)>,
        reader: impl Reader,
    ) -> (Array<String>, Tensor<2>) {
        let (classes, scores) = found.await;
        let places = self.places(classes, reader).await;
        (self.labels.texts(&places), scores)
    }

    async fn places(&self, classes: Classes, reader: impl Reader) -> Vec<usize> {
        match classes {
            Classes::Found(places) => places,
            Classes::OnDevice(classes) if classes.dims()[0] == 0 => Vec::new(),
            Classes::OnDevice(classes) => {
                let places: Vec<i64> = elements(reader.read(*classes).await);
                let last = self.labels.len().saturating_sub(1) as i64;
                let places = places.into_iter();
                places.map(|place| place.clamp(0, last) as usize).collect()
            }
        }
    }
}

fn integers(values: Vec<i64>, device: &Device) -> Tensor<1, Int> {
    let dtype = lowered(device, DType::I64);
    let count = values.len();
    let data = TensorData::new(values, [count]);
    Tensor::from_data(convert(data, dtype), (device, dtype))
}

/// Rows that were read from a device.
pub(super) struct Rows<T> {
    pub values: Vec<T>,
    pub count: usize,
    pub width: usize,
}

impl<T: Scalar> Rows<T> {
    pub async fn of<K: Basic>(x: Tensor<2, K>, reader: impl Reader) -> Self {
        let [count, width] = x.dims();
        let values = elements(reader.read(x).await);
        Self { values, count, width }
    }
}

/// Scores on a device, as many a row as `width` says.
pub(super) fn scores(values: Vec<f64>, width: usize, dtype: DType, device: &Device) -> Tensor<2> {
    let dtype = lowered(device, dtype);
    let count = values.len().checked_div(width).unwrap_or(0);
    let data = TensorData::new(values, [count, width]);
    Tensor::from_data(convert(data, dtype), (device, dtype))
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use onnx_embed_kernels::reader::{Blocking, now};

    use super::*;

    #[test]
    fn labels_are_chosen_by_class() {
        let device = Device::flex();
        let scores = || Tensor::<2>::zeros([3, 2], &device);
        let ints = Naming::new(Labels::Ints(vec![7, -3]), &device);
        let (chosen, _) =
            now(ints.integers_and_scores(ready((Classes::Found(vec![1, 0, 1]), scores())), Blocking));
        assert_eq!(chosen.into_data(), TensorData::from([-3i64, 7, -3]));
        let texts = Naming::new(Labels::Strings(vec!["no".to_owned()]).or_numbers(false), &device);
        let (chosen, _) = now(texts.strings_and_scores(ready((Classes::Found(vec![1]), scores())), Blocking));
        assert_eq!(chosen.data(), ["1"]);
    }

    #[test]
    fn classes_of_a_device_are_places_whatever_it_gives() {
        let device = Device::flex();
        let found = || Tensor::<1, Int>::from_data([0i64, 9, -1], &device);
        let scores = || Tensor::<2>::zeros([3, 2], &device);
        let mut ints = Naming::new(Labels::Ints(vec![7, -3]), &device);
        for tensor in [None, Some(integers(vec![7, -3], &device))] {
            ints.tensor = tensor;
            let (chosen, _) =
                now(ints
                    .integers_and_scores(ready((Classes::OnDevice(Box::new(found())), scores())), Blocking));
            assert_eq!(chosen.into_data(), TensorData::from([7i64, -3, 7]));
        }
    }
}
