//! ReduceSum and related operators, over any axes.
//!
//! `O` is `D` if the axes are kept with size 1, otherwise `D` less their number, at least 1. Axes are in ascending order.

use burn::tensor::{
    DType, Element, FloatDType, Int, Tensor,
    kind::{Basic, Kind, Ordered},
};

use crate::shape::WithShape;
use crate::{
    backend::call,
    dtype::lowered,
    elementwise::{
        cast::float_to_int,
        elementary::{exp, log},
        wrapping::times,
    },
    ensure,
    kind::AnyKind,
    reduce::{
        mean,
        sum::{mean_dim, sum_dim},
    },
    shape::{expand::to_shape, reshape},
    widen::widened,
};

/// ReduceSum; 0 over no elements.
pub fn reduce_sum<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axes: &[usize],
) -> Tensor<O, K> {
    if is_empty(&x) { constant(&x, axes, 0i64) } else { fold(x, axes, ReduceOp::Sum) }
}

/// ReduceProd; 1 over no elements.
pub fn reduce_prod<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axes: &[usize],
) -> Tensor<O, K> {
    if is_empty(&x) { constant(&x, axes, 1i64) } else { fold(x, axes, ReduceOp::Prod) }
}

/// ReduceMean. The mean of integers is exact, however large their sum, and truncated toward zero. Over no
/// elements, which ONNX leaves undefined, it is 0 as in ONNX Runtime.
pub fn reduce_mean<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axes: &[usize],
) -> Tensor<O, K> {
    if is_empty(&x) {
        return constant(&x, axes, 0i64);
    }
    if K::KIND == Kind::Float {
        return fold(x, axes, ReduceOp::Mean);
    }
    let x = Tensor::<D, Int>::from_dispatch(x.into_dispatch());
    let mean: Tensor<O, Int> = mean::of_integers(x, axes);
    Tensor::from_dispatch(mean.into_dispatch())
}

/// ReduceMax, for booleans "or"; NaN if any element is. Over no elements, the least value of the dtype.
pub fn reduce_max<const D: usize, const O: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axes: &[usize],
) -> Tensor<O, K> {
    let x = K::into_number(x);
    K::from_number(if is_empty(&x) { bound(&x, axes, false) } else { fold(x, axes, ReduceOp::Max) })
}

/// ReduceMin, for booleans "and"; NaN if any element is. Over no elements, the greatest value of the dtype.
pub fn reduce_min<const D: usize, const O: usize, K: AnyKind>(
    x: Tensor<D, K>,
    axes: &[usize],
) -> Tensor<O, K> {
    let x = K::into_number(x);
    K::from_number(if is_empty(&x) { bound(&x, axes, true) } else { fold(x, axes, ReduceOp::Min) })
}

/// ReduceL1, the sum of absolute values.
pub fn reduce_l1<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axes: &[usize],
) -> Tensor<O, K> {
    reduce_sum(x.abs(), axes)
}

/// ReduceSumSquare.
pub fn reduce_sum_square<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axes: &[usize],
) -> Tensor<O, K> {
    reduce_sum(times(x.clone(), x), axes)
}

/// ReduceL2, the root of the sum of squares.
pub fn reduce_l2<const D: usize, const O: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<O> {
    let dtype: FloatDType = x.dtype().into();
    reduce_sum_square(widened(x), axes).sqrt().cast(dtype)
}

/// ReduceLogSum.
pub fn reduce_log_sum<const D: usize, const O: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<O> {
    let dtype: FloatDType = x.dtype().into();
    log(reduce_sum(widened(x), axes)).cast(dtype)
}

