//! Checks of values against a signature.

use alloc::string::ToString;
use burn::tensor::DType;
use onnx_embed_kernels::memory_limit::memory_limit;

use super::{Signature, Size, ValueType};
use crate::entry::{Sizes, bounded};
use crate::{ElementType, Error, Key, Value, Values};

impl Signature {
    /// Checks that `inputs` are the inputs of the model, without any others.
    ///
    /// Each must have the kind, dtype, rank and sizes of the signature, and sizes with the same name must be equal. An
    /// optional input may be missing.
    ///
    /// # Errors
    ///
    /// If the inputs do not match; the error names the input.
    pub fn check(&self, inputs: &Values) -> Result<(), Error> {
        let is_input = |name: &str| self.inputs.iter().any(|port| port.name == name);
        if let Some((name, _)) = inputs.iter().find(|(name, _)| !is_input(name)) {
            return Err(Error::UnexpectedInput { name: name.to_string(), inputs: self.inputs });
        }
        let mut sizes = Sizes::new();
        for port in self.inputs {
            match inputs.get(port.name) {
                Some(value) => check(port.name, value, &port.kind, &mut sizes)?,
                None if matches!(port.kind, ValueType::Optional(_)) => {}
                None => {
                    return Err(Error::MissingInput { name: port.name, inputs: self.inputs });
                }
            }
        }
        Ok(())
    }
}

fn check(name: &'static str, value: &Value, kind: &ValueType, sizes: &mut Sizes) -> Result<(), Error> {
    match (kind, value) {
        (ValueType::Tensor { dtype, sizes: expected }, Value::Tensor(data)) if dtype.carrier().is_some() => {
            check_type(name, *dtype, data.dtype())?;
            addressable(name, data.shape().as_slice(), *dtype)?;
            fits(sizes, name, data.shape().as_slice(), expected)
        }
        (ValueType::Tensor { dtype: ElementType::String, sizes: expected }, Value::Strings(array)) => {
            addressable(name, array.shape(), ElementType::String)?;
            fits(sizes, name, array.shape(), expected)
        }
        (ValueType::Unranked(dtype), Value::Tensor(data)) if dtype.carrier().is_some() => {
            check_type(name, *dtype, data.dtype())?;
            addressable(name, data.shape().as_slice(), *dtype)
        }
        (ValueType::Unranked(ElementType::String), Value::Strings(array)) => {
            addressable(name, array.shape(), ElementType::String)
        }
        (ValueType::Sequence(item), Value::Sequence(values)) => {
            // Sizes with the same name may differ between items.
            let check = |value| check(name, value, item, &mut Sizes::new());
            values.iter().try_for_each(check)
        }
        (ValueType::Optional(_), Value::Optional(None)) => Ok(()),
        (ValueType::Optional(item), Value::Optional(Some(value))) => check(name, value, item, sizes),
        (ValueType::Map { key, value: item }, Value::Map(map)) => {
            map.iter().try_for_each(|(found, value)| {
                match (found, key) {
                    (Key::Text(_), ElementType::String) => {}
                    (Key::Int(_), key) if *key != ElementType::String => {}
                    _ => return Err(wrong_kind(name, kind, "a map with keys of another type")),
                }
                check(name, value, item, &mut Sizes::new())
            })
        }
        _ => Err(wrong_kind(name, kind, value.description())),
    }
}

/// Checks the sizes. A scalar accepts any tensor of one element, as in ONNX Runtime.
fn fits(
    sizes: &mut Sizes,
    name: &'static str,
    found: &[usize],
    expected: &'static [Size],
) -> Result<(), Error> {
    match expected {
        [] if found.iter().all(|&size| size == 1) => Ok(()),
        _ => sizes.check(name, found, expected),
    }
}

/// Checks that the product of the sizes can be addressed. `forward` compares it with the memory limit of the model.
fn addressable(name: &'static str, found: &[usize], dtype: ElementType) -> Result<(), Error> {
    bounded(name, found, dtype, usize::MAX).map_err(|_| Error::InputTooLarge {
        name,
        found: found.to_vec(),
        limit: memory_limit(),
    })
}

fn check_type(name: &'static str, expected: ElementType, found: DType) -> Result<(), Error> {
    let fits = match (expected.carrier(), found) {
        (Some(DType::Bool(_)), DType::Bool(_)) => true,
        (Some(carrier), found) => carrier == found,
        (None, _) => false,
    };
    if fits { Ok(()) } else { Err(Error::WrongType { name, expected, found }) }
}

