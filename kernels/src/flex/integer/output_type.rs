//! Outputs of products of bytes.

use burn::tensor::{DType, Element, TensorData};

use crate::flex::memory::{Buffer, Unwritten, Written};

/// Element type of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputType {
    Unsigned,
    Signed,
    Sums,
    Floats,
}

impl OutputType {
    /// The type for a dtype of bytes.
    pub fn of_bytes(dtype: DType) -> Option<Self> {
        match dtype {
            DType::U8 => Some(Self::Unsigned),
            DType::I8 => Some(Self::Signed),
            _ => None,
        }
    }

    /// A tensor whose bytes `write` writes.
    pub fn filled(
        self,
        shape: Vec<usize>,
        write: impl for<'p> FnOnce(Unwritten<'p, u8>) -> Written<'p, u8>,
    ) -> TensorData {
        match self {
            Self::Unsigned => filled::<u8>(shape, write),
            Self::Signed => filled::<i8>(shape, write),
            Self::Sums => filled::<i32>(shape, write),
            Self::Floats => filled::<f32>(shape, write),
        }
    }
}

fn filled<T: Element + bytemuck::Pod>(
    shape: Vec<usize>,
    write: impl for<'p> FnOnce(Unwritten<'p, u8>) -> Written<'p, u8>,
) -> TensorData {
    let length = shape.iter().product();
    let values = Buffer::<T>::filled(length, |out| write(out.bytes()).elements());
    TensorData::from_bytes(values.into_bytes(), shape, T::dtype())
}
