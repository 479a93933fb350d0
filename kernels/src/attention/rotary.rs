//! RotaryEmbedding: pairs of features rotated by an angle.

use alloc::vec;
use burn::tensor::Tensor;

use crate::shape::WithShape;
use crate::{
    backend::call,
    ensure,
    shape::{reshape, stack::concat},
    spec::{equal_axes, equal_shapes, operand},
};

/// Rotates pairs of features of `[batch, heads, length, size]` by angles, given as their cosines and sines,
/// `[batch, length, pairs]`. Features after the pairs are unchanged.
///
/// `interleaved` pairs are adjacent; otherwise the first half of the features is paired with the second.
///
/// # Panics
/// If there are not angles for each position of one or all batches, or if there are more pairs than the features have.
#[inline(never)]
pub fn rotate(x: Tensor<4>, cosine: Tensor<3>, sine: Tensor<3>, interleaved: bool) -> Tensor<4> {
    let dims @ [batch, heads, length, size] = x.dims();
    let angles @ [_, _, pairs] = cosine.dims();
    let (input, of_cosine) = (operand("input", &dims), operand("tensor of cosines", &angles));
    equal_shapes(operand("tensor of sines", &sine.dims()), of_cosine);
    equal_axes(of_cosine, 1, input, 2);
    ensure!(
        [1, batch].contains(&angles[0]) && 2 * pairs <= size,
        "expected {of_cosine} to have 1 or all batches, and at most half of the features, of {input}"
    );
    if batch * heads * length * pairs == 0 {
        return x;
    }
    let (own, cosines, sines) = (x.clone(), cosine.clone(), sine.clone());
    if let Some(y) = call!(rotate(own, cosines, sines; interleaved)).tensor() {
        return Tensor::from_dispatch(y);
    }
    let rest = (size > 2 * pairs).then(|| x.clone().narrow(3, 2 * pairs, size - 2 * pairs));
    let rotary = x.narrow(3, 0, 2 * pairs);
    let (first, second) = if interleaved {
        let pairs = rotary.with_shape([batch, heads, length, pairs, 2]);
        (pairs.clone().narrow(4, 0, 1).squeeze_dim(4), pairs.narrow(4, 1, 1).squeeze_dim(4))
    } else {
        (rotary.clone().narrow(3, 0, pairs), rotary.narrow(3, pairs, pairs))
    };
    let cosine = cosine.unsqueeze_dim::<4>(1);
    let sine = sine.unsqueeze_dim::<4>(1);
    let real = cosine.clone().mul(first.clone()).sub(sine.clone().mul(second.clone()));
    let imaginary = sine.mul(first).add(cosine.mul(second));
    let rotated = if interleaved {
        reshape(Tensor::<4>::stack::<5>(vec![real, imaginary], 4), [batch, heads, length, 2 * pairs])
    } else {
        concat(vec![real, imaginary], 3)
    };
    match rest {
        Some(rest) => concat(vec![rotated, rest], 3),
        None => rotated,
    }
}

/// [`rotate`] of `features`, all if `None`, with one angle per pair.
///
/// # Panics
/// As [`rotate`] does, and if the number of angles is not that of the pairs.
#[inline(never)]
pub fn rotate_features(
    x: Tensor<4>,
    cosine: Tensor<3>,
    sine: Tensor<3>,
    features: Option<usize>,
    interleaved: bool,
) -> Tensor<4> {
    let (dims, angles) = (x.dims(), cosine.dims());
    let features = features.unwrap_or(dims[3]);
    ensure!(
        2 * angles[2] == features,
        "expected {} to have an angle for each pair of {features} features of {}",
        operand("tensor of cosines", &angles),
        operand("input", &dims)
    );
    rotate(x, cosine, sine, interleaved)
}

/// Returns `x * cosine + rotated(x) * sine` along the last axis, where the rotation maps each pair `(a, b)`
/// to `(-b, a)`. There is one angle per feature or per pair.
///
/// # Panics
/// If the number of features is odd, or angles do not broadcast to them.
#[inline(never)]
pub fn rotate_pairs<const D: usize>(
    x: Tensor<D>,
    cosine: Tensor<D>,
    sine: Tensor<D>,
    interleaved: bool,
) -> Tensor<D> {
    let shape = x.dims();
    let features = shape[D - 1];
    for angles in [cosine.dims(), sine.dims()] {
        let outer = (0..D - 1).all(|axis| [1, shape[axis]].contains(&angles[axis]));
        ensure!(
            outer && features.is_multiple_of(2) && [features, features / 2].contains(&angles[D - 1]),
            "expected angles that broadcast to the input {shape:?}, with all or half of an even number of \
             features, found shape {angles:?}"
        );
    }
    if shape.contains(&0) {
        return x;
    }
    let (first, second) = pairs(x, interleaved);
    let angles = |x: Tensor<D>| {
        if x.dims()[D - 1] == features { pairs(x, interleaved) } else { (x.clone(), x) }
    };
    let ((cosine, other_cosine), (sine, other_sine)) = (angles(cosine), angles(sine));
    let real = first.clone().mul(cosine).sub(second.clone().mul(sine));
    let imaginary = second.mul(other_cosine).add(first.mul(other_sine));
    if !interleaved {
        return concat(vec![real, imaginary], D - 1);
    }
    let rows = shape.iter().product::<usize>() / features;
    let column = |x: Tensor<D>| reshape(x, [rows, features / 2, 1]);
    let both: Tensor<3> = concat(vec![column(real), column(imaginary)], 2);
    reshape(both, shape)
}

