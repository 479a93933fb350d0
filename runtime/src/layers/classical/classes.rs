//! Rows that classical models read, labels and scores that they return.

use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::observe::read;

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

    /// The labels of classes and their scores, on the device of these.
    pub(super) fn integers_and_scores(
        &self,
        (classes, scores): (Vec<usize>, Tensor<2>),
    ) -> (Tensor<1, Int>, Tensor<2>) {
        (self.tensor(&classes, &scores.device()), scores)
    }

    /// As [`Labels::integers_and_scores`], where labels are strings.
    pub(super) fn strings_and_scores(
        &self,
        (classes, scores): (Vec<usize>, Tensor<2>),
    ) -> (Array<String>, Tensor<2>) {
        (self.texts(&classes), scores)
    }

    fn tensor(&self, classes: &[usize], device: &Device) -> Tensor<1, Int> {
        let Labels::Ints(labels) = self else {
            panic!("the labels of the classifier are strings");
        };
        let chosen: Vec<i64> = classes.iter().map(|&class| labels[class]).collect();
        let dtype = lowered(device, DType::I64);
        let data = TensorData::new(chosen, [classes.len()]);
        Tensor::from_data(convert(data, dtype), (device, dtype))
    }

    fn texts(&self, classes: &[usize]) -> Array<String> {
        let Labels::Strings(labels) = self else {
            panic!("the labels of the classifier are integers");
        };
        let chosen: Vec<String> = classes.iter().map(|&class| labels[class].clone()).collect();
        Array::vector(chosen)
    }
}

/// Rows that were read from a device.
pub(super) struct Rows<T> {
    pub values: Vec<T>,
    pub count: usize,
    pub width: usize,
}

impl<T: Scalar> Rows<T> {
    pub fn of<K: Basic>(x: Tensor<2, K>) -> Self {
        let [count, width] = x.dims();
        let values = elements(read(x));
        Self {
            values,
            count,
            width,
        }
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
    use super::*;

    #[test]
    fn labels_are_chosen_by_class() {
        let device = Device::flex();
        let ints = Labels::Ints(vec![7, -3]);
        let chosen = ints.tensor(&[1, 0, 1], &device);
        assert_eq!(chosen.into_data(), TensorData::from([-3i64, 7, -3]));
        let texts = Labels::Strings(vec!["no".to_owned()]).or_numbers(false);
        assert_eq!(texts.texts(&[1]).data(), ["1"]);
    }
}
