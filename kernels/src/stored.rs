//! Weights in the binary or in a mapped file.

use burn::tensor::{DType, Device, Int, Shape, Tensor, TensorData, kind::Basic};

#[cfg(feature = "flex")]
use crate::backend::Runtime;
use crate::backend::{Any, call};

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
