//! Classification losses.

use burn::tensor::{Int, Tensor};

use crate::shape::WithShape;
use crate::{
    attempt::nonnegative,
    index::gather::gather_elements,
    normalize::softmax::log_softmax,
    reduce::sum::sum_dim,
    shape::{empty, reshape},
    spec::{indices::Axis, operand, shaped},
    widen::widened,
};

/// Reduction of the losses of all samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The losses are not reduced.
    None,
    Sum,
    /// Sum of the losses divided by the sum of their weights; ignored samples have weight 0.
    Mean,
}

/// NegativeLogLikelihoodLoss: the negated element of `[batch, classes, positions..]` at the class in
/// `target`, times the weight of the class.
///
/// Samples of the class `ignored`, which need not be a valid class, have weight 0. `O` is `T` without a reduction, otherwise
/// 1.
///
/// # Panics
/// If another class is not an index of axis 1, or shapes do not match.
pub fn negative_log_likelihood<const D: usize, const T: usize, const O: usize>(
    x: Tensor<D>,
    target: Tensor<T, Int>,
    weight: Option<Tensor<1>>,
    ignored: Option<i64>,
    reduction: Reduction,
) -> Tensor<O> {
    assert_eq!(T + 1, D, "rank of the targets");
    let (dtype, dims) = (x.dtype(), target.dims());
    let scores = x.dims();
    let wanted: [usize; T] = core::array::from_fn(|axis| scores[if axis == 0 { 0 } else { axis + 1 }]);
    shaped(operand("target", &dims), &wanted, operand("tensor of scores", &scores));
    if let Some(weight) = &weight {
        let weight = weight.dims();
        shaped(operand("weight", &weight), &scores[1..2], operand("tensor of scores", &scores));
    }
    let [classes, positions] = [x.dims()[1], dims[1..].iter().product()];
    let x = reshape(widened(x), [dims[0], classes, positions]);
    let target = reshape(target, [dims[0], positions]);
    let losses = losses(x, target, weight.map(widened), ignored, reduction);
    let shape = match reduction {
        Reduction::None => core::array::from_fn(|axis| dims[axis]),
        _ => [1; O],
    };
    reshape(losses, shape).cast(dtype)
}

/// SoftmaxCrossEntropyLoss: [`negative_log_likelihood`] of the log-softmax over the classes, which is the second result.
pub fn softmax_cross_entropy<const D: usize, const T: usize, const O: usize>(
    scores: Tensor<D>,
    target: Tensor<T, Int>,
    weight: Option<Tensor<1>>,
    ignored: Option<i64>,
    reduction: Reduction,
) -> (Tensor<O>, Tensor<D>) {
    let (dtype, dims) = (scores.dtype(), scores.dims());
    let scores = widened(scores);
    let logarithms = if dims.contains(&0) { empty(&scores, dims) } else { log_softmax(scores, 1) };
    let weight = weight.map(widened);
    let loss = negative_log_likelihood(logarithms.clone(), target, weight, ignored, reduction);
    (loss.cast(dtype), logarithms.cast(dtype))
}

