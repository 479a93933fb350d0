//! Pooling over all spatial axes at once.

use burn::tensor::{
    Tensor,
    kind::{Basic, Ordered},
};

use super::sum::{power, root};
use crate::shape::WithShape;
use crate::widen::widened;

/// The mean of each channel; every spatial size becomes 1.
pub fn global_average_pool<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let (dtype, shape) = (x.dtype(), shape(&x));
    flat(widened(x)).mean_dim(2).with_shape(shape).cast(dtype)
}

/// The largest element of each channel; every spatial size becomes 1.
pub fn global_max_pool<const D: usize, K: Ordered>(x: Tensor<D, K>) -> Tensor<D, K> {
    let shape = shape(&x);
    flat(x).max_dim(2).with_shape(shape)
}

/// The `p`-norm of each channel; every spatial size becomes 1.
pub fn global_lp_pool<const D: usize>(x: Tensor<D>, p: u32) -> Tensor<D> {
    let (dtype, shape) = (x.dtype(), shape(&x));
    let sums = power(flat(widened(x)), p).sum_dim(2);
    root(sums, p).with_shape(shape).cast(dtype)
}

fn flat<const D: usize, K: Basic>(x: Tensor<D, K>) -> Tensor<3, K> {
    let dims = x.dims();
    x.with_shape([dims[0], dims[1], dims[2..].iter().product()])
}

fn shape<const D: usize, K: Basic>(x: &Tensor<D, K>) -> [usize; D] {
    let dims = x.dims();
    core::array::from_fn(|dim| if dim < 2 { dims[dim] } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, near, same};

    fn pairs() -> Tensor<4> {
        float([[[[1f32, 2.0], [3.0, 4.0]], [[-3.0, 0.0], [0.0, -4.0]]]])
    }

    #[test]
    fn each_channel_becomes_one_number() {
        same(global_average_pool(pairs()), [[[[2.5f32]], [[-1.75]]]]);
        same(global_max_pool(pairs()), [[[[4f32]], [[0.0]]]]);
        near(
            global_lp_pool(pairs(), 2),
            [[[[5.477_226_f32]], [[5.0]]]],
            1e-6,
        );
        same(global_lp_pool(pairs(), 1), [[[[10f32]], [[7.0]]]]);
    }

    #[test]
    fn rank_and_kind_are_free() {
        same(global_max_pool(int::<3>([[[1i8, -5]]])), [[[1i8]]]);
        same(
            global_average_pool(float::<5>([[[[[1f32, 3.0]]]]])),
            [[[[[2f32]]]]],
        );
    }
}
