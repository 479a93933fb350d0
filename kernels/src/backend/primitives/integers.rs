//! Arithmetic of integers by primitives that wrap.
//!
//! Burn's sums and products of integers check for overflow in builds with overflow checks. Matrix products wrap in all builds.

use alloc::{vec, vec::Vec};
use burn::backend::{Backend, TensorMetadata, tensor::IntTensor};
use burn::tensor::{DType, IntDType, Shape, Slice};

use crate::spec::arithmetic::Arithmetic;

/// Returns the results of two tensors of one shape, each as a matrix product.
pub fn wrapping<B: Backend>(a: IntTensor<B>, b: IntTensor<B>, arithmetic: Arithmetic) -> IntTensor<B> {
    let (shape, dtype, device) = (a.shape(), a.dtype(), a.device());
    let wide = if dtype == DType::I32 { IntDType::I32 } else { IntDType::I64 };
    let count = shape.num_elements();
    let column = |x: IntTensor<B>| B::int_reshape(B::int_cast(x, wide), Shape::from([count, 1, 1]));
    let ones = || B::int_ones(Shape::from([count, 1, 1]), &device, wide);
    let (a, b) = (column(a), column(b));
    let y = match arithmetic {
        Arithmetic::Product => B::int_matmul(a, b),
        Arithmetic::Sum => B::int_matmul(B::int_cat(vec![a, b], 2), B::int_cat(vec![ones(), ones()], 1)),
        Arithmetic::Difference => {
            let minus = B::int_neg(ones());
            B::int_matmul(B::int_cat(vec![a, b], 2), B::int_cat(vec![ones(), minus], 1))
        }
    };
    B::int_cast(B::int_reshape(y, shape), IntDType::from(dtype))
}

/// Returns the sum or the product along an axis, which keeps one element: adds the halves of the axis until it has one.
pub fn fold<B: Backend>(mut x: IntTensor<B>, axis: usize, product: bool) -> IntTensor<B> {
    let arithmetic = if product { Arithmetic::Product } else { Arithmetic::Sum };
    loop {
        let shape = x.shape();
        let size = shape[axis];
        if size <= 1 {
            return x;
        }
        let part = |from: usize, to: usize| {
            let mut slices: Vec<Slice> = shape.iter().map(|size| Slice::from(0..*size)).collect();
            slices[axis] = Slice::from(from..to);
            B::int_slice(x.clone(), &slices)
        };
        let half = size / 2;
        let sums = wrapping::<B>(part(0, half), part(half, 2 * half), arithmetic);
        x = if size.is_multiple_of(2) { sums } else { B::int_cat(vec![sums, part(2 * half, size)], axis) };
    }
}
