//! Inputs, labels and scores of classical models.

use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};

use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::reader::Reader;

use crate::Array;
use crate::convert::{convert, elements};
use crate::host::Scalar;
use crate::weights::Weights;

/// Labels of a classifier.
#[derive(Clone, Debug)]
pub enum Labels {
    Ints(Vec<i64>),
    Strings(Vec<String>),
}

impl Labels {
    /// Loads integer labels.
    pub fn ints(weights: &Weights<'_>, name: &str) -> Self {
        Labels::Ints(weights.array(name).into_data())
    }

    /// Loads string labels.
    pub fn strings(weights: &Weights<'_>, name: &str) -> Self {
        Labels::Strings(weights.strings(name).into_data())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Labels::Ints(labels) => labels.len(),
            Labels::Strings(labels) => labels.len(),
        }
    }

    /// Returns the labels if `have_labels`. Otherwise returns the class numbers 0 and 1, unless there are two string
    /// labels.
    pub(super) fn or_numbers(self, have_labels: bool) -> Self {
        match self {
            _ if have_labels => self,
            Labels::Ints(_) => Labels::Ints(vec![0, 1]),
            Labels::Strings(labels) if labels.len() == 2 => Labels::Strings(labels),
            Labels::Strings(_) => Labels::Strings(vec!["0".to_owned(), "1".to_owned()]),
        }
    }

    /// Returns the integer labels of classes, on a device.
    pub(super) fn integers(&self, classes: &[usize], device: &Device) -> Tensor<1, Int> {
        let Labels::Ints(labels) = self else {
            panic!("expected integer labels of the classifier, found strings");
        };
        integers(classes.iter().map(|&class| labels[class]).collect(), device)
    }

    /// Returns the string labels of classes.
    pub(super) fn texts(&self, classes: &[usize]) -> Array<String> {
        let Labels::Strings(labels) = self else {
            panic!("expected string labels of the classifier, found integers");
        };
        let chosen: Vec<String> = classes.iter().map(|&class| labels[class].clone()).collect();
        Array::vector(chosen)
    }
}

/// Copies labels to a device.
pub(super) fn integers(values: Vec<i64>, device: &Device) -> Tensor<1, Int> {
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
        let values = match count * width {
            // Burn 0.22.1 fails in debug builds if there are no elements to read from a GPU.
            0 => Vec::new(),
            _ => elements(reader.read(x).await),
        };
        Self { values, count, width }
    }
}

/// Copies scores to a device, `width` of them for each row.
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
        let ints = Labels::Ints(vec![7, -3]);
        let chosen = ints.integers(&[1, 0, 1], &Device::flex());
        assert_eq!(chosen.into_data(), TensorData::from([-3i64, 7, -3]));
        let texts = Labels::Strings(vec!["no".to_owned()]).or_numbers(false);
        assert_eq!(texts.texts(&[1]).data(), ["1"]);
    }
}
