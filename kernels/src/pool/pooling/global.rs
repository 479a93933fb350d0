//! Pools over all spatial axes.

use burn::tensor::{
    Tensor,
    kind::{Basic, Ordered},
};

use super::sum::{power, root};
use crate::reduce::sum::{mean_dim, sum_dim};
use crate::{
    ensure,
    shape::{WithShape, empty},
    widen::widened,
};

/// Returns the mean of each channel; every spatial size becomes 1.
pub fn global_average_pool<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let (dtype, shape) = (x.dtype(), shape(&x));
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    mean_dim(flat(widened(x)), 2).with_shape(shape).cast(dtype)
}

/// Returns the largest element of each channel; every spatial size becomes 1.
pub fn global_max_pool<const D: usize, K: Ordered>(x: Tensor<D, K>) -> Tensor<D, K> {
    let shape = shape(&x);
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    flat(x).max_dim(2).with_shape(shape)
}

/// Returns the `p`-norm of each channel; every spatial size becomes 1.
pub fn global_lp_pool<const D: usize>(x: Tensor<D>, p: u32) -> Tensor<D> {
    let (dtype, shape) = (x.dtype(), shape(&x));
    if shape.contains(&0) {
        return empty(&x, shape);
    }
    let sums = sum_dim(power(flat(widened(x)), p), 2);
    root(sums, p).with_shape(shape).cast(dtype)
}

/// Flattens to `[batch, channels, elements]`. Fails if a channel has no elements, as ONNX Runtime does.
fn flat<const D: usize, K: Basic>(x: Tensor<D, K>) -> Tensor<3, K> {
    let dims = x.dims();
    ensure!(!dims[2..].contains(&0), "expected elements in each channel of the input, found {dims:?}");
    x.with_shape([dims[0], dims[1], dims[2..].iter().product()])
}

fn shape<const D: usize, K: Basic>(x: &Tensor<D, K>) -> [usize; D] {
    let dims = x.dims();
    core::array::from_fn(|dim| if dim < 2 { dims[dim] } else { 1 })
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, int, near, same};

    fn pairs() -> Tensor<4> {
        float([[[[1f32, 2.0], [3.0, 4.0]], [[-3.0, 0.0], [0.0, -4.0]]]])
    }

    #[test]
    fn each_channel_becomes_one_element() {
        same(global_average_pool(pairs()), [[[[2.5f32]], [[-1.75]]]]);
        same(global_max_pool(pairs()), [[[[4f32]], [[0.0]]]]);
        near(global_lp_pool(pairs(), 2), [[[[5.477_226_f32]], [[5.0]]]], 1e-6);
        same(global_lp_pool(pairs(), 1), [[[[10f32]], [[7.0]]]]);
    }

    #[test]
    fn no_channels_are_empty_and_a_channel_of_no_elements_fails() {
        let none = |shape: [usize; 4]| TensorData::new(Vec::<f32>::new(), shape);
        let pools: [fn(Tensor<4>) -> Tensor<4>; 3] =
            [global_average_pool, global_max_pool, |x| global_lp_pool(x, 2)];
        for pool in pools {
            same(pool(float(none([2, 0, 3, 3]))), none([2, 0, 1, 1]));
            same(pool(float(none([0, 3, 0, 3]))), none([0, 3, 1, 1]));
            let fault = attempt(|| pool(float(none([2, 3, 0, 3])))).unwrap_err();
            assert_eq!(fault.reason, "expected elements in each channel of the input, found [2, 3, 0, 3]");
        }
    }

    #[test]
    fn rank_and_kind_are_free() {
        same(global_max_pool(int::<3>([[[1i8, -5]]])), [[[1i8]]]);
        same(global_average_pool(float::<5>([[[[[1f32, 3.0]]]]])), [[[[[2f32]]]]]);
    }
}
