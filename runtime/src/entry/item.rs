//! Checks of the items of sequences, optionals and maps.

use alloc::collections::BTreeMap;
use alloc::{string::String, vec::Vec};

use burn::tensor::{Bool, DType, FloatDType, Int, Tensor};
use onnx_embed_kernels::dtype::stored;
use onnx_embed_kernels::memory_limit::memory_limit;

use super::{Sizes, bounded, float, int};
use crate::{Array, ElementType, Error, ValueType};

/// A value that may be an item of another one.
pub trait Item: Sized {
    /// Returns the value in the dtype of the model, if its sizes match `kind`.
    fn enter(self, name: &'static str, kind: &ValueType, sizes: &mut Sizes) -> Result<Self, Error>;

    /// Returns the value with floats converted to `dtype`, as the device stores it.
    fn leave(self, _dtype: DType) -> Self {
        self
    }
}

/// Checks the sizes of a tensor and returns its element type.
fn check(
    name: &'static str,
    kind: &ValueType,
    found: &[usize],
    sizes: &mut Sizes,
) -> Result<Option<ElementType>, Error> {
    match kind {
        ValueType::Tensor { dtype, sizes: [] } if found == [1] => Ok(Some(*dtype)),
        ValueType::Tensor { dtype, sizes: expected } => {
            bounded(name, found, *dtype, memory_limit())?;
            sizes.check(name, found, expected)?;
            Ok(Some(*dtype))
        }
        _ => Ok(None),
    }
}

impl<const D: usize> Item for Tensor<D> {
    fn enter(self, name: &'static str, kind: &ValueType, sizes: &mut Sizes) -> Result<Self, Error> {
        Ok(match check(name, kind, &self.dims(), sizes)? {
            Some(dtype) => float(self, dtype),
            None => self,
        })
    }

    fn leave(self, dtype: DType) -> Self {
        let stored: FloatDType = stored(&self.device(), dtype).into();
        self.cast(stored)
    }
}

impl<const D: usize> Item for Tensor<D, Int> {
    fn enter(self, name: &'static str, kind: &ValueType, sizes: &mut Sizes) -> Result<Self, Error> {
        Ok(match check(name, kind, &self.dims(), sizes)? {
            Some(dtype) => int(self, dtype),
            None => self,
        })
    }
}

impl<const D: usize> Item for Tensor<D, Bool> {
    fn enter(self, name: &'static str, kind: &ValueType, sizes: &mut Sizes) -> Result<Self, Error> {
        check(name, kind, &self.dims(), sizes)?;
        Ok(self)
    }
}

impl<T> Item for Array<T> {
    fn enter(self, name: &'static str, kind: &ValueType, sizes: &mut Sizes) -> Result<Self, Error> {
        check(name, kind, self.shape(), sizes)?;
        Ok(self)
    }
}

impl<T: Item> Item for Vec<T> {
    fn enter(self, name: &'static str, kind: &ValueType, _: &mut Sizes) -> Result<Self, Error> {
        let ValueType::Sequence(item) = kind else {
            return Ok(self);
        };
        // Sizes with the same name may differ between items.
        let items = self.into_iter();
        let items = items.map(|value| value.enter(name, item, &mut Sizes::new()));
        items.collect()
    }

    fn leave(self, dtype: DType) -> Self {
        self.into_iter().map(|value| value.leave(dtype)).collect()
    }
}

impl<T: Item> Item for Option<T> {
    fn enter(self, name: &'static str, kind: &ValueType, sizes: &mut Sizes) -> Result<Self, Error> {
        match kind {
            ValueType::Optional(item) => self.map(|value| value.enter(name, item, sizes)).transpose(),
            _ => Ok(self),
        }
    }

    fn leave(self, dtype: DType) -> Self {
        self.map(|value| value.leave(dtype))
    }
}

impl<K: Ord, T: Item> Item for BTreeMap<K, T> {
    fn enter(self, name: &'static str, kind: &ValueType, _: &mut Sizes) -> Result<Self, Error> {
        let ValueType::Map { value: item, .. } = kind else {
            return Ok(self);
        };
        let entries = self.into_iter();
        let entries = entries.map(|(key, value)| {
            let value = value.enter(name, item, &mut Sizes::new())?;
            Ok((key, value))
        });
        entries.collect()
    }
}

macro_rules! plain {
    ($($scalar:ty)*) => {$(
        impl Item for $scalar {
            fn enter(self, _: &'static str, _: &ValueType, _: &mut Sizes) -> Result<Self, Error> {
                Ok(self)
            }
        }
    )*};
}

plain!(bool i8 i16 i32 i64 u8 u16 u32 u64 half::f16 half::bf16 f32 f64 String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;
    use burn::tensor::Device;

    const ITEM: ValueType =
        ValueType::Tensor { dtype: ElementType::Int64, sizes: &[Size::Unknown, Size::Fixed(2)] };

    fn item(rows: usize, columns: usize) -> Tensor<2, Int> {
        Tensor::zeros([rows, columns], (&Device::flex(), DType::I32))
    }

    fn entered(items: Vec<Tensor<2, Int>>) -> Result<Vec<Tensor<2, Int>>, String> {
        let entered = items.enter("xs", &ValueType::Sequence(&ITEM), &mut Sizes::new());
        entered.map_err(|error| error.to_string())
    }

    #[test]
    fn items_become_of_the_models_dtype() {
        let items = entered(vec![item(1, 2), item(3, 2)]).unwrap();
        assert!(items.iter().all(|item| item.dtype() == DType::I64));
    }

    #[test]
    fn an_item_of_another_size_is_refused() {
        assert_eq!(
            entered(vec![item(1, 2), item(1, 3)]).unwrap_err(),
            "`xs` has shape [1, 3], expected [?, 2]"
        );
    }

    #[test]
    fn nothing_is_no_item() {
        let none: Option<Tensor<2, Int>> = None;
        let entered = none.enter("x", &ValueType::Optional(&ITEM), &mut Sizes::new());
        assert!(entered.unwrap().is_none());
    }
}
