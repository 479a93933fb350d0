//! Inputs for a run before the first request.

use alloc::collections::BTreeMap;
use alloc::{borrow::ToOwned, boxed::Box, string::String, vec, vec::Vec};

use burn::tensor::TensorData;

use crate::convert::convert;
use crate::{Array, ElementType, Error, Key, Signature, Size, Value, ValueType, Values};

/// Returns zeros as inputs of a model: with the specified sizes, and size 1 for other dynamic axes.
pub fn zeros(signature: &Signature, sizes: &[(&str, usize)]) -> Result<Values, Error> {
    let kinds = || signature.inputs.iter().map(|port| port.kind);
    for (name, _) in sizes {
        if !kinds().any(|kind| has_size(&kind, name)) {
            return Err(Error::UnknownSize { size: (*name).to_owned() });
        }
    }
    let mut values = Values::new();
    for port in signature.inputs {
        values.insert(port.name, zero(&port.kind, sizes));
    }
    Ok(values)
}

fn has_size(kind: &ValueType, name: &str) -> bool {
    match kind {
        ValueType::Tensor { sizes, .. } => {
            let is_same = |size: &Size| matches!(size, Size::Named(own) if *own == name);
            sizes.iter().any(is_same)
        }
        ValueType::Unranked(_) => false,
        ValueType::Sequence(item) | ValueType::Optional(item) | ValueType::Map { value: item, .. } => {
            has_size(item, name)
        }
    }
}

fn zero(kind: &ValueType, given: &[(&str, usize)]) -> Value {
    match kind {
        ValueType::Tensor { dtype, sizes } => {
            let size = |size: &Size| match size {
                Size::Fixed(size) => *size,
                Size::Named(name) => {
                    let found = given.iter().find(|(given, _)| given == name);
                    found.map_or(1, |(_, size)| *size)
                }
                Size::Unknown => 1,
            };
            tensor(*dtype, sizes.iter().map(size).collect())
        }
        ValueType::Unranked(dtype) => tensor(*dtype, vec![1]),
        ValueType::Sequence(item) => Value::Sequence(vec![zero(item, given)]),
        ValueType::Optional(item) => Value::Optional(Some(Box::new(zero(item, given)))),
        ValueType::Map { key, value } => {
            let key = match key {
                ElementType::String => Key::Text(String::new()),
                _ => Key::Int(0),
            };
            Value::Map(BTreeMap::from([(key, zero(value, given))]))
        }
    }
}

fn tensor(dtype: ElementType, sizes: Vec<usize>) -> Value {
    let count = sizes.iter().product();
    match dtype.carrier() {
        Some(carrier) => {
            let data = TensorData::new(vec![0u8; count], sizes);
            Value::Tensor(convert(data, carrier))
        }
        None => Value::Strings(Array::new(sizes, vec![String::new(); count])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;

    const fn port(name: &'static str, kind: ValueType) -> Port {
        Port { name, kind }
    }

    const ROWS: ValueType = ValueType::Tensor {
        dtype: ElementType::Int64,
        sizes: &[Size::Named("n"), Size::Fixed(2), Size::Unknown],
    };
    const SIGNATURE: Signature = Signature {
        inputs: &[
            port("rows", ROWS),
            port(
                "texts",
                ValueType::Sequence(&ValueType::Tensor {
                    dtype: ElementType::String,
                    sizes: &[Size::Named("m")],
                }),
            ),
            port("is", ValueType::Optional(&ValueType::Unranked(ElementType::Bool))),
            port(
                "names",
                ValueType::Map {
                    key: ElementType::Int64,
                    value: &ValueType::Tensor { dtype: ElementType::Float16, sizes: &[] },
                },
            ),
        ],
        outputs: &[],
    };

    #[test]
    fn every_kind_of_input_has_zeros_of_the_sizes_given() {
        let values = zeros(&SIGNATURE, &[("n", 3)]).unwrap();
        SIGNATURE.check(&values).unwrap();
        let rows = TensorData::new(vec![0i64; 6], [3, 2, 1]);
        assert_eq!(values["rows"].tensor(), Some(&rows));
        let texts = Value::Strings(Array::vector([String::new()]));
        assert_eq!(values["texts"].sequence(), Some(&[texts][..]));
        let truth = Value::Tensor(TensorData::from([false]));
        assert_eq!(values["is"], Value::Optional(Some(Box::new(truth))));
        assert_eq!(values["names"].map().unwrap().len(), 1);
    }

    #[test]
    fn a_size_that_no_input_has_is_an_error() {
        let error = zeros(&SIGNATURE, &[("k", 3)]).unwrap_err();
        assert_eq!(error.to_string(), "the model has no size `k`");
    }
}
