//! Conversion from Rust types to values.

use alloc::collections::BTreeMap;
use alloc::{boxed::Box, string::String, string::ToString, vec, vec::Vec};

use burn::tensor::kind::Basic;
use burn::tensor::{Tensor, TensorData};

use super::element::sealed::Sealed as _;
use super::{Element, Key, Nested, Value};
use crate::Array;

/// The elements of a tensor, which are read from its device.
///
/// The call waits for the device. The value has the element type of the tensor. [`run`](crate::OnnxModel::run) does not
/// convert element types: a model that expects int64 refuses the 32-bit integers that Burn creates if no dtype is
/// specified.
///
/// # Panics
///
/// If the thread cannot block, as in a browser. There, convert the result of `tensor.into_data_async()` instead.
impl<const D: usize, K: Basic> From<Tensor<D, K>> for Value {
    fn from(tensor: Tensor<D, K>) -> Self {
        Value::Tensor(tensor.into_data())
    }
}

/// A number, a boolean or a string as a tensor of rank 0, or nested arrays of these.
impl<T: Nested> From<T> for Value {
    fn from(nested: T) -> Self {
        let mut sizes = Vec::new();
        T::sizes(&mut sizes);
        T::Element::tensor(sizes, T::flattened(vec![nested]))
    }
}

/// Elements along one axis, or arrays along the first axis.
impl<T: Nested> From<Vec<T>> for Value {
    fn from(nested: Vec<T>) -> Self {
        let mut sizes = vec![nested.len()];
        T::sizes(&mut sizes);
        T::Element::tensor(sizes, T::flattened(nested))
    }
}

/// A copy of elements along one axis, or of arrays along the first axis.
impl<T: Nested + Clone> From<&[T]> for Value {
    fn from(nested: &[T]) -> Self {
        nested.to_vec().into()
    }
}

/// Elements in row-major order, and the sizes of their tensor.
///
/// # Panics
///
/// If the number of elements is not the product of the sizes.
impl<T: Nested, const N: usize> From<(Vec<T>, [usize; N])> for Value {
    #[track_caller]
    fn from((nested, sizes): (Vec<T>, [usize; N])) -> Self {
        let elements = T::flattened(nested);
        let found = elements.len();
        let count = sizes.iter().try_fold(1, |count: usize, &size| count.checked_mul(size));
        assert!(count == Some(found), "shape {sizes:?} does not match {found} elements");
        T::Element::tensor(sizes.into(), elements)
    }
}

/// An array of numbers or strings of any rank.
impl<T: Element> From<Array<T>> for Value {
    fn from(array: Array<T>) -> Self {
        let (sizes, elements) = array.into_parts();
        T::tensor(sizes, elements)
    }
}

impl From<TensorData> for Value {
    fn from(data: TensorData) -> Self {
        Value::Tensor(data)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Value::Sequence(values)
    }
}

/// An optional value.
impl From<Option<Value>> for Value {
    fn from(value: Option<Value>) -> Self {
        Value::Optional(value.map(Box::new))
    }
}

impl From<BTreeMap<Key, Value>> for Value {
    fn from(map: BTreeMap<Key, Value>) -> Self {
        Value::Map(map)
    }
}

impl From<i64> for Key {
    fn from(key: i64) -> Self {
        Key::Int(key)
    }
}

impl From<String> for Key {
    fn from(key: String) -> Self {
        Key::Text(key)
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Key::Text(key.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Bool, Device, Int};

    #[test]
    fn sizes_are_those_of_nested_arrays() {
        let matrix = Value::from([[1i64, 2, 3], [4, 5, 6]]);
        assert_eq!(matrix, TensorData::from([[1i64, 2, 3], [4, 5, 6]]).into());
        assert_eq!(matrix, vec![[1i64, 2, 3], [4, 5, 6]].into());
        assert_eq!(matrix, (vec![1i64, 2, 3, 4, 5, 6], [2, 3]).into());
        let rows = [[1i64, 2, 3], [4, 5, 6]];
        assert_eq!(matrix, rows.as_slice().into());
        assert_eq!(Value::from([[[0u8; 4]; 3]; 0]).shape(), Some(&[0, 3, 4][..]));
    }

    #[test]
    fn one_number_is_a_tensor_of_rank_0() {
        let rate = Value::from(16_000i64);
        assert_eq!(rate.shape(), Some(&[][..]));
        assert_eq!(rate.to_vec::<i64>().unwrap(), [16_000]);
    }

    #[test]
    fn strings_are_made_alike() {
        let words = Value::Strings(Array::vector(["a".to_string(), "b".to_string()]));
        assert_eq!(Value::from(["a", "b"]), words);
        assert_eq!(Value::from(vec!["a", "b"]), words);
        assert_eq!(Value::from(vec!["a".to_string(), "b".to_string()]), words);
        assert_eq!(Value::from((vec!["a"], [1, 1])).shape(), Some(&[1, 1][..]));
    }

    #[test]
    fn a_tensor_of_any_kind_is_read() {
        let device = Device::flex();
        let floats = Tensor::<2>::from_data([[0.5f32], [1.5]], &device);
        assert_eq!(Value::from(floats), Value::from([[0.5f32], [1.5]]));
        let truths = Tensor::<1, Bool>::from_data([true, false], &device);
        assert_eq!(Value::from(truths), Value::from([true, false]));
        let integers =
            Tensor::<1, Int>::from_data(TensorData::from([7i64]), (&device, burn::tensor::DType::I64));
        assert_eq!(Value::from(integers), Value::from([7i64]));
    }

    #[test]
    fn elements_that_sizes_do_not_fit_are_refused() {
        let made = std::panic::catch_unwind(|| Value::from((vec![1.0f32; 6], [2, 4])));
        let message = made.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(*message, "shape [2, 4] does not match 6 elements");
    }
}
