//! AffineGrid: grid points transformed by affine maps.

use alloc::vec::Vec;
use burn::tensor::{DType, Tensor, TensorData};

use crate::shape::WithShape;
use crate::{
    ensure,
    shape::{empty, expand::to_shape},
    sizes::{elements, size},
    widen::widened,
};

/// Returns the grid points of an image of `[batch, channels, spatial..]` sizes, from -1 to 1 along each axis,
/// transformed by `theta`, `[batch, axes, axes + 1]`.
///
/// The last coordinate of a point is that of the first spatial axis. `O` is the number of sizes. With
/// `align_corners`, -1 and 1 are the centers of the first and last elements, instead of their outer edges.
///
/// # Panics
/// If a size is negative, or the points exceed the memory limit.
pub fn affine_grid<const O: usize>(theta: Tensor<3>, sizes: &[i64], align_corners: bool) -> Tensor<O> {
    ensure!(sizes.len() == O, "expected {O} sizes of an image, found {sizes:?}");
    let (dtype, axes) = (theta.dtype(), O - 2);
    let [batch, rows, columns] = theta.dims();
    ensure!(
        [rows, columns] == [axes, axes + 1],
        "expected matrices of {axes} x ({axes} + 1), found {rows} x {columns}"
    );
    let mut shape = [batch; O];
    for axis in 0..axes {
        shape[1 + axis] = size(sizes[2 + axis]);
    }
    shape[O - 1] = axes;
    elements(&shape, theta.dtype().size().max(size_of::<f32>()));
    if shape.contains(&0) {
        return empty(&theta, shape);
    }
    let theta = widened(theta);
    let column = |at: usize| {
        let mut own = [1; O];
        (own[0], own[O - 1]) = (batch, axes);
        theta.clone().narrow(2, at, 1).with_shape(own)
    };
    let along = |axis: usize| {
        let mut own = [1; O];
        own[1 + axis] = shape[1 + axis];
        let points = points(shape[1 + axis], align_corners, theta.dtype());
        Tensor::<O>::from_data(TensorData::new(points, own), (&theta.device(), theta.dtype()))
    };
    let sum = (0..axes)
        .rev()
        .map(|axis| along(axis) * column(axes - 1 - axis))
        .reduce(|sum, part| sum + part)
        .map(|sum| sum + column(axes))
        .expect("an image has axes");
    to_shape(sum, shape).cast(dtype)
}

/// Returns the coordinates of the elements of an axis of `size`.
fn points(size: usize, align_corners: bool, dtype: DType) -> Vec<f64> {
    let round = |value: f64| match dtype {
        DType::F64 => value,
        _ => f64::from(value as f32),
    };
    let (start, step) = match (align_corners, size) {
        (true, 1) => (-1.0, 0.0),
        (true, _) => (-1.0, round(2.0 / (size as f64 - 1.0))),
        (false, _) => {
            let step = round(2.0 / size as f64);
            (round(-1.0 + step / 2.0), step)
        }
    };
    (0..size).map(|at| round(start + round(at as f64 * step))).collect()
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::{float, indices, near, noise, same};

    #[test]
    fn the_identity_gives_centers_between_edges_or_from_corner_to_corner() {
        let theta = || float::<3>([[[1f32, 0.0, 0.0], [0.0, 1.0, 0.0]]]);
        let y: Tensor<4> = affine_grid(theta(), &[1, 9, 2, 1], false);
        near(y, [[[[0f32, -0.5]], [[0.0, 0.5]]]], 1e-6);
        let y: Tensor<4> = affine_grid(theta(), &[1, 9, 1, 3], true);
        near(y, [[[[-1f32, -1.0], [0.0, -1.0], [1.0, -1.0]]]], 1e-6);
    }

    #[test]
    fn volumes_agree_with_the_definition() {
        let theta = noise([3, 2, 4], 1).permute([1, 0, 2]);
        let maps: Vec<f32> = theta.to_data().try_to_vec().unwrap();
        let sizes = [2, 3, 4];
        let point = |size: usize, at: usize| (2.0 * at as f32 + 1.0) / size as f32 - 1.0;
        let expected: Vec<f32> = indices([2, 2, 3, 4, 3])
            .map(|[n, d, h, w, row]| {
                let map = &maps[(n * 3 + row) * 4..][..4];
                let [z, y, x] = [point(2, d), point(3, h), point(4, w)];
                map[0] * x + map[1] * y + map[2] * z + map[3]
            })
            .collect();
        let y: Tensor<5> = affine_grid(theta, &[2, 1, 2, 3, 4], false);
        let [d, h, w] = sizes;
        near(y, TensorData::new(expected, [2, d, h, w, 3]), 1e-5);
    }

    #[test]
    fn half_precision_is_rounded_once_and_nothing_stays_nothing() {
        let theta = float::<3>([[[1f32, 0.0, 0.25], [0.0, 1.0, 0.0]]]).cast(DType::F16);
        let y: Tensor<4> = affine_grid(theta.clone(), &[1, 1, 1, 1], false);
        same(y, [[[[f16::from_f32(0.25), f16::ZERO]]]]);
        let y: Tensor<4> = affine_grid(theta, &[1, 1, 0, 4], false);
        assert_eq!(y.dims(), [1, 0, 4, 2]);
    }
}
