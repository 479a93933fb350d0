//! Determinants and inverses on a device compared with the host.

use burn::tensor::{DType, FloatDType, Tensor, TensorData};

use crate::product::{determinant::det, inverse::inverse};
use crate::spec::product::LARGEST;
use crate::testing::{float, has, near, noise, on_each, on_host, same, with_reads};

/// Numbers of matrices, and sizes around those of cubes of few and of many units.
const SHAPES: [[usize; 2]; 10] =
    [[1, 1], [2, 700], [3, 5], [4, 1], [8, 3], [9, 2], [16, 2], [17, 1], [33, 4], [65, 1]];

/// Returns matrices that are far from singular, with the large diagonal flipped so that every step needs pivoting.
fn matrices(count: usize, size: usize) -> Tensor<3> {
    let large = Tensor::<2>::eye(size, &crate::testing::device()).flip([0]);
    let scale = (size as f32).sqrt();
    noise::<3>([count, size, size], size as u64).add(large.mul_scalar(scale).unsqueeze())
}

fn single<const D: usize>(x: Tensor<D>) -> TensorData {
    x.into_data().convert_dtype(DType::F32)
}

#[test]
fn determinants_of_every_size() {
    on_each(|| {
        for [size, count] in SHAPES {
            // Determinants near 1, because the tolerance is absolute below 1.
            let x = matrices(count, size).mul_scalar(1.0 / (size as f32).sqrt());
            let expected = single::<1>(det(on_host(&x)));
            near(with_reads(0, || det::<3, 1>(x)), expected, 1e-4);
        }
        let x = matrices(6, 5).permute([0, 2, 1]).reshape([2, 3, 5, 5]);
        let expected = single::<2>(det(on_host(&x)));
        near(with_reads(0, || det::<4, 2>(x)), expected, 1e-4);
    });
}

#[test]
fn inverses_of_every_size() {
    on_each(|| {
        for [size, count] in SHAPES {
            let x = matrices(count, size);
            let expected = single(inverse(on_host(&x)));
            near(with_reads(0, || inverse(x)), expected, 1e-4);
        }
        let x = matrices(3, 6).swap_dims(1, 2);
        let expected = single(inverse(on_host(&x)));
        near(with_reads(0, || inverse(x)), expected, 1e-4);
    });
}

#[test]
fn matrices_without_inverse_have_no_determinant() {
    on_each(|| {
        let x = float::<3>([
            [[1f32, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]],
            [[0.0; 3]; 3],
            [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 3.0, 0.0]],
        ]);
        same(with_reads(0, || det::<3, 1>(x)), [0f32, 0.0, -6.0]);
    });
}

#[test]
fn half_precision_is_taken_apart_in_single_precision() {
    on_each(|| {
        if has(DType::F16) {
            let x = matrices(2, 12).cast(FloatDType::F16);
            let expected = inverse(on_host(&x)).into_data();
            let expected = expected.convert_dtype(DType::F16);
            near(with_reads(0, || inverse(x)), expected, 2e-3);
        }
    });
}

#[test]
fn empty_batches_and_matrices() {
    on_each(|| {
        let none = |shape: [usize; 3]| float(TensorData::new(Vec::<f32>::new(), shape));
        same(with_reads(0, || det::<3, 1>(none([0, 3, 3]))), TensorData::new(Vec::<f32>::new(), [0]));
        same(with_reads(0, || det::<3, 1>(none([2, 0, 0]))), [1f32, 1.0]);
        let y = with_reads(0, || inverse(none([0, 3, 3])));
        assert_eq!(y.dims(), [0, 3, 3]);
    });
}

#[test]
fn the_host_takes_larger_matrices() {
    on_each(|| {
        let size = LARGEST + 1;
        let x = Tensor::<2>::eye(size, &crate::testing::device());
        same(det::<2, 1>(x.mul_scalar(-1.0)), [-1f32]);
    });
}
