//! Conversion of named values to typed inputs.

use alloc::collections::BTreeMap;
use alloc::{boxed::Box, string::String, vec::Vec};
use core::slice;

use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use half::{bf16, f16};
use onnx_embed_kernels::dtype::stored;

use crate::convert::{convert, elements, with_shape};
use crate::host::Scalar;
use crate::{Array, Error, Key, Port, Value, ValueType, Values};

/// A type of input of a typed `forward`.
pub trait Input: Sized {
    /// Converts a value to the input, or returns `None` if it is of another kind.
    fn from_value(value: Value, device: &Device) -> Option<Self>;

    /// Returns the value of an absent input, if the input is optional.
    fn absent() -> Option<Self> {
        None
    }
}

/// Removes an input from `values` and converts it.
pub fn take<T: Input>(values: &mut Values, port: &'static Port, device: &Device) -> Result<T, Error> {
    let name = port.name;
    match values.remove(name) {
        Some(value) => {
            let found = value.description();
            T::from_value(scalars(value, &port.kind), device).ok_or(Error::WrongKind {
                name,
                expected: port.kind,
                found,
            })
        }
        None => T::absent().ok_or(Error::MissingInput { name, inputs: slice::from_ref(port) }),
    }
}

/// Removes the axes of tensors of one element if the model expects scalars.
fn scalars(value: Value, kind: &ValueType) -> Value {
    match (value, kind) {
        (Value::Tensor(data), ValueType::Tensor { sizes: [], .. }) => Value::Tensor(with_shape(data, 0)),
        (Value::Strings(array), ValueType::Tensor { sizes: [], .. }) if array.len() == 1 => {
            Value::Strings(Array::new([], array.into_data()))
        }
        (Value::Sequence(values), ValueType::Sequence(kind)) => {
            let values = values.into_iter().map(|value| scalars(value, kind));
            Value::Sequence(values.collect())
        }
        (Value::Optional(Some(value)), ValueType::Optional(kind)) => {
            Value::Optional(Some(Box::new(scalars(*value, kind))))
        }
        (Value::Map(map), ValueType::Map { value: kind, .. }) => {
            let entries = map.into_iter();
            Value::Map(entries.map(|(key, value)| (key, scalars(value, kind))).collect())
        }
        (value, _) => value,
    }
}

impl<const D: usize> Input for Tensor<D> {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        let (data, dtype) = data(value, D, device)?;
        Some(Tensor::from_data(data, (device, dtype)))
    }
}

impl<const D: usize> Input for Tensor<D, Int> {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        let (data, dtype) = data(value, D, device)?;
        Some(Tensor::from_data(data, (device, dtype)))
    }
}

impl<const D: usize> Input for Tensor<D, Bool> {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        let (data, dtype) = data(value, D, device)?;
        Some(Tensor::from_data(data, (device, dtype)))
    }
}

macro_rules! host_inputs {
    ($($scalar:ty)*) => {$(
        impl Input for Array<$scalar> {
            fn from_value(value: Value, _: &Device) -> Option<Self> {
                numbers(value)
            }
        }

        impl Input for $scalar {
            fn from_value(value: Value, _: &Device) -> Option<Self> {
                only(numbers(value)?)
            }
        }
    )*};
}

host_inputs!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

impl Input for Array<String> {
    fn from_value(value: Value, _: &Device) -> Option<Self> {
        match value {
            Value::Strings(array) => Some(array),
            _ => None,
        }
    }
}

impl Input for String {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        only(Array::from_value(value, device)?)
    }
}

impl<T: Input> Input for Vec<T> {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        match value {
            Value::Sequence(values) => values.into_iter().map(|value| T::from_value(value, device)).collect(),
            _ => None,
        }
    }
}

