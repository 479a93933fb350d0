//! Sums, differences and products of integers, which wrap.
//!
//! Burn checks them for overflow in builds with overflow checks.

use burn::tensor::{
    Int, Tensor,
    kind::{Basic, Kind, Numeric},
};

use crate::{backend::call, shape::expand::together, spec::arithmetic::Arithmetic};

/// Returns `a + b`.
pub fn add_int<const D: usize>(a: Tensor<D, Int>, b: Tensor<D, Int>) -> Tensor<D, Int> {
    wrapping(a, b, Arithmetic::Sum)
}

/// Returns `a - b`.
pub fn sub_int<const D: usize>(a: Tensor<D, Int>, b: Tensor<D, Int>) -> Tensor<D, Int> {
    wrapping(a, b, Arithmetic::Difference)
}

/// Returns `a * b`.
pub fn mul_int<const D: usize>(a: Tensor<D, Int>, b: Tensor<D, Int>) -> Tensor<D, Int> {
    wrapping(a, b, Arithmetic::Product)
}

/// Returns `x + number`.
pub fn add_int_scalar<const D: usize>(x: Tensor<D, Int>, number: i64) -> Tensor<D, Int> {
    with_number(x, number, Arithmetic::Sum)
}

/// Returns `x - number`.
pub fn sub_int_scalar<const D: usize>(x: Tensor<D, Int>, number: i64) -> Tensor<D, Int> {
    with_number(x, number, Arithmetic::Difference)
}

/// Returns `x * number`.
pub fn mul_int_scalar<const D: usize>(x: Tensor<D, Int>, number: i64) -> Tensor<D, Int> {
    with_number(x, number, Arithmetic::Product)
}

/// Returns the product of numbers of any kind; that of integers wraps.
pub(crate) fn times<const D: usize, K: Numeric>(a: Tensor<D, K>, b: Tensor<D, K>) -> Tensor<D, K> {
    if K::KIND == Kind::Int { wrapping(a, b, Arithmetic::Product) } else { a.mul(b) }
}

/// Returns the result of an operation on integers that broadcast.
pub(crate) fn wrapping<const D: usize, K: Basic>(
    a: Tensor<D, K>,
    b: Tensor<D, K>,
    arithmetic: Arithmetic,
) -> Tensor<D, K> {
    let (a, b) = together(a, b);
    if a.dims().contains(&0) {
        return a;
    }
    Tensor::from_dispatch(call!(wrapping(a, b; arithmetic)))
}

fn with_number<const D: usize>(x: Tensor<D, Int>, number: i64, arithmetic: Arithmetic) -> Tensor<D, Int> {
    if x.dims().contains(&0) {
        return x;
    }
    Tensor::from_dispatch(call!(wrapping_number(x; number, arithmetic)))
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::{
        elementwise::arithmetic::pow_int_int,
        reduce::{reduce_prod, reduce_sum, reduce_sum_square},
        testing::{has, has_all, int, same},
    };

    #[test]
    fn results_wrap() {
        if !has_all(&[DType::I64, DType::U64, DType::U32, DType::I8]) {
            return;
        }
        let (least, most) = (i64::MIN, i64::MAX);
        let a = || int::<1>([most, least, most, 3]);
        let b = || int::<1>([1i64, -1, most, -4]);
        same(add_int(a(), b()), [least, most, -2, -1]);
        same(sub_int(a(), b()), [most - 1, least + 1, 0, 7]);
        same(mul_int(a(), b()), [most, least, 1, -12]);
        let (a, b) = (int::<1>([u64::MAX, 1]), int::<1>([2u64, 3]));
        same(add_int(a.clone(), b.clone()), [1u64, 4]);
        same(sub_int(a.clone(), b.clone()), [u64::MAX - 2, u64::MAX - 1]);
        same(mul_int(a, b), [u64::MAX - 1, 3]);
        let many = int::<1>([u32::MAX, 7]);
        same(mul_int(many.clone(), many), [1u32, 49]);
        same(mul_int(int::<1>([100i8, -128]), int([2i8, -1])), [-56i8, -128]);
    }

    #[test]
    fn reductions_and_powers_wrap() {
        if !has_all(&[DType::I64, DType::U64]) {
            return;
        }
        let x = || int::<2>([[i64::MAX, 2], [3, i64::MAX]]);
        let sum: Tensor<1, Int> = reduce_sum(x(), &[0, 1]);
        same(sum, [3i64]);
        let product: Tensor<1, Int> = reduce_prod(x(), &[1]);
        same(product, [-2, i64::MAX - 2]);
        let squares: Tensor<1, Int> = reduce_sum_square(x(), &[0]);
        same(squares, [10i64, 5]);
        let most: Tensor<1, Int> = reduce_sum(int::<1>([u64::MAX, 1, 1]), &[0]);
        same(most, [1u64]);
        same(pow_int_int::<1>(int([3i64, 2]), int([41i64, 63])), [3i64.wrapping_pow(41), i64::MIN]);
    }

    #[test]
    fn numbers_and_single_elements_broadcast() {
        if !has(DType::I64) {
            return;
        }
        let x = || int::<2>([[i64::MAX, 2], [3, i64::MIN]]);
        same(add_int_scalar(x(), 1), [[i64::MIN, 3], [4, i64::MIN + 1]]);
        same(sub_int_scalar(x(), 1), [[i64::MAX - 1, 1], [2, i64::MAX]]);
        same(mul_int_scalar(x(), 2), [[-2, 4], [6, 0i64]]);
        let one = || int::<2>([[1i64]]);
        same(sub_int(one(), x()), [[-(i64::MAX - 1), -1], [-2, i64::MIN + 1]]);
        same(add_int(one(), x()), [[i64::MIN, 3], [4, i64::MIN + 1]]);
        same(add_int(int([[1i64], [2]]), x()), [[i64::MIN, 3], [5, i64::MIN + 2]]);
        same(mul_int(x().transpose(), x()), [[1i64, 6], [6, 0]]);
        same(add_int_scalar(int::<1>([u64::MAX]), 1), [0u64]);
    }
}
