//! Copies of elements of any type: concatenation, nearest neighbors, row-major order.

mod append;
mod concat;
mod nearest;
mod overwrite;
mod strided;

use burn::backend::{Flex, flex::FlexTensor};
use burn::tensor::{DType, Shape, TensorData};
use bytemuck::Pod;

use super::{
    memory::{Buffer, Unwritten, Written},
    outcome, tensor,
};
use crate::backend::{Any, Outcome};
pub use append::append;
pub use concat::concat;
use nearest::picked_planes;
pub use overwrite::overwrite;
pub use strided::dense;

/// Returns the elements in row-major order. Declines if they are already.
pub fn contiguous(x: Any<Flex>) -> Outcome<Flex> {
    let x = tensor(x);
    outcome((!x.is_contiguous()).then(|| dense(x)))
}

/// Returns the elements of planes (the last two axes) at these rows and columns. Declines if one is out of bounds.
pub fn nearest(x: Any<Flex>, rows: Vec<usize>, columns: Vec<usize>) -> Outcome<Flex> {
    outcome(picked_planes(tensor(x), &rows, &columns))
}

/// Words of the size of an element.
pub trait Word: Pod + Send + Sync {}

impl<T: Pod + Send + Sync> Word for T {}

/// Calls a function for words of the size of a dtype. Returns `None` for other sizes.
macro_rules! by_words {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype.size() {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            8 => $function::<u64>($($argument),*),
            _ => None,
        }
    };
}
pub(super) use by_words;

/// Calls a function for the elements of a dtype, booleans as bytes. Returns `None` for other dtypes.
macro_rules! by_elements {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::F64 => $function::<f64>($($argument),*),
            DType::F32 => $function::<f32>($($argument),*),
            DType::F16 => $function::<f16>($($argument),*),
            DType::BF16 => $function::<bf16>($($argument),*),
            DType::I64 => $function::<i64>($($argument),*),
            DType::I32 => $function::<i32>($($argument),*),
            DType::I16 => $function::<i16>($($argument),*),
            DType::I8 => $function::<i8>($($argument),*),
            DType::U64 => $function::<u64>($($argument),*),
            DType::U32 => $function::<u32>($($argument),*),
            DType::U16 => $function::<u16>($($argument),*),
            DType::U8 | DType::Bool(BoolStore::Native | BoolStore::U8) => $function::<u8>($($argument),*),
            _ => None,
        }
    };
}
use by_elements;

/// Returns the words of a tensor's memory, or `None` if it is not aligned.
pub fn words<T: Word>(x: &FlexTensor) -> Option<&[T]> {
    bytemuck::try_cast_slice(x.bytes()).ok()
}

/// Returns the words of a contiguous tensor.
pub fn dense_words<T: Word>(x: &FlexTensor) -> Option<&[T]> {
    let first = x.layout().start_offset();
    words(x)?.get(first..first + x.layout().num_elements())
}

/// Returns a tensor whose words `write` initializes.
fn filled<T: Word>(
    shape: Shape,
    dtype: DType,
    write: impl for<'p> FnOnce(Unwritten<'p, T>) -> Written<'p, T>,
) -> FlexTensor {
    let words = Buffer::filled(shape.num_elements(), write);
    FlexTensor::from_data(TensorData::from_bytes(words.into_bytes(), shape, dtype))
}
