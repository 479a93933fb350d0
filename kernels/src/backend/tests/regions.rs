//! Regions of images compared with primitives and the host.

use burn::tensor::{DType, FloatDType, Int, Tensor, TensorData};

use crate::attempt::attempt;
use crate::image::roi::{
    Mode, RoiAlign,
    align::{by_primitives, roi_align},
    pool::{max_roi_pool, on_host},
};
use crate::reader::{Blocking, now};
use crate::testing::{float, has, indices, int, near, noise, on_each, same, with_reads};

const OPTIONS: RoiAlign =
    RoiAlign { output: [3, 2], sampling: 0, scale: 0.7, half_pixel: true, mode: Mode::Average };

/// Returns unordered corners within an image of 9 by 7 and around it.
fn corners(count: usize) -> Tensor<2> {
    noise::<2>([count, 4], 2).mul_scalar(11.0).add_scalar(5.0)
}

fn batches(count: usize) -> Tensor<1, Int> {
    let values = (0..count as i32).map(|at| at * at % 2).collect();
    int(TensorData::new(values, [count]))
}

fn agree_aligned(x: &Tensor<4>, rois: &Tensor<2>, options: &RoiAlign, tolerance: f64) {
    let batches = batches(rois.dims()[0]);
    let expected = by_primitives(x.clone(), rois.clone(), batches.clone(), options, Blocking);
    let expected = now(expected);
    let y = with_reads(0, || roi_align(x.clone(), rois.clone(), batches, options));
    near(y, expected.into_data(), tolerance);
}

fn agree_pooled(x: &Tensor<4>, rois: &Tensor<2>, output: [usize; 2]) {
    let batches = batches(rois.dims()[0]).float().cast(rois.dtype());
    let rois = Tensor::cat(vec![batches.unsqueeze_dim(1), rois.clone()], 1);
    let expected = on_host(x.clone(), rois.clone(), output, 0.8, Blocking);
    let expected = now(expected);
    let y = with_reads(0, || max_roi_pool(x.clone(), rois, output, 0.8));
    near(y, expected.into_data(), 0.0);
}

#[test]
fn regions_of_every_form() {
    on_each(|| {
        let x = noise::<4>([7, 3, 9, 2], 1).permute([3, 1, 2, 0]);
        for count in [1, 6, 60] {
            let rois = corners(count);
            for [sampling, half_pixel, max] in indices([3, 2, 2]) {
                let options = RoiAlign {
                    sampling,
                    half_pixel: half_pixel == 1,
                    mode: [Mode::Average, Mode::Max][max],
                    ..OPTIONS
                };
                agree_aligned(&x, &rois, &options, 1e-5);
            }
            for output in [[1, 1], [3, 2], [7, 8]] {
                agree_pooled(&x, &rois, output);
            }
        }
        let rois = noise::<2>([4, 5], 3).mul_scalar(9.0).transpose();
        agree_pooled(&x, &rois.transpose().narrow(1, 0, 4), [2, 2]);
    });
}

#[test]
fn regions_of_half_precision() {
    on_each(|| {
        if has(DType::F16) {
            let half = FloatDType::F16;
            let (x, rois) = (noise::<4>([2, 3, 9, 7], 1).cast(half), corners(8).cast(half));
            agree_aligned(&x, &rois, &OPTIONS, 1e-3);
            agree_pooled(&x, &rois, [3, 2]);
        }
    });
}

#[test]
fn regions_as_large_as_floats_go() {
    on_each(|| {
        let x = noise::<4>([2, 2, 9, 7], 1);
        for large in [1e3f32, -1e3] {
            let rois = float([[0.0, 0.0, large, 4.0], [large, 1.0, 6.0, large]]);
            for mode in [Mode::Average, Mode::Max] {
                agree_aligned(&x, &rois, &RoiAlign { mode, ..OPTIONS }, 1e-5);
            }
            agree_pooled(&x, &rois, [3, 2]);
        }
        let ends = [1e9, 1e38, f32::INFINITY, f32::NAN];
        for end in ends.into_iter().chain(ends.map(|end| -end)) {
            let rois = float([[0.0, 0.0, end, 4.0], [end, 1.0, 6.0, end]]);
            let y = roi_align(x.clone(), rois, batches(2), &OPTIONS);
            assert_eq!(y.into_data().shape().to_vec(), [2, 2, 3, 2]);
            // Whatever the bounds are, each result is an element of the image or 0.
            let rois = float([[0.0, 0.0, 0.0, end, 4.0], [1.0, end, 1.0, 6.0, end]]);
            let y = max_roi_pool(x.clone(), rois, [3, 2], 1.0).into_data();
            let image = x.to_data();
            let is_known = |value: f32| value == 0.0 || image.iter::<f32>().any(|x| x == value);
            assert!(y.iter::<f32>().all(is_known), "{y} of regions to {end}");
        }
    });
}

#[test]
fn regions_of_no_image_are_reported() {
    on_each(|| {
        let x = || noise::<4>([2, 1, 3, 3], 1);
        for batch in [-1i32, 2, i32::MAX] {
            let aligned = attempt(|| {
                let rois = float([[0.0, 0.0, 2.0, 2.0]]);
                let y = roi_align(x(), rois, int([batch]), &OPTIONS);
                y.into_data()
            });
            let pooled = attempt(|| {
                let rois = float([[batch as f32, 0.0, 0.0, 2.0, 2.0]]);
                max_roi_pool(x(), rois, [1, 1], 1.0).into_data()
            });
            for result in [aligned, pooled] {
                let text = result.expect_err("no such image").to_string();
                assert!(text.contains("is out of bounds for axis 0 of size 2"), "{text}");
            }
        }
    });
}

#[test]
fn images_without_elements_give_zeros() {
    on_each(|| {
        let x = || float::<4>(TensorData::new(Vec::<f32>::new(), [1, 1, 0, 3]));
        let rois = || float::<2>([[0f32, 0.0, 2.0, 2.0]]);
        let y = roi_align(x(), rois(), int([0i32]), &OPTIONS);
        same(y, [[[[0f32, 0.0], [0.0, 0.0], [0.0, 0.0]]]]);
        let rois = float::<2>([[0f32, 0.0, 0.0, 2.0, 2.0]]);
        same(max_roi_pool(x(), rois, [1, 2], 1.0), [[[[0f32, 0.0]]]]);
    });
}
