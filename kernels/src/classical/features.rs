//! Operators of `ai.onnx.ml` on rows of features.

use alloc::vec;
use burn::tensor::{Int, Tensor, kind::Basic};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::reduce::sum::sum_dim;
use crate::{
    elementwise::cast::{bool_to_float, bool_to_int},
    index::gather::gather,
    kind::AnyKind,
    shape::{expand::to_shape, lift, reshape},
    spec::{operand, row_or_scalar},
};
use burn::tensor::DType;

/// Norm that rows are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    Max,
    L1,
    L2,
}

/// Scaler: `(x - offset) * scale`, with one value or one for each feature along the last axis.
pub fn scale<const D: usize>(x: Tensor<D>, offset: Tensor<1>, scale: Tensor<1>) -> Tensor<D> {
    let shape = x.dims();
    ensure_row("offset", &offset, &shape);
    ensure_row("scale", &scale, &shape);
    let along = |row: Tensor<1>| to_shape(lift(row), shape);
    (x - along(offset)) * along(scale)
}

/// Fails unless there is one value, or one for each feature along the last axis.
fn ensure_row<K: Basic>(name: &str, row: &Tensor<1, K>, input: &[usize]) {
    let features = input.last().copied().unwrap_or(1);
    row_or_scalar(operand(name, &row.dims()), features, operand("input", input));
}

/// Normalizer: divides each row by its norm; rows whose norm is 0 are unchanged.
pub fn normalize<const D: usize>(x: Tensor<D>, norm: Norm) -> Tensor<D> {
    let shape = x.dims();
    if shape.contains(&0) {
        return x;
    }
    let total = match norm {
        Norm::Max => x.clone().max_dim(D - 1),
        Norm::L1 => sum_dim(x.clone().abs(), D - 1),
        Norm::L2 => sum_dim(x.clone() * x.clone(), D - 1),
    };
    let total = to_shape(total, shape);
    let zero = total.clone().equal_scalar(0);
    let divided = match norm {
        Norm::L2 => (x.clone() * x.clone() / total).sqrt() * x.clone().sign(),
        _ => x.clone() / total,
    };
    divided.mask_where(zero, x)
}

/// Imputer: replaces elements equal to `replaced` by `values`, one or one for each feature along the last axis.
pub fn impute<const D: usize>(x: Tensor<D>, replaced: f64, values: Tensor<1>) -> Tensor<D> {
    let found = if replaced.is_nan() { x.clone().is_nan() } else { x.clone().equal_scalar(replaced) };
    let shape = x.dims();
    ensure_row("tensor of values", &values, &shape);
    x.mask_where(found, to_shape(lift(values), shape))
}

/// [`impute`] for integers.
pub fn impute_int<const D: usize>(
    x: Tensor<D, Int>,
    replaced: i64,
    values: Tensor<1, Int>,
) -> Tensor<D, Int> {
    let (found, shape) = (x.clone().equal_scalar(replaced), x.dims());
    ensure_row("tensor of values", &values, &shape);
    x.mask_where(found, to_shape(lift(values), shape))
}

/// Binarizer: 1 where `x` is greater than `threshold`, otherwise 0.
pub fn binarize<const D: usize>(x: Tensor<D>, threshold: f64) -> Tensor<D> {
    let dtype = x.dtype();
    bool_to_float(x.greater_scalar(threshold), dtype)
}