/// ReduceLogSumExp, with exponentials relative to the greatest element.
pub fn reduce_log_sum_exp<const D: usize, const O: usize>(x: Tensor<D>, axes: &[usize]) -> Tensor<O> {
    let dtype: FloatDType = x.dtype().into();
    let x = widened(x);
    let shape = result_dims(x.dims(), axes);
    let greatest: Tensor<D> = reduce_max(x.clone(), axes);
    // Relative to infinity, all exponentials would be NaN.
    let infinite = greatest.clone().is_inf();
    let greatest = greatest.mask_fill(infinite, 0.0);
    let sum: Tensor<D> = reduce_sum(exp(x.sub(greatest.clone())), axes);
    reshape(log(sum).add(greatest), shape).cast(dtype)
}

/// Reduces integers as floats, as required by ReduceL2, ReduceLogSum and ReduceLogSumExp: `reduce_int(x, &[1], reduce_l2)`.
pub fn reduce_int<const D: usize, const O: usize>(
    x: Tensor<D, Int>,
    axes: &[usize],
    reduction: fn(Tensor<D>, &[usize]) -> Tensor<O>,
) -> Tensor<O, Int> {
    let dtype = x.dtype();
    let wide: FloatDType = lowered(&x.device(), DType::F64).into();
    float_to_int(reduction(x.cast(wide), axes), dtype)
}

fn is_empty<const D: usize, K: Basic>(x: &Tensor<D, K>) -> bool {
    x.dims().contains(&0)
}

#[derive(Clone, Copy)]
enum ReduceOp {
    Sum,
    Prod,
    Mean,
    Max,
    Min,
}

impl ReduceOp {
    fn run<const D: usize, K: Ordered>(self, x: Tensor<D, K>, axis: usize) -> Tensor<D, K> {
        match self {
            ReduceOp::Sum | ReduceOp::Mean if K::KIND == Kind::Float => {
                let x = Tensor::<D>::from_dispatch(x.into_dispatch());
                let y = if matches!(self, ReduceOp::Sum) { sum_dim(x, axis) } else { mean_dim(x, axis) };
                Tensor::from_dispatch(y.into_dispatch())
            }
            ReduceOp::Sum | ReduceOp::Prod if K::KIND == Kind::Int => {
                let product = matches!(self, ReduceOp::Prod);
                Tensor::from_dispatch(call!(wrapping_fold(x; axis, product)))
            }
            ReduceOp::Sum => x.sum_dim(axis),
            ReduceOp::Prod => x.prod_dim(axis),
            ReduceOp::Mean => x.mean_dim(axis),
            ReduceOp::Max => x.max_dim(axis),
            ReduceOp::Min => x.min_dim(axis),
        }
    }
}

/// Reduces each run of adjacent axes at once, from the last ones on.
fn fold<const D: usize, const O: usize, K: Ordered>(
    x: Tensor<D, K>,
    axes: &[usize],
    step: ReduceOp,
) -> Tensor<O, K> {
    let mut dims = x.dims();
    let shape = result_dims(dims, axes);
    // Without a reshape, which copies permuted tensors.
    if let [axis] = *axes {
        return step.run(x, axis).with_shape(shape);
    }
    let mut x: Tensor<1, K> = x.with_shape([dims.iter().product::<usize>()]);
    for run in axes.chunk_by(|a, b| a + 1 == *b).rev() {
        let (first, end) = (run[0], run[0] + run.len());
        let before: usize = dims[..first].iter().product();
        let count: usize = dims[first..end].iter().product();
        let after: usize = dims[end..].iter().product();
        let kept = [before * after];
        dims[first..end].fill(1);
        x = match (count, after) {
            (1, _) => x,
            // Burn is fastest along the last axis.
            (_, 1) => step.run(x.with_shape([before, count]), 1).with_shape(kept),
            _ => step.run(x.with_shape([before, count, after]), 1).with_shape(kept),
        };
    }
    x.with_shape(shape)
}