fn wrong_kind(name: &'static str, expected: &ValueType, found: &'static str) -> Error {
    Error::WrongKind { name, expected: *expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use burn::tensor::TensorData;

    const fn tensor(dtype: ElementType, sizes: &'static [Size]) -> ValueType {
        ValueType::Tensor { dtype, sizes }
    }

    const SIGNATURE: Signature = Signature {
        inputs: &[
            Port { name: "ids", kind: tensor(ElementType::Int64, &[Size::Named("batch"), Size::Unknown]) },
            Port { name: "mask", kind: tensor(ElementType::Bool, &[Size::Named("batch"), Size::Fixed(2)]) },
            Port {
                name: "past",
                kind: ValueType::Optional(&ValueType::Sequence(&tensor(
                    ElementType::Float32,
                    &[Size::Named("batch")],
                ))),
            },
        ],
        outputs: &[],
    };

    fn ids() -> TensorData {
        TensorData::from([[1i64, 2, 3]])
    }

    fn mask() -> TensorData {
        TensorData::from([[true, false]])
    }

    fn complaint(values: impl Into<Values>) -> String {
        SIGNATURE.check(&values.into()).unwrap_err().to_string()
    }

    #[test]
    fn an_optional_input_may_be_left_out() {
        SIGNATURE.check(&Values::from([("ids", ids()), ("mask", mask())])).unwrap();
    }

    #[test]
    fn a_scalar_takes_a_tensor_of_one_element() {
        const SCALARS: Signature = Signature {
            inputs: &[
                Port { name: "rate", kind: tensor(ElementType::Int64, &[]) },
                Port { name: "word", kind: tensor(ElementType::String, &[]) },
            ],
            outputs: &[],
        };
        let check = |rate: TensorData, word: Value| {
            let values = Values::from([("rate", rate.into()), ("word", word)]);
            SCALARS.check(&values).map_err(|error| error.to_string())
        };
        assert_eq!(check(TensorData::from([7i64]), "a".into()), Ok(()));
        assert_eq!(
            check(TensorData::from([[7i64]]), ["a"].into()),
            Ok(()),
            "axes of one element are as none"
        );
        assert_eq!(
            check(TensorData::from([7i64, 8]), "a".into()),
            Err("`rate` has shape [2], expected a scalar or a tensor of one element".to_string())
        );
        assert!(check(TensorData::from([7i64]), ["a", "b"].into()).is_err());
    }

    #[test]
    fn missing_and_unexpected_inputs_are_named() {
        assert_eq!(
            complaint([("tokens", ids())]),
            "unexpected input `tokens` (inputs are: `ids`, `mask`, `past`)"
        );
        assert_eq!(complaint([("ids", ids())]), "missing input `mask` (inputs are: `ids`, `mask`, `past`)");
        assert_eq!(complaint([("id", ids())]), "unexpected input `id`: did you mean `ids`?");
    }

    #[test]
    fn the_dtype_must_be_the_declared_one() {
        assert_eq!(
            complaint([("ids", TensorData::from([[1i32]])), ("mask", mask())]),
            "`ids` has type int32, expected int64"
        );
    }

    #[test]
    fn sizes_of_one_name_must_agree() {
        let two = TensorData::from([[true, false], [true, true]]);
        assert_eq!(complaint([("ids", ids()), ("mask", two)]), "size `batch` is 1 in `ids` but 2 in `mask`");
    }

    #[test]
    fn another_kind_of_value_is_refused() {
        let values = Values::from([("ids", Value::from(ids())), ("mask", Value::Sequence(Vec::new()))]);
        assert_eq!(complaint(values), "`mask` is a sequence, expected bool[batch, 2]");
    }

    #[test]
    fn sizes_that_cannot_be_multiplied_are_refused() {
        let ids = TensorData::from_bytes_vec(Vec::new(), [0usize, (1 << 62) + 1], DType::I64);
        let found = complaint([("ids", ids), ("mask", mask())]);
        let expected = "`ids` has shape [0, 4611686018427387905], which exceeds the memory limit of ";
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn items_of_a_sequence_may_differ_in_size() {
        let items =
            vec![Value::from(TensorData::from([1.0f32])), Value::from(TensorData::from([1.0f32, 2.0]))];
        let past = Value::Optional(Some(Box::new(Value::Sequence(items))));
        let values = Values::from([("ids", ids().into()), ("mask", mask().into()), ("past", past)]);
        SIGNATURE.check(&values).unwrap();
    }
}
