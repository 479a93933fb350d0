//! Concatenation compared with Burn's own function.

use burn::tensor::{DType, Tensor};

use crate::shape::stack::concat;
use crate::testing::{has, noise, on_each, same, with_launches, with_reads};

/// Returns tensors of rank 4 that differ in size along an axis.
fn parts(axis: usize, sizes: &[usize]) -> Vec<Tensor<4>> {
    let part = |(seed, &size): (usize, &usize)| {
        let mut shape = [2, 3, 4, 5];
        shape[axis] = size;
        noise(shape, seed as u64)
    };
    sizes.iter().enumerate().map(part).collect()
}

fn agree(parts: Vec<Tensor<4>>, axis: usize) {
    let expected = Tensor::cat(parts.clone(), axis).into_data();
    same(concat(parts, axis), expected);
}

#[test]
fn every_axis_and_number_of_tensors() {
    on_each(|| {
        for axis in 0..4 {
            for sizes in [&[1, 1][..], &[4, 8], &[3, 1, 7], &[2; 6], &[1; 7], &[4, 0, 3]] {
                agree(parts(axis, sizes), axis);
            }
        }
    });
}

#[test]
fn views_of_one_order_or_of_several() {
    on_each(|| {
        let swapped = |x: Tensor<4>, axes| x.permute(axes);
        for axes in [[0, 3, 1, 2], [3, 2, 1, 0], [1, 0, 2, 3]] {
            let [a, b] = [noise([4, 4, 4, 4], 1), noise([4, 4, 4, 4], 2)];
            agree(vec![swapped(a.clone(), axes), swapped(b.clone(), axes)], 1);
            agree(vec![swapped(a.clone(), axes), b.clone()], 2);
            agree(vec![a.clone(), swapped(b, axes)], 3);
            agree(
                vec![
                    a.clone().narrow(1, 1, 2),
                    a.clone().narrow(2, 0, 3).swap_dims(1, 2).narrow(1, 0, 2).expand([4, 2, 4, 4]),
                ],
                0,
            );
            agree(vec![a.clone(), a], 0);
        }
        let row = noise([1, 1, 1, 5], 3).expand([2, 3, 4, 5]);
        agree(vec![row, noise([2, 3, 4, 5], 4)], 1);
    });
}

#[test]
fn a_cache_grows_by_a_view() {
    on_each(|| {
        let past = noise::<4>([1, 4, 7, 8], 1);
        let new = noise::<4>([1, 1, 4, 8], 2).swap_dims(1, 2);
        let expected = Tensor::cat(vec![past.clone(), new.clone()], 2).into_data();
        let run = || concat(vec![past, new], 2).into_data();
        let found = with_reads(0, || with_launches(1, run));
        found.assert_eq(&expected, true);
    });
}

#[test]
fn integers_booleans_and_half_precision() {
    on_each(|| {
        let numbers = || parts(1, &[2, 3]);
        let integers = || numbers().into_iter().map(|x| x.mul_scalar(100.0).int()).collect();
        same(concat(integers(), 1), Tensor::cat(integers(), 1).into_data());
        let booleans = || numbers().into_iter().map(|x| x.greater_elem(0.0)).collect();
        same(concat(booleans(), 1), Tensor::cat(booleans(), 1).into_data());
        if has(DType::F16) {
            let half_precision = numbers().into_iter().map(|x| x.cast(DType::F16)).collect();
            agree(half_precision, 1);
        }
    });
}
