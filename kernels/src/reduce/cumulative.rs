//! CumSum and CumProd.

use alloc::vec;
use burn::tensor::{
    Tensor,
    kind::{Kind, Numeric},
};

use crate::backend::{Any, call, switches};
use crate::elementwise::wrapping::wrapping;
use crate::spec::arithmetic::Arithmetic;
pub use crate::spec::scan::Scan;

/// CumSum; `exclusive` excludes each element from its own sum, `reverse` starts at the end.
pub fn cumsum<const D: usize, K: Numeric>(
    x: Tensor<D, K>,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Tensor<D, K> {
    let product = false;
    scan(x, Scan { axis, exclusive, reverse, product })
}

/// CumProd; `exclusive` excludes each element from its own product, `reverse` starts at the end.
pub fn cumprod<const D: usize, K: Numeric>(
    x: Tensor<D, K>,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Tensor<D, K> {
    let product = true;
    scan(x, Scan { axis, exclusive, reverse, product })
}

fn scan<const D: usize, K: Numeric>(x: Tensor<D, K>, scan: Scan) -> Tensor<D, K> {
    if x.dims().contains(&0) {
        return x;
    }
    let operand = Any::of(x.clone());
    match call!(scan(operand; scan)).tensor() {
        Some(y) => Tensor::from_dispatch(y),
        None => passes(x, scan),
    }
}

/// Scans by Burn's own, which are forward and inclusive only, and do not wrap in all builds.
pub(crate) fn passes<const D: usize, K: Numeric>(x: Tensor<D, K>, scan: Scan) -> Tensor<D, K> {
    let Scan { axis, reverse, .. } = scan;
    let size = x.dims()[axis];
    let mut x = if reverse { x.flip([axis]) } else { x };
    if scan.exclusive {
        let first = x.clone().narrow(axis, 0, 1);
        let first = first.full_like(i64::from(scan.product));
        x = match size {
            1 => first,
            _ => Tensor::cat(vec![first, x.narrow(axis, 0, size - 1)], axis),
        };
    }
    let y = match scan.product {
        _ if K::KIND == Kind::Int && switches::is_plain() => doubled(x, axis, scan.product),
        true => x.cumprod(axis),
        false => x.cumsum(axis),
    };
    if reverse { y.flip([axis]) } else { y }
}

/// Scans integers in steps that double the number of terms.
fn doubled<const D: usize, K: Numeric>(mut x: Tensor<D, K>, axis: usize, product: bool) -> Tensor<D, K> {
    let (size, mut step) = (x.dims()[axis], 1);
    while step < size {
        let first = x.clone().narrow(axis, 0, step).full_like(i64::from(product));
        let before = Tensor::cat(vec![first, x.clone().narrow(axis, 0, size - step)], axis);
        x = wrapping(x, before, if product { Arithmetic::Product } else { Arithmetic::Sum });
        step *= 2;
    }
    x
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use half::f16;

    use super::*;
    use crate::testing::{float, has, int, same};

    #[test]
    fn sums_run_both_ways_with_and_without_the_element() {
        let x = || int::<1>([1i64, 2, 3]);
        same(cumsum(x(), 0, false, false), [1i64, 3, 6]);
        same(cumsum(x(), 0, true, false), [0i64, 1, 3]);
        same(cumsum(x(), 0, false, true), [6i64, 5, 3]);
        same(cumsum(x(), 0, true, true), [5i64, 3, 0]);
    }

    #[test]
    fn an_excluded_infinity_leaves_no_trace() {
        let x = float::<2>([[1f32, f32::INFINITY], [2.0, 4.0]]);
        same(cumsum(x.clone(), 1, true, false), [[0f32, 1.0], [0.0, 2.0]]);
        same(cumsum(x, 0, true, true), [[2f32, 4.0], [0.0, 0.0]]);
    }

    #[test]
    fn integers_wrap() {
        if has(DType::I8) {
            same(cumsum(int::<2>([[100i8, 100], [100, -1]]), 0, false, false), [[100i8, 100], [-56, 99]]);
        }
        if has(DType::I64) {
            same(cumsum(int::<1>([1, 2, i64::MAX]), 0, false, true), [i64::MIN + 2, i64::MIN + 1, i64::MAX]);
        }
        if has(DType::U8) {
            same(cumprod(int::<1>([200u8, 2, 2, 1]), 0, true, false), [1u8, 200, 144, 32]);
        }
    }

    #[test]
    fn products_start_from_one() {
        let x = || int::<2>([[2i32, 3, 4]]);
        same(cumprod(x(), 1, false, false), [[2i32, 6, 24]]);
        same(cumprod(x(), 1, true, true), [[12i32, 4, 1]]);
        same(cumprod(x(), 0, true, false), [[1i32, 1, 1]]);
    }

    #[test]
    fn half_precision_is_summed_in_single_precision() {
        let x = float::<1>([2048.0, 1.0, 1.0].map(f16::from_f32));
        let expected = [2048.0, 2049.0, 2050.0].map(f16::from_f32);
        same(cumsum(x, 0, false, false), expected);
    }
}
