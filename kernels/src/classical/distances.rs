//! Distances between rows, for nearest-neighbor and naive Bayes models.

use alloc::vec::Vec;
use burn::tensor::Tensor;

use crate::{
    backend::{Outcome, call},
    reduce::sum::sum_dim,
    shape::WithShape,
    sizes::elements,
    spec::{equal_axes, equal_shapes, operand},
};

/// Maximum number of differences in memory at once, unless those of one row exceed it.
const MAX_DIFFERENCES: usize = 1 << 20;

/// Returns the squared distances of each row of `a` from each row of `b`, `[rows of a, rows of b]`.
///
/// They are sums of squared differences. Expanding the square into matrix products would cancel the digits of close rows.
pub fn squared_distances(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    distances(a, b, None)
}

/// Returns the squared distances of each row of `a` from each row of `b`, with each square divided by its element of `divisors`,
/// which has the shape of `b`.
pub fn divided_distances(a: Tensor<2>, b: Tensor<2>, divisors: Tensor<2>) -> Tensor<2> {
    equal_shapes(operand("divisors", &divisors.dims()), operand("others", &b.dims()));
    distances(a, b, Some(divisors))
}

fn distances(a: Tensor<2>, b: Tensor<2>, divisors: Option<Tensor<2>>) -> Tensor<2> {
    let ([rows, features], [others, _]) = (a.dims(), b.dims());
    equal_axes(operand("rows", &a.dims()), 1, operand("others", &b.dims()), 1);
    let shape = [rows, others];
    elements(&shape, a.dtype().size());
    if shape.contains(&0) || features == 0 {
        return Tensor::zeros(shape, (&a.device(), a.dtype()));
    }
    let (points, centers, scales) = (a.clone(), b.clone(), divisors.clone());
    if let Outcome::Float(y) = call!(squared_distances(points, centers, scales)) {
        return Tensor::from_dispatch(y);
    }
    let b = b.with_shape([1, others, features]);
    let divisors = divisors.map(|divisors| divisors.with_shape([1, others, features]));
    let together = (MAX_DIFFERENCES / (others * features)).max(1);
    let parts: Vec<Tensor<2>> = (0..rows)
        .step_by(together)
        .map(|first| {
            let count = together.min(rows - first);
            let part = a.clone().narrow(0, first, count);
            let differences = part.with_shape([count, 1, features]) - b.clone();
            let squares = differences.clone() * differences;
            let squares = match &divisors {
                Some(divisors) => squares / divisors.clone(),
                None => squares,
            };
            sum_dim(squares, 2).with_shape([count, others])
        })
        .collect();
    Tensor::cat(parts, 0)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::{
        attempt::attempt,
        memory_limit::with_memory_limit,
        testing::{float, near, noise, same},
    };

    #[test]
    fn distances_are_those_of_each_pair() {
        for (rows, others, features) in [(1, 1, 1), (3, 5, 2), (700, 400, 9), (2, 70_000, 8)] {
            let (a, b) = (noise([rows, features], 1), noise([others, features], 2));
            let data = |x: &Tensor<2>| -> Vec<f32> { x.to_data().try_to_vec().unwrap() };
            let (x, y) = (data(&a), data(&b));
            let distance =
                |x: &[f32], y: &[f32]| -> f32 { x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum() };
            let of = |x: &[f32]| -> Vec<f32> { y.chunks(features).map(|y| distance(x, y)).collect() };
            let expected: Vec<f32> = x.chunks(features).flat_map(of).collect();
            let expected = TensorData::new(expected, [rows, others]);
            near(squared_distances(a.clone(), b.clone()), expected.clone(), 1e-6);
            let wide = squared_distances(a.cast(DType::F64), b.cast(DType::F64));
            near(wide.cast(DType::F32), expected, 1e-6);
        }
    }

    #[test]
    fn no_rows_have_no_distances() {
        let none = |rows, features| noise::<2>([1, 1], 1).slice([0..0, 0..0]).with_shape([rows, features]);
        same(squared_distances(none(0, 2), float([[1f32, 2.0]])), TensorData::new(Vec::<f32>::new(), [0, 1]));
        same(squared_distances(none(2, 0), none(1, 0)), [[0f32], [0.0]]);
    }

    #[test]
    fn distances_are_within_the_memory_limit() {
        let rows = || noise::<2>([600, 1], 1);
        let found = with_memory_limit(1 << 20, || attempt(|| squared_distances(rows(), rows())));
        assert!(found.unwrap_err().reason.starts_with("shape [600, 600] requires 1.4 MiB"));
        let found = attempt(|| squared_distances(rows(), noise([2, 3], 1)));
        assert!(found.is_err());
    }
}
