//! Conversion of typed outputs to named values.

use alloc::collections::BTreeMap;
use alloc::{boxed::Box, string::String, vec::Vec};
use core::pin::Pin;

use burn::tensor::kind::Basic;
use burn::tensor::{Shape, Tensor, TensorData};
use half::{bf16, f16};
use onnx_embed_kernels::reader::{Blocking, Reader, Waiting, now};

use crate::convert::{convert, with_shape};
use crate::{Array, Error, Key, Port, Value, ValueType, Values};

/// A type of output of a typed `forward`.
pub trait Output: Send {
    /// Converts the output to a value in the dtype and rank that the model declares, or returns why the device cannot
    /// be read.
    fn into_value(
        self,
        kind: &ValueType,
        reader: impl Reader,
    ) -> impl Future<Output = Result<Value, String>> + Send;
}

/// Outputs of a run, which the device may still be computing.
#[derive(Default)]
pub struct Outputs(Vec<(&'static Port, Box<dyn Pending>)>);

type Read<'k> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'k>>;

/// Object-safe version of [`Output`].
trait Pending: Send {
    fn blocking(self: Box<Self>, kind: &ValueType) -> Read<'_>;

    fn waiting(self: Box<Self>, kind: &ValueType) -> Read<'_>;
}

impl<T: Output + 'static> Pending for T {
    fn blocking(self: Box<Self>, kind: &ValueType) -> Read<'_> {
        Box::pin(self.into_value(kind, Blocking))
    }

    fn waiting(self: Box<Self>, kind: &ValueType) -> Read<'_> {
        Box::pin(self.into_value(kind, Waiting))
    }
}

impl Outputs {
    /// Creates an empty list of outputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an output under the name of its port.
    pub fn with(mut self, port: &'static Port, output: impl Output + 'static) -> Self {
        self.0.push((port, Box::new(output)));
        self
    }

    /// Returns the values by name.
    pub fn values(self) -> Result<Values, Error> {
        now(self.read(|output, kind| output.blocking(kind)))
    }

    /// Async version of [`values`](Self::values).
    pub async fn values_async(self) -> Result<Values, Error> {
        self.read(|output, kind| output.waiting(kind)).await
    }

    async fn read(
        self,
        start: impl for<'k> Fn(Box<dyn Pending>, &'k ValueType) -> Read<'k> + Send,
    ) -> Result<Values, Error> {
        let mut values = Values::new();
        for (port, output) in self.0 {
            let name = port.name;
            let read = start(output, &port.kind).await;
            let value = read.map_err(|reason| Error::Output { name, reason })?;
            values.insert(name, value);
        }
        Ok(values)
    }
}

impl<const D: usize, K: Basic> Output for Tensor<D, K> {
    async fn into_value(self, kind: &ValueType, reader: impl Reader) -> Result<Value, String> {
        let data = reader.result(self).await?;
        Ok(Value::Tensor(declared(data, kind)))
    }
}

macro_rules! host_outputs {
    ($($scalar:ty)*) => {$(
        impl Output for Array<$scalar> {
            async fn into_value(self, kind: &ValueType, _: impl Reader) -> Result<Value, String> {
                let (shape, data) = self.into_parts();
                let data = TensorData::new(data, Shape::from(shape));
                Ok(Value::Tensor(declared(data, kind)))
            }
        }

        impl Output for $scalar {
            async fn into_value(self, kind: &ValueType, reader: impl Reader) -> Result<Value, String> {
                Array::scalar(self).into_value(kind, reader).await
            }
        }
    )*};
}

host_outputs!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

impl Output for Array<String> {
    async fn into_value(self, _: &ValueType, _: impl Reader) -> Result<Value, String> {
        Ok(Value::Strings(self))
    }
}

impl Output for String {
    async fn into_value(self, _: &ValueType, _: impl Reader) -> Result<Value, String> {
        Ok(Value::Strings(Array::scalar(self)))
    }
}

impl<T: Output> Output for Vec<T> {
    async fn into_value(self, kind: &ValueType, reader: impl Reader) -> Result<Value, String> {
        let item = match kind {
            ValueType::Sequence(item) => item,
            other => other,
        };
        let mut values = Vec::with_capacity(self.len());
        for value in self {
            values.push(value.into_value(item, reader).await?);
        }
        Ok(Value::Sequence(values))
    }
}

impl<T: Output> Output for Option<T> {
    async fn into_value(self, kind: &ValueType, reader: impl Reader) -> Result<Value, String> {
        let item = match kind {
            ValueType::Optional(item) => item,
            other => other,
        };
        Ok(Value::Optional(match self {
            Some(value) => Some(Box::new(value.into_value(item, reader).await?)),
            None => None,
        }))
    }
}

impl<K: Into<Key> + Send, T: Output> Output for BTreeMap<K, T> {
    async fn into_value(self, kind: &ValueType, reader: impl Reader) -> Result<Value, String> {
        let item = match kind {
            ValueType::Map { value, .. } => value,
            other => other,
        };
        let mut entries = BTreeMap::new();
        for (key, value) in self {
            entries.insert(key.into(), value.into_value(item, reader).await?);
        }
        Ok(Value::Map(entries))
    }
}

/// Converts data to the dtype and rank that `kind` declares.
fn declared(data: TensorData, kind: &ValueType) -> TensorData {
    match kind {
        ValueType::Tensor { dtype, sizes } => match dtype.carrier() {
            Some(carrier) => with_shape(convert(data, carrier), sizes.len()),
            None => data,
        },
        ValueType::Unranked(dtype) => match dtype.carrier() {
            Some(carrier) => convert(data, carrier),
            None => data,
        },
        _ => data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Size};
    use burn::tensor::{DType, Device, Int};

    const fn tensor(dtype: ElementType, sizes: &'static [Size]) -> ValueType {
        ValueType::Tensor { dtype, sizes }
    }

    fn value(output: impl Output + 'static, kind: ValueType) -> Value {
        let port = Box::leak(Box::new(Port { name: "y", kind }));
        let mut values = Outputs::new().with(port, output).values().unwrap();
        values.remove("y").unwrap()
    }

    #[test]
    fn an_output_has_the_declared_dtype_whatever_the_device_holds() {
        let tensor_of_int32 = Tensor::<1, Int>::from_data([1, 2], (&Device::flex(), DType::I32));
        let value = value(tensor_of_int32, tensor(ElementType::Int64, &[Size::Unknown]));
        assert_eq!(value, TensorData::from([1i64, 2]).into());
    }

    #[test]
    fn a_scalar_has_no_axes() {
        let vector = Tensor::<1>::from_data([2.0], (&Device::flex(), DType::F32));
        let scalar = value(vector, tensor(ElementType::Float32, &[]));
        assert_eq!(scalar.tensor().unwrap().rank(), 0);
        assert_eq!(value(2.0f32, tensor(ElementType::Float32, &[])), scalar);
    }

    #[test]
    fn containers_hold_what_their_items_are() {
        const ITEM: ValueType = tensor(ElementType::Int64, &[]);
        let item = |n: i64| value(n, ITEM);
        let sequence = value(vec![1i64, 2], ValueType::Sequence(&ITEM));
        assert_eq!(sequence, vec![item(1), item(2)].into());
        let optional = value(Some(1i64), ValueType::Optional(&ITEM));
        assert_eq!(optional, Value::Optional(Some(Box::new(item(1)))));
        let map = BTreeMap::from([("a".to_string(), 1i64)]);
        let kind = ValueType::Map { key: ElementType::String, value: &ITEM };
        assert_eq!(value(map, kind).map().unwrap()[&"a".into()], item(1));
    }
}
