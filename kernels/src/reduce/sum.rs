//! Sums and means along one axis.

use burn::tensor::Tensor;

use crate::backend::call;

/// Returns the sums along an axis, which stays with size 1.
#[inline(never)]
pub fn sum_dim<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    Tensor::from_dispatch(call!(sum(x; axis, false)))
}

/// Returns the means along an axis, which stays with size 1.
#[inline(never)]
pub fn mean_dim<const D: usize>(x: Tensor<D>, axis: usize) -> Tensor<D> {
    Tensor::from_dispatch(call!(sum(x; axis, true)))
}
