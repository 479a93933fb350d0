//! Post-transforms of the scores of classical models.

use alloc::{vec, vec::Vec};
use burn::tensor::{Tensor, TensorData};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::{
    elementwise::elementary::{exp, log, sigmoid},
    normalize::softmax,
    observe::waits,
    reduce::sum::sum_dim,
};

/// Post-transform of ONNX-ML, applied to the scores of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transform {
    #[default]
    None,
    Softmax,
    Logistic,
    /// Softmax that keeps scores of zero at zero.
    SoftmaxZero,
    /// Quantile function of the normal distribution.
    Probit,
}

/// Scores whose magnitude is less than this are zero to [`Transform::SoftmaxZero`].
const ZERO: f64 = 1e-7;

/// Constant of Winitzki's inverse error function.
const SHAPE: f32 = 0.147;

impl Transform {
    /// Transforms the scores of a row in place.
    pub fn apply(self, row: &mut [f64]) {
        match self {
            Transform::None => {}
            Transform::Softmax => softmax(row, |_| false),
            Transform::Logistic => row.iter_mut().for_each(|score| *score = logistic(*score)),
            Transform::SoftmaxZero => softmax(row, |score| score.abs() <= ZERO),
            Transform::Probit => row.iter_mut().for_each(|score| *score = probit(*score)),
        }
    }

    /// Returns the scores of two classes, given that of the second; `other` is the first one's, unless the
    /// transform determines it.
    ///
    /// As ONNX Runtime, except that it adds uninitialized memory to a quantile; here that is 0.
    pub fn pair(self, score: f64, other: f64) -> [f64; 2] {
        match self {
            Transform::Logistic => [logistic(-score), logistic(score)],
            Transform::Probit => [probit(score), 0.0],
            _ => [other, score],
        }
    }

    /// Returns the transform of a single score: only Probit applies, as in ONNX Runtime.
    pub fn of_one(self) -> Transform {
        match self {
            Transform::Probit => Transform::Probit,
            _ => Transform::None,
        }
    }
}

/// Transforms each row of a tensor. The host computes the rare transforms if it has the rows in memory.
pub fn transform(x: Tensor<2>, by: Transform) -> Tensor<2> {
    match by {
        _ if x.shape().num_elements() == 0 => x,
        Transform::None => x,
        Transform::Softmax => softmax::softmax(x, 1),
        Transform::Logistic => sigmoid(x),
        Transform::SoftmaxZero if waits(&x.device()) => softmax_but_zeros(x),
        Transform::Probit if waits(&x.device()) => quantile(x),
        Transform::SoftmaxZero | Transform::Probit => {
            let width = x.dims()[1];
            on_rows(x, width, |row, out| {
                out.copy_from_slice(row);
                by.apply(out);
            })
        }
    }
}

/// Returns the scores of two classes from a column with the second's, see [`Transform::pair`].
pub fn pairs(x: Tensor<2>, by: Transform) -> Tensor<2> {
    if waits(&x.device()) && x.dims()[0] > 0 {
        let other = x.clone().neg().add_scalar(1.0);
        return pair(x, other, by);
    }
    on_rows(x, 2, |row, out| {
        for &score in row {
            out.copy_from_slice(&by.pair(score, 1.0 - score));
        }
    })
}

/// [`Transform::pair`] for columns.
fn pair(score: Tensor<2>, other: Tensor<2>, by: Transform) -> Tensor<2> {
    let columns = match by {
        Transform::Logistic => vec![sigmoid(score.clone().neg()), sigmoid(score)],
        Transform::Probit => vec![quantile(score.clone()), score.zeros_like()],
        _ => vec![other, score],
    };
    Tensor::cat(columns, 1)
}

fn softmax_but_zeros(x: Tensor<2>) -> Tensor<2> {
    let highest = x.clone().max_dim(1);
    let zeros = x.clone().abs().lower_equal_elem(ZERO);
    let small = x.clone().mul(exp(highest.clone().neg()));
    let counted = exp(x.sub(highest)).mask_fill(zeros.clone(), 0.0);
    let sum = sum_dim(counted.clone(), 1);
    counted.mask_where(zeros, small).div(sum)
}

/// [`probit`] by primitives.
fn quantile(score: Tensor<2>) -> Tensor<2> {
    let x = score.mul_scalar(2.0).sub_scalar(1.0);
    let below = x.clone().neg().add_scalar(1.0);
    let log = log(below.mul(x.clone().add_scalar(1.0)));
    let half = log.clone().mul_scalar(0.5);
    let half = half.add_scalar(2.0 / (core::f32::consts::PI * SHAPE));
    let root = half.clone().mul(half.clone());
    let root = root.sub(log.mul_scalar(1.0 / SHAPE)).sqrt().sub(half).sqrt();
    let root = root.mul_scalar(core::f32::consts::SQRT_2);
    root.clone().mask_where(x.lower_elem(0.0), root.neg())
}