fn result_dims<const D: usize, const O: usize>(dims: [usize; D], axes: &[usize]) -> [usize; O] {
    let rank = if O == D { D } else { (D - axes.len()).max(1) };
    ensure!(O == rank, "axes {axes:?} of shape {dims:?} produce rank {rank}, expected rank {O}");
    let mut kept = (0..D)
        .filter(|axis| O == D || !axes.contains(axis))
        .map(|axis| if axes.contains(&axis) { 1 } else { dims[axis] });
    core::array::from_fn(|_| kept.next().unwrap_or(1))
}

fn constant<const D: usize, const O: usize, K: Basic, E: Element>(
    x: &Tensor<D, K>,
    axes: &[usize],
    value: E,
) -> Tensor<O, K> {
    let shape: [usize; O] = result_dims(x.dims(), axes);
    // Flex fills u64 from an i64.
    let one = Tensor::<1, K>::from_data([value], (&x.device(), x.dtype()));
    to_shape(one.with_shape([1; O]), shape)
}

/// Returns the greatest or least value of the dtype.
fn bound<const D: usize, const O: usize, K: Basic>(
    x: &Tensor<D, K>,
    axes: &[usize],
    greatest: bool,
) -> Tensor<O, K> {
    let (least, most) = match x.dtype() {
        DType::I64 => (i64::MIN, i64::MAX as u64),
        DType::I32 => (i32::MIN.into(), i32::MAX as u64),
        DType::I16 => (i16::MIN.into(), i16::MAX as u64),
        DType::I8 => (i8::MIN.into(), i8::MAX as u64),
        DType::U64 => (0, u64::MAX),
        DType::U32 => (0, u32::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        _ if greatest => return constant(x, axes, f64::INFINITY),
        _ => return constant(x, axes, f64::NEG_INFINITY),
    };
    if greatest { constant(x, axes, most) } else { constant(x, axes, least) }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Bool, TensorData};
    use half::f16;

    use super::*;
    use crate::testing::{bool, float, int, near, same};

    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;

    fn numbers() -> Tensor<3, Int> {
        int([[[1i64, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]])
    }

    #[test]
    fn axes_stay_or_vanish_by_the_rank_of_the_result() {
        let kept: Tensor<3, Int> = reduce_sum(numbers(), &[1]);
        same(kept, [[[4i64, 6]], [[12, 14]], [[20, 22]]]);
        let gone: Tensor<2, Int> = reduce_sum(numbers(), &[1]);
        same(gone, [[4i64, 6], [12, 14], [20, 22]]);
        let ends: Tensor<1, Int> = reduce_sum(numbers(), &[0, 2]);
        same(ends, [33i64, 45]);
        let first: Tensor<1, Int> = reduce_sum(numbers(), &[0, 1]);
        same(first, [36i64, 42]);
        let all: Tensor<1, Int> = reduce_sum(numbers(), &[0, 1, 2]);
        same(all, [78i64]);
        let all: Tensor<3, Int> = reduce_prod(numbers(), &[0, 1, 2]);
        same(all, [[[479_001_600i64]]]);
        let none: Tensor<3, Int> = reduce_sum(numbers(), &[]);
        same(none, numbers().into_data());
    }

    #[test]
    fn a_permuted_input_is_reduced_by_its_own_axes() {
        let x = numbers().permute([2, 0, 1]);
        let y: Tensor<2, Int> = reduce_max(x.clone(), &[1]);
        same(y, [[9i64, 11], [10, 12]]);
        let y: Tensor<2, Int> = reduce_min(x, &[2]);
        same(y, [[1i64, 5, 9], [2, 6, 10]]);
    }

    #[test]
    fn means_of_integers_truncate() {
        let x = int::<2>([[-7i32, 2, 2], [1, 1, 3]]);
        let y: Tensor<1, Int> = reduce_mean(x, &[1]);
        same(y, [-1i32, 1]);
        let x = int::<3>([[[-1i64, 0], [-1, 0]], [[-1, 0], [-1, -3]]]);
        let y: Tensor<1, Int> = reduce_mean(x, &[0, 2]);
        same(y, [0i64, -1]);
    }

    #[test]
    fn half_precision_is_summed_in_single_precision() {
        let x = Tensor::<1>::full([3000], 100.0, (&Default::default(), DType::F16));
        let mean: Tensor<1> = reduce_mean(x, &[0]);
        same(mean, [f16::from_f32(100.0)]);
        let x = float::<1>([f16::from_f32(200.0); 3]);
        let norm: Tensor<1> = reduce_l2(x, &[0]);
        same(norm, [f16::from_f32(346.5)]);
    }

    #[test]
    fn nan_is_the_greatest_and_the_least() {
        let x = float::<2>([[1.0, NAN, 3.0], [3.0, 2.0, 1.0]]);
        let y: Tensor<1> = reduce_max(x.clone(), &[1]);
        same(y, [NAN, 3.0]);
        let y: Tensor<1> = reduce_min(x, &[0]);
        same(y, [1.0, NAN, 1.0]);
    }

    #[test]
    fn booleans_are_joined() {
        let x = bool::<2>([[true, false], [false, false], [true, true]]);
        let y: Tensor<1, Bool> = reduce_max(x.clone(), &[1]);
        same(y, [true, false, true]);
        let y: Tensor<1, Bool> = reduce_min(x, &[1]);
        same(y, [false, false, true]);
    }

    #[test]
    fn norms_and_logarithms() {
        let x = || float::<2>([[3f32, -4.0], [1.0, 2.0]]);
        let y: Tensor<1> = reduce_l1(x(), &[1]);
        same(y, [7f32, 3.0]);
        let y: Tensor<1> = reduce_l2(x(), &[1]);
        same(y, [5f32, 5f32.sqrt()]);
        let y: Tensor<1> = reduce_sum_square(x(), &[0]);
        same(y, [10f32, 20.0]);
        let y: Tensor<2> = reduce_log_sum(x(), &[0]);
        near(y, [[4f32.ln(), NAN]], 1e-6);
        let ints = int::<2>([[-7i32, 2, 2], [1, 1, 3]]);
        let y: Tensor<1, Int> = reduce_int(ints.clone(), &[1], reduce_l2);
        same(y, [7i32, 3]);
        let y: Tensor<1, Int> = reduce_int(ints.abs(), &[1], reduce_log_sum_exp);
        same(y, [7i32, 3]);
    }

    #[test]
    fn exponentials_neither_overflow_nor_lose_infinities() {
        let x = float::<2>([[-INF, -INF], [INF, 1.0], [1000.0, 1000.0], [NAN, 1.0]]);
        let y: Tensor<1> = reduce_log_sum_exp(x, &[1]);
        near(y, [-INF, INF, 1000.6931, NAN], 1e-6);
    }

    #[test]
    fn nothing_reduces_to_the_neutral_element() {
        let x = || float::<3>(TensorData::new(Vec::<f32>::new(), [2, 0, 1]));
        let check = |y: Tensor<2>, value: f32| same(y, [[value], [value]]);
        check(reduce_sum(x(), &[1]), 0.0);
        check(reduce_prod(x(), &[1]), 1.0);
        check(reduce_max(x(), &[1]), -INF);
        check(reduce_min(x(), &[1]), INF);
        check(reduce_mean(x(), &[1]), 0.0);
        check(reduce_l2(x(), &[1]), 0.0);
        check(reduce_log_sum(x(), &[1]), -INF);
        check(reduce_log_sum_exp(x(), &[1]), -INF);
        let y: Tensor<2> = reduce_max(x(), &[0]);
        same(y, TensorData::new(Vec::<f32>::new(), [0, 1]));
        let y: Tensor<1, Int> = reduce_min(int::<1>(TensorData::new(Vec::<u64>::new(), [0])), &[0]);
        same(y, [u64::MAX]);
        let y: Tensor<1, Bool> = reduce_min(bool::<1>(TensorData::new(Vec::<bool>::new(), [0])), &[0]);
        same(y, [true]);
    }
}