impl<T: Input> Input for Option<T> {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        match value {
            Value::Optional(None) => Some(None),
            Value::Optional(Some(value)) => T::from_value(*value, device).map(Some),
            _ => None,
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Input> Input for BTreeMap<i64, T> {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        map(value, device, |key| match key {
            Key::Int(key) => Some(key),
            Key::Text(_) => None,
        })
    }
}

impl<T: Input> Input for BTreeMap<String, T> {
    fn from_value(value: Value, device: &Device) -> Option<Self> {
        map(value, device, |key| match key {
            Key::Int(_) => None,
            Key::Text(key) => Some(key),
        })
    }
}

fn data(value: Value, rank: usize, device: &Device) -> Option<(TensorData, DType)> {
    let Value::Tensor(data) = value else {
        return None;
    };
    let dtype = stored(device, data.dtype());
    let data = with_shape(convert(data, dtype), rank);
    (data.rank() == rank).then_some((data, dtype))
}

fn numbers<T: Scalar>(value: Value) -> Option<Array<T>> {
    match value {
        Value::Tensor(data) => Some(Array::new(data.shape().to_vec(), elements(data))),
        _ => None,
    }
}

fn only<T>(array: Array<T>) -> Option<T> {
    let mut values = array.into_data().into_iter();
    values.next().filter(|_| values.len() == 0)
}

fn map<K: Ord, T: Input>(
    value: Value,
    device: &Device,
    key: impl Fn(Key) -> Option<K>,
) -> Option<BTreeMap<K, T>> {
    let Value::Map(map) = value else { return None };
    let entries = map.into_iter();
    entries.map(|(k, value)| Some((key(k)?, T::from_value(value, device)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;
    use burn::tensor::Shape;

    const X: Port = Port { name: "x", kind: ValueType::Tensor { dtype: ElementType::Int64, sizes: &[] } };

    fn input_of<T: Input>(value: impl Into<Value>) -> Result<T, String> {
        let mut values = Values::from([("x", value.into())]);
        take(&mut values, &X, &Device::flex()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scalar_may_be_a_number_or_a_tensor() {
        let scalar = || TensorData::new(vec![7i64], Shape::from([0; 0]));
        assert_eq!(input_of::<i64>(scalar()), Ok(7));
        let tensor = input_of::<Tensor<1, Int>>(scalar()).unwrap();
        assert_eq!(tensor.into_data(), TensorData::from([7i64]));
    }

    #[test]
    fn a_scalar_may_have_axes() {
        const RATE: Port = Port { name: "x", kind: ValueType::Optional(&X.kind) };
        let device = Device::flex();
        let values = |value: Value| Values::from([("x", value)]);
        let wide = || Value::from(TensorData::from([[7i64]]));
        let array: Array<i64> = take(&mut values(wide()), &X, &device).unwrap();
        assert_eq!((array.shape(), array.data()), (&[][..], &[7][..]));
        let tensor: Tensor<1, Int> = take(&mut values(wide()), &X, &device).unwrap();
        assert_eq!(tensor.into_data(), TensorData::from([7i64]));
        let optional = values(Value::from(Some(wide())));
        let inner: Option<Tensor<1, Int>> = take(&mut optional.clone(), &RATE, &device).unwrap();
        assert_eq!(inner.unwrap().into_data(), TensorData::from([7i64]));
    }

    #[test]
    fn containers_hold_what_their_items_are() {
        let item = || Value::from(TensorData::from([1.5f32]));
        let sequence = input_of::<Vec<Tensor<1>>>(vec![item(), item()]).unwrap();
        assert_eq!(sequence.len(), 2);
        let map = BTreeMap::from([(Key::Int(3), item())]);
        let map = input_of::<BTreeMap<i64, Array<f32>>>(map).unwrap();
        assert_eq!(map[&3].data(), [1.5]);
    }

    #[test]
    fn only_an_optional_may_be_absent() {
        let device = Device::flex();
        let absent: Option<i64> = take(&mut Values::new(), &X, &device).unwrap();
        assert_eq!(absent, None);
        let missing = take::<i64>(&mut Values::new(), &X, &device).unwrap_err();
        assert_eq!(missing.to_string(), "missing input `x` (inputs are: `x`)");
    }

    #[test]
    fn another_kind_of_value_is_refused() {
        assert_eq!(
            input_of::<i64>(Vec::<Value>::new()),
            Err("`x` is a sequence, expected int64".to_string())
        );
    }
}
