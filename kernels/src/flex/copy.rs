//! Elements copied to other places, whatever they are.

mod concat;
mod nearest;
mod strided;

use std::mem::MaybeUninit;

use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Shape, TensorData};
use bytemuck::Pod;

use super::memory::Buffer;
pub use concat::concat;
pub use nearest::nearest;
pub use strided::dense;

/// Numbers as long as elements.
trait Word: Pod + Send + Sync {}

impl<T: Pod + Send + Sync> Word for T {}

/// Calls a function for words as long as elements of a dtype; none where there are no such words.
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
use by_words;

/// The words of a tensor's memory; none where they are not aligned.
fn words<T: Word>(x: &FlexTensor) -> Option<&[T]> {
    bytemuck::try_cast_slice(x.bytes()).ok()
}

/// The words of a tensor whose elements follow one another.
fn dense_words<T: Word>(x: &FlexTensor) -> Option<&[T]> {
    let first = x.layout().start_offset();
    words(x)?.get(first..first + x.layout().num_elements())
}

/// Words of a result, which threads write in parts.
struct Words<T> {
    first: *mut T,
    length: usize,
}

// SAFETY: who writes through the pointer says that no other thread writes there.
unsafe impl<T: Send> Send for Words<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Words<T> {}

impl<T: Word> Words<T> {
    /// Words that are written, or about to be.
    ///
    /// # Safety
    ///
    /// No other thread reads or writes them meanwhile.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, first: usize, length: usize) -> &mut [MaybeUninit<T>] {
        assert!(first <= self.length && length <= self.length - first);
        // SAFETY: the words are inside of the memory, and what the caller says.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(first).cast(), length) }
    }
}

/// A tensor of words that `fill` writes.
///
/// # Safety
///
/// It writes each.
unsafe fn filled<T: Word>(shape: Shape, dtype: DType, fill: impl FnOnce(&Words<T>)) -> FlexTensor {
    let length = shape.num_elements();
    let write = |blank: &mut [MaybeUninit<T>]| {
        let first = blank.as_mut_ptr().cast();
        fill(&Words { first, length });
    };
    // SAFETY: what the caller says.
    let words = unsafe { Buffer::<T>::written(length, write) };
    FlexTensor::from_data(TensorData::from_bytes(words.into_bytes(), shape, dtype))
}
