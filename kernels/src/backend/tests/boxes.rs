//! NonMaxSuppression compared with the host.

use burn::tensor::{Tensor, TensorData};

use crate::image::non_max_suppression::{BoxForm, Limits, non_max_suppression, on_host};
use crate::reader::{Blocking, now};
use crate::testing::{float, noise, on_each, same, with_reads};

const LIMITS: Limits = Limits { most: i64::MAX, overlap: 0.3, score: None };

/// One read is allowed: that of the size of the result.
fn agree(boxes: &Tensor<3>, scores: &Tensor<3>, form: BoxForm, limits: Limits) {
    let expected = on_host(boxes.clone(), scores.clone(), form, limits, Blocking);
    let expected = now(expected);
    let kept = with_reads(1, || non_max_suppression(boxes.clone(), scores.clone(), form, limits));
    same(kept, expected.into_data());
}

/// Returns boxes of about 2 by 2, spread over a square.
fn spread(shape: [usize; 3], form: BoxForm, over: f32) -> Tensor<3> {
    let centers = noise(shape, 1).narrow(2, 0, 2).mul_scalar(over);
    let sizes = noise(shape, 2).narrow(2, 2, 2).add_scalar(1.7);
    match form {
        BoxForm::Center => Tensor::cat(vec![centers, sizes], 2),
        BoxForm::Corners => Tensor::cat(vec![centers.clone() + sizes.clone(), centers - sizes], 2),
    }
}

#[test]
fn boxes_of_every_count() {
    on_each(|| {
        for count in [1, 2, 31, 33, 256, 257, 600, 1100] {
            for form in [BoxForm::Center, BoxForm::Corners] {
                let boxes = spread([2, count, 4], form, (count as f32).sqrt());
                let scores = noise::<3>([2, 3, count], 3);
                for (most, score) in [(i64::MAX, None), (7, None), (300, Some(0.2)), (9, Some(0.9))] {
                    let limits = Limits { most, score, ..LIMITS };
                    agree(&boxes, &scores, form, limits);
                }
            }
        }
    });
}

#[test]
fn repeated_scores_and_boxes() {
    on_each(|| {
        let boxes = spread([1, 700, 4], BoxForm::Corners, 4.0).round();
        let scores = noise::<3>([1, 2, 700], 4).mul_scalar(5.0).round();
        for overlap in [0.0, 1e-6, 0.5, 1.0] {
            for score in [None, Some(2.0), Some(9.0)] {
                let limits = Limits { overlap, score, ..LIMITS };
                agree(&boxes, &scores, BoxForm::Corners, limits);
            }
        }
    });
}

#[test]
fn operands_in_the_order_of_other_axes() {
    on_each(|| {
        let boxes = noise::<3>([4, 300, 2], 1).permute([2, 1, 0]);
        let scores = noise::<3>([300, 2, 3], 2).permute([1, 2, 0]);
        agree(&boxes, &scores, BoxForm::Corners, LIMITS);
    });
}

#[test]
fn nan_boxes_suppress_no_others() {
    on_each(|| {
        const INF: f32 = f32::INFINITY;
        const NAN: f32 = f32::NAN;
        let boxes = [
            [0.0, 0.0, 1.0, 1.0],
            [0.0, NAN, 1.0, 1.0],
            [0.0, 0.0, 1.0, 1.0],
            [0.0, 0.0, INF, 1.0],
            [0.0, 0.0, INF, INF],
            [0.0, 0.0, INF, 1.0],
            [INF, INF, INF, INF],
            [0.5, 0.5, 0.5, 0.5],
            [-0.0, 0.0, -1.0, -1.0],
        ];
        let scores = [0.0, 0.9, -0.0, INF, 1.0, 1.0, -INF, 0.5, NAN];
        let scores = TensorData::new(scores.to_vec(), [1, 1, 9]);
        for form in [BoxForm::Center, BoxForm::Corners] {
            for score in [None, Some(-0.5)] {
                let limits = Limits { score, ..LIMITS };
                let boxes = float::<3>([boxes]);
                agree(&boxes, &float(scores.clone()), form, limits);
            }
        }
    });
}
