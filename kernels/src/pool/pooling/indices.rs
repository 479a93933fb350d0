//! Max pooling with the index of each maximum.

use burn::tensor::{DType, Int, Tensor, kind::Ordered};

use super::{lowest, pad, pooled_shape, taps};
use crate::shape::{WithShape, empty};
use crate::{
    convolution::{addressable, window::Window},
    dtype::lowered,
};

/// The spatial axis that varies fastest in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageOrder {
    /// The last axis.
    RowMajor,
    /// The first axis.
    ColumnMajor,
}

/// Returns the largest element of each window, and the index of the first of equal ones in memory order. NaN is the largest.
pub fn max_pool_with_indices<const D: usize, const S: usize, K: Ordered>(
    x: Tensor<D, K>,
    window: Window<S>,
    ceil: bool,
    order: StorageOrder,
) -> (Tensor<D, K>, Tensor<D, Int>) {
    let window = addressable(&x, window);
    let shape = pooled_shape(x.dims(), &window, ceil);
    if shape.contains(&0) {
        let dtype = lowered(&x.device(), DType::I64);
        let none = Tensor::empty(shape, (&x.device(), dtype));
        return (empty(&x, shape), none);
    }
    let positions = positions(&x, order);
    let lowest = lowest(&x);
    let dims = x.dims();
    let mut values = pad(x, &window, &shape, lowest);
    let padded = values.dims() != dims;
    let mut indices = pad(positions, &window, &shape, PADDING);
    // From the last axis on, so that of equal elements the first in memory is found, in either storage order.
    for axis in (0..S).rev() {
        let positions = shape[2 + axis];
        let pairs = taps(&values, &window, axis, positions).zip(taps(&indices, &window, axis, positions));
        (values, indices) = pairs
            .reduce(|(best, best_index), (value, index)| {
                let mut better = value.clone().greater(best.clone());
                if value.dtype().is_float() {
                    let is_nan = value.clone().not_equal(value.clone());
                    better = better.bool_or(is_nan.bool_and(best.clone().equal(best.clone())));
                }
                if padded {
                    // The lowest value may be an element of the input too, and wins over padding.
                    better = better.bool_or(best_index.clone().equal_scalar(PADDING as i32));
                }
                (best.mask_where(better.clone(), value), best_index.mask_where(better, index))
            })
            .expect("a kernel has elements");
    }
    (values, indices)
}

const PADDING: f32 = -1.0;

/// Returns the index of every element of `x`.
fn positions<const D: usize, K: Ordered>(x: &Tensor<D, K>, order: StorageOrder) -> Tensor<D, Int> {
    let dims = x.dims();
    let device = x.device();
    let dtype = lowered(&device, DType::I64);
    let count: usize = dims.iter().product();
    let all = Tensor::<1, Int>::arange(0..count as i64, (&device, dtype));
    match order {
        StorageOrder::RowMajor => all.with_shape(dims),
        StorageOrder::ColumnMajor => {
            let reversed: [usize; D] = core::array::from_fn(|dim| if dim < 2 { dim } else { D + 1 - dim });
            all.with_shape(reversed.map(|dim| dims[dim])).permute(reversed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, on_cpu, same};

    fn square() -> Tensor<4> {
        let values: Vec<f32> = (1..=25).map(|v| v as f32).collect();
        float(burn::tensor::TensorData::new(values, [1, 1, 5, 5]))
    }

    #[test]
    fn indices_count_row_by_row() {
        let window = Window::new([5, 5]).pads([(2, 2), (2, 2)]);
        let (values, indices) = max_pool_with_indices(square(), window, false, StorageOrder::RowMajor);
        same(
            values.slice([0..1, 0..1, 0..2, 0..5]),
            [[[[13f32, 14.0, 15.0, 15.0, 15.0], [18.0, 19.0, 20.0, 20.0, 20.0]]]],
        );
        same(indices.slice([0..1, 0..1, 0..2, 0..5]), [[[[12i64, 13, 14, 14, 14], [17, 18, 19, 19, 19]]]]);
    }

    #[test]
    fn indices_count_column_by_column() {
        let window = Window::new([2, 2]).strides([2, 2]);
        let (values, indices) = max_pool_with_indices(square(), window, false, StorageOrder::ColumnMajor);
        same(values, [[[[7f32, 9.0], [17.0, 19.0]]]]);
        same(indices, [[[[6i64, 16], [8, 18]]]]);
    }

    #[test]
    fn of_equal_elements_the_first_in_memory_is_found() {
        let found = |order| {
            let x = float::<4>([[[[1f32, 5.0], [5.0, 1.0]]]]);
            max_pool_with_indices(x, Window::new([2, 2]), false, order).1
        };
        same(found(StorageOrder::RowMajor), [[[[1i64]]]]);
        same(found(StorageOrder::ColumnMajor), [[[[2i64]]]]);
    }

    #[test]
    fn nan_is_the_largest() {
        if !on_cpu("shaders may assume that nothing is NaN or infinite") {
            return;
        }
        let x = || float::<4>([[[[1f32, f32::NAN], [f32::INFINITY, f32::NAN]]]]);
        for (x, first) in [(x(), 1i64), (x().swap_dims(2, 3), 2)] {
            let found = max_pool_with_indices(x, Window::new([2, 2]), false, StorageOrder::RowMajor);
            same(found.0, [[[[f32::NAN]]]]);
            same(found.1, [[[[first]]]]);
        }
    }

    #[test]
    fn indices_run_through_channels_and_batches() {
        let x = float::<3>([[[1f32, 2.0], [4.0, 3.0]], [[5.0, 5.0], [0.0, 9.0]]]);
        let (_, indices) = max_pool_with_indices(x, Window::new([2]), false, StorageOrder::RowMajor);
        same(indices, [[[1i64], [2]], [[4], [7]]]);
    }

    #[test]
    fn padding_never_wins() {
        let x = int::<3>([[[0u8, 0, 0]]]);
        let window = Window::new([2]).pads([(1, 1)]);
        let (values, indices) = max_pool_with_indices(x, window, false, StorageOrder::RowMajor);
        same(values, [[[0u8, 0, 0, 0]]]);
        same(indices, [[[0i64, 0, 1, 2]]]);
    }
}