/// Returns the first and the second feature of each pair.
fn pairs<const D: usize>(x: Tensor<D>, interleaved: bool) -> (Tensor<D>, Tensor<D>) {
    let mut shape = x.dims();
    let half = shape[D - 1] / 2;
    if !interleaved {
        return (x.clone().narrow(D - 1, 0, half), x.narrow(D - 1, half, half));
    }
    let rows = shape[..D - 1].iter().product::<usize>();
    shape[D - 1] = half;
    let both: Tensor<3> = reshape(x, [rows, half, 2]);
    let part = |at| reshape(both.clone().narrow(2, at, 1), shape);
    (part(0), part(1))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::testing::{float, indices, near, noise, same};

    fn check(shape: [usize; 4], batch: usize, pairs: usize, interleaved: bool) {
        let x = noise(shape, 1);
        let table = |seed| noise([batch, shape[2], pairs], seed);
        let data = x.to_data().try_into_vec::<f32>().expect("floats");
        let [cosine, sine] = [2, 3].map(|seed| table(seed).to_data().try_into_vec::<f32>().expect("floats"));
        let expected = indices(shape).map(|[b, h, t, i]| {
            let at = |i: usize| data[((b * shape[1] + h) * shape[2] + t) * shape[3] + i];
            let (pair, second) = if interleaved { (i / 2, i % 2 == 1) } else { (i % pairs, i >= pairs) };
            if i >= 2 * pairs {
                return at(i);
            }
            let angle = ((b % batch) * shape[2] + t) * pairs + pair;
            let (c, s) = (cosine[angle], sine[angle]);
            let other = match (interleaved, second) {
                (true, false) => at(i + 1),
                (true, true) => at(i - 1),
                (false, false) => at(i + pairs),
                (false, true) => at(i - pairs),
            };
            if second { s * other + c * at(i) } else { c * at(i) - s * other }
        });
        let expected = TensorData::new(expected.collect::<Vec<f32>>(), shape);
        // A permuted view has the result of a copy.
        let columns = x.clone().permute([3, 1, 2, 0]).mul_scalar(1.0).permute([3, 1, 2, 0]);
        let heads = x.clone().swap_dims(1, 2).mul_scalar(1.0).swap_dims(1, 2);
        let run = || {
            for x in [&x, &columns, &heads] {
                near(rotate(x.clone(), table(2), table(3), interleaved), expected.clone(), 1e-6);
            }
        };
        run();
        #[cfg(feature = "flex")]
        crate::flex::with_each_set(|_| run());
    }

    #[test]
    fn halves_and_adjacent_pairs_are_rotated() {
        for interleaved in [false, true] {
            check([2, 3, 4, 8], 2, 4, interleaved);
            check([2, 3, 4, 8], 1, 4, interleaved);
            check([2, 1, 3, 7], 2, 2, interleaved);
            check([2, 3, 5, 90], 1, 37, interleaved);
            check([1, 8, 300, 64], 1, 32, interleaved);
        }
    }

    #[test]
    fn features_may_have_their_own_angles() {
        let x = || float::<2>([[1f32, 2.0, 3.0, 4.0]]);
        let (c, s) = ([[1f32, 10.0, 100.0, 1000.0]], [[0.5f32, 0.25, 2.0, 4.0]]);
        let halves = [[1.0 - 1.5, 20.0 - 1.0, 300.0 + 2.0, 4000.0 + 8.0f32]];
        same(rotate_pairs(x(), float(c), float(s), false), halves);
        let neighbors = [[1.0 - 1.0, 20.0 + 0.25, 300.0 - 8.0, 4000.0 + 12.0f32]];
        same(rotate_pairs(x(), float(c), float(s), true), neighbors);
        let x = noise([2, 3, 4, 8], 1);
        for interleaved in [false, true] {
            let (c, s) = (noise([1, 4, 4], 2), noise([1, 4, 4], 3));
            let expected = rotate(x.clone(), c.clone(), s.clone(), interleaved);
            let found = rotate_pairs(x.clone(), c.unsqueeze_dim(1), s.unsqueeze_dim(1), interleaved);
            near(found, expected.into_data(), 1e-6);
        }
    }

    #[test]
    fn no_features_are_rotated_by_no_angles() {
        let x = noise([1, 2, 3, 4], 1);
        let none = || float::<3>(TensorData::new(Vec::<f32>::new(), [1, 3, 0]));
        same(rotate(x.clone(), none(), none(), false), x.into_data());
        let empty = Tensor::<4>::zeros([1, 2, 0, 4], &Default::default());
        let angles = || Tensor::<3>::zeros([1, 0, 2], &Default::default());
        assert_eq!(rotate(empty, angles(), angles(), true).dims(), [1, 2, 0, 4]);
    }

    #[test]
    fn half_precision_stays() {
        let cast = |x: Tensor<3>| x.cast(DType::BF16);
        let x = noise([1, 1, 2, 4], 1).cast(DType::BF16);
        let y = rotate(x, cast(noise([1, 2, 2], 2)), cast(noise([1, 2, 2], 3)), false);
        assert_eq!(y.dtype(), DType::BF16);
    }
}