/// [`binarize`] for integers. The threshold need not be a value of their type.
pub fn binarize_int<const D: usize>(x: Tensor<D, Int>, threshold: f64) -> Tensor<D, Int> {
    let dtype = x.dtype();
    let (least, most) = match dtype {
        DType::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    let first = (threshold.floor() as i128).saturating_add(1);
    if threshold.is_nan() || first > most {
        return x.zeros_like();
    }
    bool_to_int(x.greater_equal_scalar(first.max(least) as i64), dtype)
}

/// FeatureVectorizer: flattens all axes after the first into columns, truncated or padded with zeros to
/// `count`. A vector is a row.
pub fn columns<const D: usize>(x: Tensor<D>, count: usize) -> Tensor<2> {
    let dims = x.dims();
    let rows = if D == 1 { 1 } else { dims[0] };
    let width = if D == 1 { dims[0] } else { dims[1..].iter().product() };
    let x: Tensor<2> = reshape(x, [rows, width]);
    let like = (&x.device(), x.dtype());
    match width {
        _ if width == count => x,
        0 => Tensor::zeros([rows, count], like),
        _ if count == 0 => Tensor::empty([rows, 0], like),
        _ if width > count => x.narrow(1, 0, count),
        _ => Tensor::cat(vec![x, Tensor::zeros([rows, count - width], like)], 1),
    }
}

/// OneHotEncoder: a 1 at the index of the category that equals the element, if any. `O` is `D + 1`, or 1 for
/// an element of rank 0.
pub fn one_hot<const D: usize, const O: usize>(x: Tensor<D, Int>, categories: Tensor<1, Int>) -> Tensor<O> {
    let (dims, count) = (x.dims(), categories.dims()[0]);
    let mut shape = [1; O];
    let outer = O - 1;
    shape[..outer].copy_from_slice(&dims[..outer]);
    let x: Tensor<O, Int> = reshape(x, shape);
    shape[outer] = count;
    let hot = to_shape(x, shape).equal(to_shape(lift(categories), shape));
    bool_to_float(hot, DType::F32)
}

/// ArrayFeatureExtractor: the features at `indices` along the last axis. A vector is a row. `O` is `D`, at least 2.
pub fn extract<const D: usize, const I: usize, const O: usize, K: AnyKind + Basic>(
    x: Tensor<D, K>,
    indices: Tensor<I, Int>,
) -> Tensor<O, K> {
    let count = indices.shape().num_elements();
    let indices: Tensor<1, Int> = reshape(indices, [count]);
    gather(lift::<D, O, K>(x), O - 1, indices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::WithShape;
    use crate::testing::{float, int, near, same};

    #[test]
    fn features_are_scaled_each_or_all() {
        let x = float::<2>([[1.0f32, 2.0], [3.0, 4.0]]);
        let both = scale(x.clone(), float([1.0f32, 2.0]), float([2.0f32, 3.0]));
        same(both, [[0.0f32, 0.0], [4.0, 6.0]]);
        same(scale(x, float([1.0f32]), float([2.0f32])), [[0.0f32, 2.0], [4.0, 6.0]]);
    }

    #[test]
    fn rows_are_divided_by_their_norm() {
        let x = || float::<2>([[1.0f32, -2.0, 0.5], [0.0, 0.0, 0.0], [-1.0, -2.0, -4.0]]);
        let max = [[1.0f32, -2.0, 0.5], [0.0, 0.0, 0.0], [1.0, 2.0, 4.0]];
        same(normalize(x(), Norm::Max), max);
        let one = [[2.0 / 7.0, -4.0 / 7.0, 1.0 / 7.0], [0.0; 3], [-1.0 / 7.0, -2.0 / 7.0, -4.0 / 7.0f32]];
        near(normalize(x(), Norm::L1), one, 1e-6);
        let two = [
            [0.436_435_8f32, -0.872_871_6, 0.218_217_9],
            [0.0; 3],
            [-0.218_217_9, -0.436_435_8, -0.872_871_6],
        ];
        near(normalize(x(), Norm::L2), two, 1e-6);
        near(normalize(float::<1>([3.0f32, 4.0]), Norm::L2), [0.6f32, 0.8], 1e-6);
        assert_eq!(normalize(float::<2>([[0.0f32; 0]; 2]), Norm::Max).dims(), [2, 0]);
    }

    #[test]
    fn missing_values_are_replaced() {
        let x = float::<2>([[f32::NAN, 1.0], [0.0, f32::NAN]]);
        same(impute(x.clone(), f64::NAN, float([7.0f32, 8.0])), [[7.0f32, 1.0], [0.0, 8.0]]);
        same(impute(x, 1.0, float([9.0f32])), [[f32::NAN, 9.0], [0.0, f32::NAN]]);
        same(impute_int(int::<1>([0i64, 5]), 5, int([-1i64])), [0i64, -1]);
    }

    #[test]
    fn thresholds_may_be_beyond_the_type() {
        same(binarize(float::<1>([0.5f64, 0.25, f64::NAN]), 0.25), [1.0f64, 0.0, 0.0]);
        same(binarize_int(int::<1>([0i64, 1, -1]), 0.5), [0i64, 1, 0]);
        same(binarize_int(int::<1>([i32::MIN, 1]), -1e30), [1i32, 1]);
        same(binarize_int(int::<1>([i32::MAX, 1]), 1e30), [0i32, 0]);
        same(binarize_int(int::<1>([1i64 << 53 | 1]), (1i64 << 53) as f64), [1i64]);
    }

    #[test]
    fn columns_are_cut_off_or_filled() {
        let x = float::<2>([[1.0f32, 2.0], [3.0, 4.0]]);
        same(columns(x.clone(), 1), [[1.0f32], [3.0]]);
        same(columns(x.clone(), 3), [[1.0f32, 2.0, 0.0], [3.0, 4.0, 0.0]]);
        same(columns(x.with_shape([1, 2, 2]), 4), [[1.0f32, 2.0, 3.0, 4.0]]);
        same(columns(float::<1>([1.0f32, 2.0]), 2), [[1.0f32, 2.0]]);
    }

    #[test]
    fn categories_are_an_axis() {
        let hot = one_hot::<1, 2>(int([5i64, 9, 3]), int([3i64, 5]));
        same(hot, [[0.0f32, 1.0], [0.0, 0.0], [1.0, 0.0]]);
        same(one_hot::<1, 1>(int([3i64]), int([3i64, 5])), [1.0f32, 0.0]);
        assert_eq!(one_hot::<2, 3>(int([[0i64; 0]]), int([3i64])).dims(), [1, 0, 1]);
    }

    #[test]
    fn features_are_extracted() {
        let x = float::<2>([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        same(extract::<2, 1, 2, _>(x.clone(), int([2i64, 0])), [[3.0f32, 1.0], [6.0, 4.0]]);
        same(extract::<2, 2, 2, _>(x, int([[1i64]])), [[2.0f32], [5.0]]);
        same(extract::<1, 1, 2, _>(int([7i64, 8]), int([1i64])), [[8i64]]);
    }
}
