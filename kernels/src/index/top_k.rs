//! TopK.

use burn::tensor::{DType, Int, IntDType, Tensor, TensorData, kind::Ordered};

pub use crate::spec::ranking::Top;
use crate::{
    backend::{Any, call},
    dtype::lowered,
    ensure,
    reader::{Blocking, Reader, Waiting, now},
    shape::empty,
    spec::ranking::ranking,
};

/// TopK: the `k` greatest or least values along an axis in order, and their indices as int64. Of equal values
/// the first comes first; NaN is the greatest.
///
/// The host sorts f64.
pub fn top_k<const D: usize, K: Ordered>(
    x: Tensor<D, K>,
    k: usize,
    axis: usize,
    largest: bool,
) -> (Tensor<D, K>, Tensor<D, Int>) {
    now(top_k_by(x, Top { k, axis, largest }, Blocking))
}

/// Async version of [`top_k`].
pub async fn top_k_async<const D: usize, K: Ordered>(
    x: Tensor<D, K>,
    k: usize,
    axis: usize,
    largest: bool,
) -> (Tensor<D, K>, Tensor<D, Int>) {
    top_k_by(x, Top { k, axis, largest }, Waiting).await
}

/// [`top_k`] with a reader.
pub(crate) async fn top_k_by<const D: usize, K: Ordered>(
    x: Tensor<D, K>,
    top: Top,
    reader: impl Reader,
) -> (Tensor<D, K>, Tensor<D, Int>) {
    let Top { k, axis, .. } = top;
    let mut shape = x.dims();
    ensure!(k <= shape[axis], "expected `k` of at most {}, found {k}", shape[axis]);
    shape[axis] = k;
    let device = x.device();
    let dtype = lowered(&device, DType::I64);
    if shape.contains(&0) {
        return (empty(&x, shape), Tensor::empty(shape, (&device, dtype)));
    }
    let indices = match on_device(&x, top) {
        Some(found) => found.cast::<IntDType>(dtype.into()),
        None => {
            let indices = ranking(reader.read(x.clone()).await, top);
            Tensor::from_data(TensorData::new(indices, shape), (&device, dtype))
        }
    };
    (x.gather(axis, indices.clone()), indices)
}

/// Returns the indices of the first elements, without gradients; `None` if the host has to sort them.
pub fn on_device<const D: usize, K: Ordered>(x: &Tensor<D, K>, top: Top) -> Option<Tensor<D, Int>> {
    let y = x.clone().into_dispatch();
    let operand = if x.dtype().is_float() {
        Any::of(Tensor::<D>::from_dispatch(y).without_autodiff())
    } else {
        Any::of(Tensor::<D, Int>::from_dispatch(y))
    };
    let found = call!(top_k(operand; top));
    found.tensor().map(Tensor::from_dispatch)
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::testing::{float, int, same};

    #[test]
    fn equal_values_keep_their_order() {
        let x = float::<2>([[3f32, 1.0, 3.0, 2.0], [0.0, -0.0, 0.0, -1.0]]);
        let (values, indices) = top_k(x.clone(), 3, 1, true);
        same(values, [[3f32, 3.0, 2.0], [0.0, -0.0, 0.0]]);
        same(indices, [[0i64, 2, 3], [0, 1, 2]]);
        let (values, indices) = top_k(x, 2, 1, false);
        same(values, [[1f32, 2.0], [-1.0, 0.0]]);
        same(indices, [[1i64, 3], [3, 0]]);
    }

    #[test]
    fn any_axis_and_dtype() {
        let x = int::<3>([[[u64::MAX, 1]], [[5, 9]], [[7, 9]]]);
        let (values, indices) = top_k(x, 2, 0, true);
        same(values, [[[u64::MAX, 9]], [[7, 9]]]);
        same(indices, [[[0i64, 1]], [[2, 2]]]);
        let x = float::<1>([1.0, 3.0, 2.0].map(bf16::from_f32));
        let (values, indices) = top_k(x, 3, 0, false);
        same(values, [1.0, 2.0, 3.0].map(bf16::from_f32));
        same(indices, [0i64, 2, 1]);
    }

    #[test]
    fn none_may_be_wanted() {
        let (values, indices) = top_k(int::<1>([1i32, 2]), 0, 0, true);
        same(values, TensorData::new(Vec::<i32>::new(), [0]));
        same(indices, TensorData::new(Vec::<i64>::new(), [0]));
    }

    #[test]
    fn nan_is_the_greatest() {
        let x = || float::<1>([1.0, f32::NAN, f32::INFINITY]);
        same(top_k(x(), 2, 0, true).1, [1i64, 2]);
        same(top_k(x(), 3, 0, false).1, [0i64, 2, 1]);
    }
}
