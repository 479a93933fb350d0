//! Weights in the binary or in a mapped file.

use core::ops::Range;

use burn::tensor::{DType, Device, Int, Shape, Tensor, TensorData, kind::Basic};

#[cfg(feature = "flex")]
use crate::backend::Runtime;
use crate::backend::{Any, call};
pub use crate::spec::stored::SharedBytes;

/// Returns tensor data that refers to `bytes` in place, or `None` if the device copies its tensors.
///
/// `bytes` must be valid values of `dtype`, as numbers of any bits are.
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
pub fn data(bytes: &'static [u8], shape: Shape, dtype: DType, device: &Device) -> Option<TensorData> {
    #[cfg(feature = "flex")]
    if Runtime::of(device) == Runtime::Flex {
        return Some(crate::flex::stored::data(bytes, shape, dtype));
    }
    None
}

/// Returns tensor data that refers to a range of `bytes` in place and keeps them, or `None` if the device copies its
/// tensors. As for [`data`], every value of the bytes must be valid.
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
pub fn shared(
    bytes: &SharedBytes,
    range: Range<usize>,
    shape: Shape,
    dtype: DType,
    device: &Device,
) -> Option<TensorData> {
    #[cfg(feature = "flex")]
    if Runtime::of(device) == Runtime::Flex {
        return Some(crate::flex::stored::shared(bytes, range, shape, dtype));
    }
    None
}

/// Returns tensor data whose bytes `read` writes, chunk by chunk from several threads, in memory that earlier weights or
/// results used. The arguments of `read` are the offset and the bytes of a chunk. `None` for small tensors, and if the device
/// copies its tensors.
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
pub fn filled<E: Send>(
    size: usize,
    shape: &Shape,
    dtype: DType,
    device: &Device,
    read: impl Fn(usize, &mut [u8]) -> Result<(), E> + Send + Sync,
) -> Option<Result<TensorData, E>> {
    #[cfg(feature = "flex")]
    if Runtime::of(device) == Runtime::Flex {
        return crate::flex::stored::filled(size, shape, dtype, read);
    }
    None
}

/// Releases the pages of a mapped file that are entirely inside `bytes`. A later access reads them again.
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
pub fn give_back(bytes: &[u8]) {
    #[cfg(feature = "flex")]
    crate::flex::memory::pages::give_back(bytes);
}

/// Returns the rows of a matrix at `indices`, read in place; `None` if the device's own selection is as fast.
pub fn rows<K: Basic>(x: &Tensor<2, K>, indices: &Tensor<1, Int>) -> Option<Tensor<2, K>> {
    let (x, indices) = (Any::of(x.clone()), indices.clone());
    let rows = call!(@copy stored_rows(x, indices));
    rows.tensor().map(Tensor::from_dispatch)
}
