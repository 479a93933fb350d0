//! Weights that lie in the program or in a mapped file.

use burn::tensor::{DType, Device, Int, Shape, Tensor, TensorData, kind::Basic};

#[cfg(feature = "flex")]
use crate::backend::Runtime;
use crate::backend::{Any, call};

/// Data of a tensor that reads `bytes` where they are; `None` where the device copies its tensors.
///
/// Every value of `bytes` must be one of `dtype`, as it is of numbers.
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
pub fn data(
    bytes: &'static [u8],
    shape: Shape,
    dtype: DType,
    device: &Device,
) -> Option<TensorData> {
    #[cfg(feature = "flex")]
    if Runtime::of(device) == Runtime::Flex {
        return Some(crate::flex::stored::data(bytes, shape, dtype));
    }
    None
}

/// Returns pages of a file to the system that lie inside of `bytes`; who reads the bytes has them again.
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
pub fn give_back(bytes: &[u8]) {
    #[cfg(feature = "flex")]
    crate::flex::stored::pages::give_back(bytes);
}

/// Rows of a matrix that a device reads where it lies, at indices of rows; `None` where the device's own selection does as well.
pub fn rows<K: Basic>(x: &Tensor<2, K>, indices: &Tensor<1, Int>) -> Option<Tensor<2, K>> {
    let (x, indices) = (Any::of(x.clone()), indices.clone());
    let rows = call!(@copy stored_rows(x, indices));
    rows.tensor().map(Tensor::from_dispatch)
}
