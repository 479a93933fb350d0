//! Display of the inputs and outputs of a typed `forward`.

use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};
use core::fmt::{self, Debug, Formatter};

use burn::tensor::Tensor;
use burn::tensor::kind::Basic;
use half::{bf16, f16};
use onnx_embed_kernels::reader;

use super::text::tensor_kind;
use super::{Key, Value};
use crate::{Array, ElementType};

/// A type of inputs and outputs that can be displayed.
///
/// Elements of tensors in host memory are shown. For tensors on other devices, only type and sizes are shown: reading
/// them would wait for the device, which is unexpected of `{:?}` and impossible in a browser.
pub trait Print {
    /// Returns the displayed form.
    fn printed(&self) -> Printed;
}

/// Displayed form of a value.
pub enum Printed {
    /// A value with its elements.
    Value(Value),
    /// Type and sizes of a tensor on a device, or a container with such items.
    Text(String),
}

/// Returns the displayed form of a field.
pub fn print(field: &impl Print) -> Printed {
    field.printed()
}

impl Printed {
    /// Returns the form of a container: a value if all items are values, otherwise text.
    fn container<K>(
        items: Vec<(K, Printed)>,
        value: impl FnOnce(Vec<(K, Value)>) -> Value,
        text: impl FnOnce(Vec<(K, Printed)>) -> String,
    ) -> Self {
        if !items.iter().all(|(_, item)| matches!(item, Printed::Value(_))) {
            return Printed::Text(text(items));
        }
        let values = items.into_iter().filter_map(|(key, item)| match item {
            Printed::Value(value) => Some((key, value)),
            Printed::Text(_) => None,
        });
        Printed::Value(value(values.collect()))
    }
}

impl Debug for Printed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Printed::Value(value) => write!(f, "{value}"),
            Printed::Text(text) => f.write_str(text),
        }
    }
}

impl<const D: usize, K: Basic> Print for Tensor<D, K> {
    fn printed(&self) -> Printed {
        let device = self.device();
        if reader::is_immediate(&device)
            && let Ok(data) = self.clone().try_into_data()
        {
            return Printed::Value(data.into());
        }
        let kind = tensor_kind(ElementType::of(self.dtype()), &self.dims());
        Printed::Text(format!("{kind} on {device:?}"))
    }
}

macro_rules! plain {
    ($($scalar:ty)*) => {$(
        impl Print for $scalar {
            fn printed(&self) -> Printed {
                Printed::Value(self.clone().into())
            }
        }

        impl Print for Array<$scalar> {
            fn printed(&self) -> Printed {
                Printed::Value(self.clone().into())
            }
        }
    )*};
}

plain!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 String);

impl<T: Print> Print for Vec<T> {
    fn printed(&self) -> Printed {
        let values = |items: Vec<((), Value)>| items.into_iter().map(|(_, value)| value).collect();
        Printed::container(
            self.iter().map(|item| ((), item.printed())).collect(),
            |items| Value::Sequence(values(items)),
            |items| {
                let items: Vec<String> = items.iter().map(|(_, item)| format!("{item:?}")).collect();
                format!("[{}]", items.join(", "))
            },
        )
    }
}

impl<T: Print> Print for Option<T> {
    fn printed(&self) -> Printed {
        match self.as_ref().map(T::printed) {
            None => Printed::Value(Value::Optional(None)),
            Some(Printed::Value(value)) => Printed::Value(Some(value).into()),
            Some(text) => text,
        }
    }
}

impl<K: Clone + Into<Key>, T: Print> Print for BTreeMap<K, T> {
    fn printed(&self) -> Printed {
        let entry = |(key, value): (&K, &T)| (key.clone().into(), value.printed());
        Printed::container(
            self.iter().map(entry).collect(),
            |entries| Value::Map(entries.into_iter().collect()),
            |entries: Vec<(Key, Printed)>| {
                let entry = |(key, value): &(Key, Printed)| format!("{key}: {value:?}");
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{{}}}", entries.join(", "))
            },
        )
    }
}

/// Implements `Debug` and `Display` for a struct of inputs or outputs. `Display` writes a line for each field.
#[doc(hidden)]
#[macro_export]
macro_rules! printed {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(::core::stringify!($name))
                    $(.field(::core::stringify!($field), &$crate::__private::print(&self.$field)))*
                    .finish()
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let lines: &[(&str, &dyn ::core::fmt::Debug)] = &[$(
                    (::core::stringify!($field), &$crate::__private::print(&self.$field))
                ),*];
                for (at, (name, value)) in lines.iter().enumerate() {
                    let end = if at == 0 { "" } else { "\n" };
                    ::core::write!(f, "{end}{name}: {value:?}")?;
                }
                ::core::result::Result::Ok(())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, Int, Tensor};

    struct Output {
        probabilities: Tensor<2>,
        label: Array<i64>,
        scores: Vec<BTreeMap<i64, f32>>,
        rate: i64,
        state: Option<Tensor<1, Int>>,
    }

    crate::printed!(Output { probabilities, label, scores, rate, state });

    fn output() -> Output {
        Output {
            probabilities: Tensor::from_data([[0.25f32, 0.75]], &Device::flex()),
            label: Array::vector([1i64]),
            scores: vec![BTreeMap::from([(0, 0.25), (1, 0.75)])],
            rate: 16_000,
            state: None,
        }
    }

    #[test]
    fn outputs_show_their_numbers() {
        assert_eq!(
            format!("{:?}", output()),
            "Output { probabilities: float32[1, 2] = [[0.25, 0.75]], label: int64[1] = [1], \
             scores: sequence(map(int64, float32)) = [{0: 0.25, 1: 0.75}], rate: int64 = 16000, \
             state: optional() = none }"
        );
    }

    #[test]
    fn each_output_has_a_line() {
        let text = output().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[1], "label: int64[1] = [1]");
    }
}