/// Computes `row(input, output)` for each row on the host, which has the rows in memory.
fn on_rows(x: Tensor<2>, width: usize, row: impl Fn(&[f64], &mut [f64])) -> Tensor<2> {
    let ([count, inputs], device, dtype) = (x.dims(), x.device(), x.dtype());
    let values: Vec<f64> = match count * inputs {
        0 => Vec::new(),
        _ => x.into_data().iter::<f64>().collect(),
    };
    let mut out = vec![0.0; count * width];
    let rows = values.chunks(inputs.max(1)).zip(out.chunks_mut(width.max(1)));
    rows.for_each(|(input, output)| row(input, output));
    let data = TensorData::new(out, [count, width]).convert_dtype(dtype);
    Tensor::from_data(data, (&device, dtype))
}

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Softmax that excludes zeros from the sum; they stay zeros.
fn softmax(row: &mut [f64], is_zero: impl Fn(f64) -> bool) {
    let highest = row.iter().copied().fold(f64::MIN, f64::max);
    let mut sum = 0.0;
    for score in row.iter_mut() {
        if is_zero(*score) {
            *score *= (-highest).exp();
        } else {
            *score = (*score - highest).exp();
            sum += *score;
        }
    }
    row.iter_mut().for_each(|score| *score /= sum);
}

/// Quantile by Winitzki's inverse error function, which ONNX specifies and which has three digits. Computed
/// in the precision of ONNX's scores, f32, which matters near one half.
fn probit(score: f64) -> f64 {
    let x = 2.0 * score as f32 - 1.0;
    let log = ((1.0 - x) * (1.0 + x)).ln();
    let half = 2.0 / (core::f32::consts::PI * SHAPE) + 0.5 * log;
    let root = ((half * half - 1.0 / SHAPE * log).sqrt() - half).sqrt();
    f64::from(core::f32::consts::SQRT_2 * if x < 0.0 { -root } else { root })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, near};

    fn apply<const N: usize>(transform: Transform, mut row: [f64; N]) -> [f64; N] {
        transform.apply(&mut row);
        row.map(|score| (score * 1e4).round() / 1e4)
    }

    #[test]
    fn softmax_sums_to_one_and_may_leave_zeros_out() {
        let row = [1.0, 0.0, 2.0];
        assert_eq!(apply(Transform::Softmax, row), [0.2447, 0.09, 0.6652]);
        assert_eq!(apply(Transform::SoftmaxZero, row), [0.2689, 0.0, 0.7311]);
        assert_eq!(apply(Transform::Softmax, [1000.0, 1000.0]), [0.5, 0.5]);
    }

    #[test]
    fn logistic_saturates() {
        let row = [-1000.0, 0.0, 0.7];
        assert_eq!(apply(Transform::Logistic, row), [0.0, 0.5, 0.6682]);
    }

    #[test]
    fn probit_is_the_normal_quantile() {
        assert_eq!(apply(Transform::Probit, [0.7, 0.2]), [0.5244, -0.8418]);
        assert_eq!(apply(Transform::Probit, [1.0, 0.0]), [f64::INFINITY, f64::NEG_INFINITY]);
        assert!(apply(Transform::Probit, [-0.1])[0].is_nan());
    }

    #[test]
    fn tensors_are_transformed_row_by_row() {
        let x = || float::<2>([[1f32, 0.0, 2.0], [0.5, 0.5, 0.5]]);
        let all = [Transform::None, Transform::Softmax, Transform::Logistic]
            .into_iter()
            .chain([Transform::SoftmaxZero, Transform::Probit]);
        for by in all {
            let row = |row: [f64; 3]| {
                let mut row = row;
                by.apply(&mut row);
                row.map(|score| score as f32)
            };
            let expected = [row([1.0, 0.0, 2.0]), row([0.5, 0.5, 0.5])];
            near(transform(x(), by), expected, 1e-6);
        }
    }

    #[test]
    fn a_column_becomes_two() {
        let x = || float::<2>([[0.25f32], [2.0]]);
        near(pairs(x(), Transform::Softmax), [[0.75f32, 0.25], [-1.0, 2.0]], 1e-6);
        let expected = [[0.4378f32, 0.5622], [0.1192, 0.8808]];
        near(pairs(x(), Transform::Logistic), expected, 1e-4);
        assert_eq!(pairs(float(TensorData::new(Vec::<f32>::new(), [0, 1])), Transform::None).dims(), [0, 2]);
    }
}