/// Returns the losses of `[batch, classes, positions]` as `[batch, positions]`, or `[1, 1]` if they are reduced.
fn losses(
    x: Tensor<3>,
    target: Tensor<2, Int>,
    weight: Option<Tensor<1>>,
    ignored: Option<i64>,
    reduction: Reduction,
) -> Tensor<2> {
    let dims = target.dims();
    let left_out = ignored.map(|class| target.clone().equal_scalar(class));
    let target = match left_out.clone() {
        Some(left_out) => target.mask_fill(left_out, 0),
        None => target,
    };
    // A negative class does not count from the end.
    let target = nonnegative(target, Axis { number: 1, size: x.dims()[1] });
    let weight = weight.map(|weight| {
        let count = dims[0] * dims[1];
        let weights = gather_elements(weight, 0, reshape(target.clone(), [count]));
        reshape(weights, dims)
    });
    let weight = match (weight, left_out.clone()) {
        (Some(weight), Some(left_out)) => Some(weight.mask_fill(left_out, 0)),
        (None, Some(left_out)) => {
            let kept = left_out.bool_not();
            Some(kept.cast(burn::tensor::FloatDType::from(x.dtype())))
        }
        (weight, None) => weight,
    };
    let target = reshape(target, [dims[0], 1, dims[1]]);
    let mut losses = reshape(gather_elements(x, 1, target), dims).neg();
    if let Some(weight) = weight.clone() {
        losses = losses * weight;
    }
    if let Some(left_out) = left_out {
        losses = losses.mask_fill(left_out, 0);
    }
    let sum = |x: Tensor<2>| {
        if dims.contains(&0) {
            Tensor::zeros([1, 1], (&x.device(), x.dtype()))
        } else {
            sum_dim(x.with_shape([1, dims[0] * dims[1]]), 1)
        }
    };
    match (reduction, weight) {
        (Reduction::None, _) => losses,
        (Reduction::Sum, _) => sum(losses),
        (Reduction::Mean, Some(weight)) => sum(losses) / sum(weight),
        (Reduction::Mean, None) => sum(losses).div_scalar((dims[0] * dims[1]) as f64),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, indices, int, near, noise, on_cpu, same};

    const REDUCTIONS: [Reduction; 2] = [Reduction::Sum, Reduction::Mean];

    #[test]
    fn losses_agree_with_the_definition() {
        let dims = [2, 4, 3, 2];
        let classes: Vec<i64> = (0..12).map(|at| at * 7 % 5 - 1).collect();
        let weights = [0.5f32, 2.0, 0.25, 1.5];
        for weighted in [false, true] {
            let (mut expected, mut total) = (Vec::new(), 0.0);
            let x: Vec<f32> = noise(dims, 3).into_data().try_to_vec().unwrap();
            for ([n, h, w], &class) in indices([2, 3, 2]).zip(&classes) {
                let weight = match (class, weighted) {
                    (-1, _) => 0.0,
                    (class, true) => weights[class as usize],
                    (_, false) => 1.0,
                };
                let class = class.max(0) as usize;
                expected.push(-x[((n * 4 + class) * 3 + h) * 2 + w] * weight);
                total += weight;
            }
            let sum: f32 = expected.iter().sum();
            let run = || {
                let target = int::<3>(TensorData::new(classes.clone(), [2, 3, 2]));
                (target, weighted.then(|| float::<1>(weights)), Some(-1))
            };
            let (target, weight, ignored) = run();
            let x = noise([3, 2, 4, 2], 3).with_shape(dims);
            let none = negative_log_likelihood(x.clone(), target, weight, ignored, Reduction::None);
            near::<3, _>(none, TensorData::new(expected, [2, 3, 2]), 1e-6);
            for (reduction, expected) in REDUCTIONS.into_iter().zip([sum, sum / total]) {
                let (target, weight, ignored) = run();
                let loss = negative_log_likelihood::<_, _, 1>(x.clone(), target, weight, ignored, reduction);
                near(loss, [expected], 1e-5);
            }
        }
    }

    #[test]
    fn half_precision_is_summed_in_single() {
        let x = noise([300, 3], 5).cast(DType::F16);
        let target = int::<1>(TensorData::new(vec![1i32; 300], [300]));
        let half: Tensor<1> = negative_log_likelihood(x.clone(), target.clone(), None, None, Reduction::Sum);
        let whole: Tensor<1> =
            negative_log_likelihood(x.cast(DType::F32), target, None, None, Reduction::Sum);
        same(half, whole.cast(DType::F16).into_data());
    }

    #[test]
    fn infinite_losses_that_are_ignored_count_nothing() {
        let x = float::<2>([[f32::INFINITY, 1.0], [2.0, 3.0]]);
        let target = int::<1>([9i64, 1]);
        let loss: Tensor<1> = negative_log_likelihood(x, target, None, Some(9), Reduction::Mean);
        same(loss, [-3f32]);
    }

    #[test]
    fn classes_are_indices() {
        let run = |class: i64, ignored, weight: Option<Tensor<1>>| {
            let target = int::<1>([1, class]);
            let (loss, _) =
                softmax_cross_entropy::<2, 1, 1>(noise([2, 3], 1), target, weight, ignored, Reduction::Mean);
            loss.into_data()
        };
        for class in [-1, 3, i64::MIN, i64::MAX] {
            let reason = format!("index {class} is out of bounds for axis 1 of size 3");
            for weight in [None, Some(float::<1>([1f32, 2.0, 3.0]))] {
                for ignored in [None, Some(0)] {
                    let loss = attempt(|| run(class, ignored, weight.clone()));
                    assert_eq!(loss.map_err(|fault| fault.reason).err().as_ref(), Some(&reason));
                }
                assert!(attempt(|| run(class, Some(class), weight.clone())).is_ok());
            }
        }
    }

    #[test]
    fn no_samples_have_no_mean() {
        if !on_cpu("shaders may assume that nothing is NaN or infinite") {
            return;
        }
        for (reduction, expected) in REDUCTIONS.into_iter().zip([0.0, f32::NAN]) {
            let x = float::<2>(TensorData::new(Vec::<f32>::new(), [0, 3]));
            let target = int::<1>(TensorData::new(Vec::<i64>::new(), [0]));
            let (loss, logarithms) = softmax_cross_entropy::<_, _, 1>(x, target, None, None, reduction);
            same(loss, [expected]);
            assert_eq!(logarithms.dims(), [0, 3]);
        }
    }

    #[test]
    fn equal_scores_are_equally_likely() {
        let x = float::<2>([[5f64, 5.0, 5.0, 5.0]]);
        let (loss, logarithms) =
            softmax_cross_entropy::<2, 1, 1>(x, int([2i32]), None, None, Reduction::None);
        near(loss, [4f64.ln()], 1e-12);
        near(logarithms, [[-(4f64.ln()); 4]], 1e-12);
    }
}
