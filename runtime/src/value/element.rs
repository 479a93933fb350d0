//! Rust types of the elements of a tensor.

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use burn::tensor::{DType, Shape, TensorData};
use bytemuck::checked;
use half::{bf16, f16};

use super::Value;
use crate::convert::elements;
use crate::{Array, ElementType};

/// A type of elements of a [`Value`]: numbers, `bool` and `String`.
pub trait Element: sealed::Sealed + Clone {
    /// The ONNX type.
    const TYPE: ElementType;
}

/// An element, or nested arrays of elements: `f32`, `[f32; 3]`, `[[f32; 3]; 2]`. A `&str` becomes a `String`.
pub trait Nested: sealed::Nested {}

/// Methods that only this crate implements.
pub(super) mod sealed {
    use alloc::vec::Vec;

    use super::Value;

    pub trait Sealed: Sized {
        /// Returns the tensor with these elements. Their number must match the sizes.
        fn tensor(sizes: Vec<usize>, elements: Vec<Self>) -> Value;

        /// Returns the elements of a tensor of this type.
        fn of(value: &Value) -> Option<Vec<Self>>;

        /// Copies the elements of a tensor of this type. Returns `None` if it is of another one, or of another length.
        fn copy(value: &Value, to: &mut [Self]) -> Option<()>;
    }

    pub trait Nested: Sized {
        type Element: super::Element;

        /// Appends the sizes, one for each array around an element.
        fn sizes(sizes: &mut Vec<usize>);

        /// Returns the elements of several values in row-major order.
        fn flattened(all: Vec<Self>) -> Vec<Self::Element>;
    }
}

macro_rules! numbers {
    ($($ty:ident $name:ident)*) => {$(
        impl Element for $ty {
            const TYPE: ElementType = ElementType::$name;
        }

        impl sealed::Sealed for $ty {
            fn tensor(sizes: Vec<usize>, elements: Vec<Self>) -> Value {
                Value::Tensor(TensorData::new(elements, Shape::from(sizes)))
            }

            fn of(value: &Value) -> Option<Vec<Self>> {
                let data = value.tensor()?;
                let is_own = ElementType::of(data.dtype()) == Some(Self::TYPE);
                is_own.then(|| elements(native(data.clone())))
            }

            fn copy(value: &Value, to: &mut [Self]) -> Option<()> {
                let data = value.tensor()?;
                if ElementType::of(data.dtype()) != Some(Self::TYPE) {
                    return None;
                }
                match checked::try_cast_slice(data.as_bytes()) {
                    Ok(from) if from.len() == to.len() => to.copy_from_slice(from),
                    // Devices may store booleans as numbers.
                    _ => {
                        let from = Self::of(value).filter(|from| from.len() == to.len())?;
                        to.copy_from_slice(&from);
                    }
                }
                Some(())
            }
        }

        element!($ty);
    )*};
}

macro_rules! element {
    ($ty:ident) => {
        impl Nested for $ty {}

        impl sealed::Nested for $ty {
            type Element = Self;

            fn sizes(_: &mut Vec<usize>) {}

            fn flattened(all: Vec<Self>) -> Vec<Self> {
                all
            }
        }
    };
}

numbers! {
    bool Bool i8 Int8 i16 Int16 i32 Int32 i64 Int64 u8 UInt8 u16 UInt16 u32 UInt32 u64 UInt64
    f16 Float16 bf16 BFloat16 f32 Float32 f64 Float64
}
element!(String);

impl Element for String {
    const TYPE: ElementType = ElementType::String;
}

impl sealed::Sealed for String {
    fn tensor(sizes: Vec<usize>, elements: Vec<Self>) -> Value {
        Value::Strings(Array::new(sizes, elements))
    }

    fn of(value: &Value) -> Option<Vec<Self>> {
        Some(value.strings()?.data().to_vec())
    }

    fn copy(value: &Value, to: &mut [Self]) -> Option<()> {
        let from = value.strings()?.data();
        (from.len() == to.len()).then(|| to.clone_from_slice(from))
    }
}

impl Nested for &str {}

impl sealed::Nested for &str {
    type Element = String;

    fn sizes(_: &mut Vec<usize>) {}

    fn flattened(all: Vec<Self>) -> Vec<String> {
        all.into_iter().map(str::to_owned).collect()
    }
}

impl<T: Nested, const N: usize> Nested for [T; N] {}

impl<T: Nested, const N: usize> sealed::Nested for [T; N] {
    type Element = T::Element;

    fn sizes(sizes: &mut Vec<usize>) {
        sizes.push(N);
        T::sizes(sizes);
    }

    fn flattened(all: Vec<Self>) -> Vec<T::Element> {
        T::flattened(all.into_iter().flatten().collect())
    }
}

/// Returns the data with `Flex32`, whose values a device may round, as plain `f32`.
fn native(data: TensorData) -> TensorData {
    let (bytes, shape, dtype) = data.into_parts();
    let dtype = match dtype {
        DType::Flex32 => DType::F32,
        other => other,
    };
    TensorData::from_bytes(bytes, shape, dtype)
}
