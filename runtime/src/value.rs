//! Values of any kind that models accept and return.

#[cfg(feature = "ndarray")]
mod arrays;
mod convert;
mod element;
mod named;
mod number;
mod text;
mod typed;

use alloc::collections::BTreeMap;
use alloc::{boxed::Box, string::String, vec::Vec};

use burn::tensor::TensorData;

use crate::{Array, ElementType, Error};

pub use element::{Element, Nested};
pub use named::Values;
pub use typed::print;

/// The value of one input or output of a model.
///
/// Tensors convert from Rust types of numbers and strings, others from their parts:
///
/// ```
/// use onnx_embed::Value;
///
/// let matrix = Value::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(matrix, Value::from((vec![1.0f32, 2.0, 3.0, 4.0], [2, 2])));
/// assert_eq!(matrix.to_string(), "float32[2, 2] = [[1, 2], [3, 4]]");
/// assert_eq!(matrix.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
///
/// let words = Value::from(["yes", "no"]);
/// assert_eq!(words.shape(), Some(&[2][..]));
/// # Ok::<(), onnx_embed::Error>(())
/// ```
///
/// `Display` and `Debug` show type and elements, limited to some dozens. `{value:#}` shows all elements.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// Numbers or booleans. A tensor of rank 0 has an empty shape.
    Tensor(TensorData),
    /// A tensor of strings.
    Strings(Array<String>),
    /// Any number of values.
    Sequence(Vec<Value>),
    /// A value that may be absent.
    Optional(Option<Box<Value>>),
    /// Values by key.
    Map(BTreeMap<Key, Value>),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A key of a map with integer keys of any width.
    Int(i64),
    /// A key of a map with string keys.
    Text(String),
}

impl Value {
    /// Returns the numbers or booleans, if the value is a tensor of these.
    pub fn tensor(&self) -> Option<&TensorData> {
        match self {
            Value::Tensor(data) => Some(data),
            _ => None,
        }
    }

    /// Returns the strings, if the value is a tensor of strings.
    pub fn strings(&self) -> Option<&Array<String>> {
        match self {
            Value::Strings(array) => Some(array),
            _ => None,
        }
    }

    /// Returns the items, if the value is a sequence.
    pub fn sequence(&self) -> Option<&[Value]> {
        match self {
            Value::Sequence(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the content of an optional, if the value is one: `Some(None)` if the optional is empty.
    pub fn optional(&self) -> Option<Option<&Value>> {
        match self {
            Value::Optional(value) => Some(value.as_deref()),
            _ => None,
        }
    }

    /// Returns the map, if the value is one.
    pub fn map(&self) -> Option<&BTreeMap<Key, Value>> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the sizes, if the value is a tensor.
    pub fn shape(&self) -> Option<&[usize]> {
        match self {
            Value::Tensor(data) => Some(data.shape().as_slice()),
            Value::Strings(array) => Some(array.shape()),
            _ => None,
        }
    }

    /// Returns the element type, if the value is a tensor.
    ///
    /// For a type that Burn lacks, this is its [carrier](ElementType::carrier). `None` for quantized data.
    pub fn element_type(&self) -> Option<ElementType> {
        match self {
            Value::Tensor(data) => ElementType::of(data.dtype()),
            Value::Strings(_) => Some(ElementType::String),
            _ => None,
        }
    }

    /// Returns the elements of a tensor in row-major order. Their type must be `T`: nothing is converted.
    ///
    /// # Errors
    ///
    /// If the elements are of another type, which the error names, or if the value is not a tensor.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        T::of(self).ok_or_else(|| Error::WrongElements {
            asked: T::TYPE,
            found: self.element_type(),
            kind: self.kind(),
        })
    }

    /// Copies the elements of a tensor in row-major order. Their type must be `T`, and their number that of `to`.
    ///
    /// # Errors
    ///
    /// If the elements are of another type or number, which the error names, or if the value is not a tensor.
    pub fn copy_to<T: Element>(&self, to: &mut [T]) -> Result<(), Error> {
        let length = to.len();
        T::copy(self, to).ok_or_else(|| self.mismatch(T::TYPE, length))
    }

    /// Returns the error of a slice whose type or length is not that of the elements.
    pub(crate) fn mismatch(&self, asked: ElementType, length: usize) -> Error {
        let kind = self.kind();
        match self.element_type() {
            Some(found) if found == asked => Error::WrongLength { length, kind },
            found => Error::WrongElements { asked, found, kind },
        }
    }

    /// Returns the same value, whose clones share its memory.
    fn shared(self) -> Self {
        let shared_all = |values: Vec<Value>| values.into_iter().map(Value::shared).collect();
        match self {
            Value::Tensor(data) => {
                let (bytes, shape, dtype) = data.into_parts();
                Value::Tensor(TensorData::from_bytes(bytes.shared(), shape, dtype))
            }
            Value::Strings(_) => self,
            Value::Sequence(values) => Value::Sequence(shared_all(values)),
            Value::Optional(value) => Value::Optional(value.map(|value| Box::new(value.shared()))),
            Value::Map(map) => {
                let entries = map.into_iter();
                Value::Map(entries.map(|(key, value)| (key, value.shared())).collect())
            }
        }
    }

    pub(crate) fn description(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor of numbers",
            Value::Strings(_) => "a tensor of strings",
            Value::Sequence(_) => "a sequence",
            Value::Optional(_) => "an optional",
            Value::Map(_) => "a map",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_in_their_own_type_alone() {
        let value = Value::from([[0.5f32, 2.0]]);
        assert_eq!(value.to_vec::<f32>().unwrap(), [0.5, 2.0]);
        assert_eq!(
            value.to_vec::<i64>().unwrap_err().to_string(),
            "the value is float32[1, 2], expected a tensor of int64: use `to_vec::<f32>()`"
        );
        assert_eq!(Value::from(["a"]).to_vec::<String>().unwrap(), ["a"]);
        assert_eq!(Value::from([true]).to_vec::<bool>().unwrap(), [true]);
    }

    #[test]
    fn a_value_that_is_no_tensor_has_no_elements() {
        let sequence = Value::Sequence(vec![Value::from([1i64])]);
        assert_eq!(
            sequence.to_vec::<i64>().unwrap_err().to_string(),
            "the value is sequence(int64[1]), expected a tensor of int64"
        );
        assert_eq!((sequence.shape(), sequence.element_type()), (None, None));
    }

    #[test]
    fn an_optional_may_be_empty() {
        let one = Value::from(1i64);
        assert_eq!(Value::from(Some(one.clone())).optional(), Some(Some(&one)));
        assert_eq!(Value::from(None::<Value>).optional(), Some(None));
        assert_eq!(one.optional(), None);
    }

    #[test]
    fn shape_and_type_are_those_of_the_tensor() {
        let value = Value::from([[1u8, 2, 3]]);
        assert_eq!(value.shape(), Some(&[1, 3][..]));
        assert_eq!(value.element_type(), Some(ElementType::UInt8));
        assert_eq!(Value::from("word").shape(), Some(&[][..]));
    }
}
