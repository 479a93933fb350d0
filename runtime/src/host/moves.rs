//! Moves between the host and devices.

use alloc::vec;
use alloc::vec::Vec;

use burn::tensor::kind::Basic;
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use onnx_embed_kernels::dtype::lowered;
use onnx_embed_kernels::observe::read;
use onnx_embed_kernels::reader::{Reader, Waiting};

use super::Scalar;
use crate::Array;
use crate::convert::{convert, elements, with_shape};

/// Copies a tensor to the host. `rank` is its ONNX rank, which is 0 for a scalar although the tensor has one axis.
pub fn to_host<T: Scalar, const D: usize, K: Basic>(tensor: Tensor<D, K>, rank: usize) -> Array<T> {
    array(read(tensor), rank)
}

/// Async version of [`to_host`].
pub async fn to_host_async<T: Scalar, const D: usize, K: Basic>(
    tensor: Tensor<D, K>,
    rank: usize,
) -> Array<T> {
    array(Waiting.read(tensor).await, rank)
}

/// Async version of `map`.
pub trait MapAsync<T> {
    /// Result of `map` for another type of items.
    type Mapped<U>;

    /// Awaits `make` for each item, one after the other.
    fn map_async<U, F: Future<Output = U>>(
        self,
        make: impl FnMut(T) -> F,
    ) -> impl Future<Output = Self::Mapped<U>>;
}

impl<T> MapAsync<T> for Option<T> {
    type Mapped<U> = Option<U>;

    async fn map_async<U, F: Future<Output = U>>(self, mut make: impl FnMut(T) -> F) -> Option<U> {
        match self {
            Some(item) => Some(make(item).await),
            None => None,
        }
    }
}

impl<T> MapAsync<T> for vec::IntoIter<T> {
    type Mapped<U> = vec::IntoIter<U>;

    async fn map_async<U, F: Future<Output = U>>(self, mut make: impl FnMut(T) -> F) -> vec::IntoIter<U> {
        let mut made = Vec::with_capacity(self.len());
        for item in self {
            made.push(make(item).await);
        }
        made.into_iter()
    }
}

/// Copies the values to a float tensor, which has one element for a scalar.
pub fn to_device<T: Scalar, const D: usize>(array: &Array<T>, device: &Device) -> Tensor<D> {
    let (data, dtype) = lower::<T>(array, D, device);
    Tensor::from_data(data, (device, dtype))
}

/// Copies the values to an integer tensor, which has one element for a scalar.
pub fn to_device_int<T: Scalar, const D: usize>(array: &Array<T>, device: &Device) -> Tensor<D, Int> {
    let (data, dtype) = lower::<T>(array, D, device);
    Tensor::from_data(data, (device, dtype))
}

/// Copies the values to a boolean tensor, which has one element for a scalar.
pub fn to_device_bool<const D: usize>(array: &Array<bool>, device: &Device) -> Tensor<D, Bool> {
    let (data, dtype) = lower::<bool>(array, D, device);
    Tensor::from_data(data, (device, dtype))
}

fn array<T: Scalar>(data: TensorData, rank: usize) -> Array<T> {
    let shape = match rank {
        0 => Vec::new(),
        _ => data.shape().to_vec(),
    };
    Array::new(shape, elements(data))
}

fn lower<T: Scalar>(array: &Array<T>, rank: usize, device: &Device) -> (TensorData, DType) {
    let dtype = lowered(device, T::dtype());
    let data = TensorData::new(array.data().to_vec(), array.shape());
    (with_shape(convert(data, dtype), rank), dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_has_one_axis_on_the_device_alone() {
        let device = Device::flex();
        let tensor: Tensor<1, Int> = to_device_int(&Array::scalar(7i64), &device);
        assert_eq!((tensor.dims(), tensor.dtype()), ([1], DType::I64));
        assert_eq!(to_host::<i64, 1, _>(tensor, 0), Array::scalar(7));
    }

    #[test]
    fn values_and_shape_survive_the_round_trip() {
        let device = Device::flex();
        let grid = Array::new([2, 2], vec![1.5f32, -2.0, 3.0, 4.0]);
        let tensor: Tensor<2> = to_device(&grid, &device);
        assert_eq!(to_host(tensor, 2), grid);
        let truth = Array::new([1, 2], vec![true, false]);
        let tensor: Tensor<2, Bool> = to_device_bool(&truth, &device);
        assert_eq!(to_host(tensor, 2), truth);
    }

    #[test]
    fn reading_widens_what_the_device_lowered() {
        let device = Device::flex();
        let tensor = Tensor::<1, Int>::from_data([1, 2], (&device, DType::I32));
        assert_eq!(to_host::<i64, 1, _>(tensor, 1), Array::vector([1, 2]));
    }
}
