//! NonMaxSuppression.

use alloc::vec::Vec;
use burn::tensor::{DType, Int, IntDType, Tensor, TensorData};

pub use crate::spec::boxes::{BoxForm, Limits};
use crate::{
    backend::call,
    dtype::lowered,
    ensure,
    index::nonzero::{coordinates, true_indices},
    reader::{Blocking, Reader, Waiting, now},
    shape::{empty, reshape},
    spec::ranking::float_order,
    spec::{operand, shaped},
};

mod kept;

use kept::{Kept, Rectangle};

/// Returns batch, class and index of each box of `[batch, boxes, 4]` that no selected box with a greater
/// score overlaps, as int64.
///
/// `scores` is `[batch, classes, boxes]`. The boxes of a class are in descending order of their scores; of
/// equal scores the first comes first. The host reads the number of boxes, which is the size of the result,
/// or both operands if the device has no kernel.
pub fn non_max_suppression(
    boxes: Tensor<3>,
    scores: Tensor<3>,
    form: BoxForm,
    limits: Limits,
) -> Tensor<2, Int> {
    now(suppress(boxes, scores, form, limits, Blocking))
}

/// Async version of [`non_max_suppression`].
pub async fn non_max_suppression_async(
    boxes: Tensor<3>,
    scores: Tensor<3>,
    form: BoxForm,
    limits: Limits,
) -> Tensor<2, Int> {
    suppress(boxes, scores, form, limits, Waiting).await
}

async fn suppress(
    boxes: Tensor<3>,
    scores: Tensor<3>,
    form: BoxForm,
    limits: Limits,
    reader: impl Reader,
) -> Tensor<2, Int> {
    let device = boxes.device();
    let dtype = lowered(&device, DType::I64);
    let of_scores @ [batch, classes, count] = scores.dims();
    let of_scores = operand("tensor of scores", &of_scores);
    shaped(operand("tensor of boxes", &boxes.dims()), &[batch, count, 4], of_scores);
    let overlap = limits.overlap;
    ensure!((0.0..=1.0).contains(&overlap), "expected an IoU threshold from 0 to 1, found {overlap}");
    if limits.most_of(count) == 0 || batch * classes == 0 {
        let indices = Tensor::from_data(TensorData::from([[0i64; 3]]), (&device, dtype));
        return empty::<2, 2, Int>(&indices, [0, 3]);
    }
    match on_device(&boxes, &scores, form, limits, reader).await {
        Some(indices) => indices.cast::<IntDType>(dtype.into()),
        None => on_host(boxes, scores, form, limits, reader).await,
    }
}

/// `None`: the host has to select the boxes.
async fn on_device(
    boxes: &Tensor<3>,
    scores: &Tensor<3>,
    form: BoxForm,
    limits: Limits,
    reader: impl Reader,
) -> Option<Tensor<2, Int>> {
    let [batch, classes, _] = scores.dims();
    let [boxes, scores] = [boxes, scores].map(|x| x.clone().without_autodiff());
    let kept = call!(suppress(boxes, scores; form, limits)).tensor()?;
    let kept = Tensor::<3, Int>::from_dispatch(kept);
    let most = kept.dims()[2];
    let is_kept = kept.clone().greater_equal_scalar(0);
    let indices = true_indices(&is_kept, reader).await?;
    let kept = reshape::<3, 1, Int>(kept, [batch * classes * most]);
    Some(coordinates(indices, [batch, classes, most], Some(kept)))
}

/// [`non_max_suppression`] on the host, which reads the operands.
pub async fn on_host(
    boxes: Tensor<3>,
    scores: Tensor<3>,
    form: BoxForm,
    limits: Limits,
    reader: impl Reader,
) -> Tensor<2, Int> {
    let device = boxes.device();
    let dtype = lowered(&device, DType::I64);
    let [_, classes, count] = scores.dims();
    let corners: Vec<f32> = reader.read(boxes).await.iter::<f32>().collect();
    let corners: Vec<Rectangle> =
        corners.chunks_exact(4).map(|numbers| Rectangle::new(numbers, form)).collect();
    let scores: Vec<f32> = reader.read(scores).await.iter::<f32>().collect();
    let mut kept = Vec::new();
    for (at, scores) in scores.chunks_exact(count).enumerate() {
        let (batch, class) = (at / classes, at % classes);
        let corners = &corners[batch * count..][..count];
        for index in suppressed(corners, scores, limits) {
            kept.extend([batch as i64, class as i64, index as i64]);
        }
    }
    let indices = Tensor::from_data(TensorData::from([[0i64; 3]]), (&device, dtype));
    match kept.len() / 3 {
        0 => empty::<2, 2, Int>(&indices, [0, 3]),
        found => Tensor::from_data(TensorData::new(kept, [found, 3]), (&device, dtype)),
    }
}

/// Returns the indices of the selected boxes of one class.
fn suppressed(corners: &[Rectangle], scores: &[f32], limits: Limits) -> Vec<usize> {
    let most = limits.most_of(scores.len());
    let passes = |&index: &usize| match limits.score {
        Some(score) => scores[index] > score as f32,
        None => true,
    };
    let mut indices: Vec<usize> = (0..scores.len()).filter(passes).collect();
    indices.sort_by(|&a, &b| float_order(&scores[b], &scores[a]).then(a.cmp(&b)));
    let (mut kept, mut found) = (Kept::new(limits.overlap as f32), Vec::new());
    for index in indices {
        if found.len() == most {
            break;
        }
        if kept.keep(&corners[index]) {
            found.push(index);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{device, float, same};

    const LIMITS: Limits = Limits { most: 3, overlap: 0.5, score: None };

    fn corners() -> Tensor<3> {
        float([[[0f32, 0.0, 1.0, 1.0], [1.1, 1.0, 0.1, 0.0], [0.0, 10.0, 1.0, 11.0]]])
    }

    fn none() -> TensorData {
        TensorData::new(Vec::<i64>::new(), [0, 3])
    }

    #[test]
    fn what_a_better_box_overlaps_is_left_out_whichever_corners_it_has() {
        let scores = float([[[0.5f32, 0.9, 0.7], [0.9, 0.2, 0.95]]]);
        let kept = non_max_suppression(corners(), scores, BoxForm::Corners, LIMITS);
        same(kept, [[0i64, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 0]]);
    }

    #[test]
    fn boxes_may_have_centers() {
        let boxes = float([[[0.5f32, 0.5, 1.0, 1.0], [0.5, 0.6, 1.0, 1.0]]]);
        let scores = || float([[[0.5f32, 0.9]]]);
        let kept = non_max_suppression(boxes.clone(), scores(), BoxForm::Center, LIMITS);
        same(kept, [[0i64, 0, 1]]);
        let limits = Limits { overlap: 0.9, ..LIMITS };
        let kept = non_max_suppression(boxes, scores(), BoxForm::Center, limits);
        same(kept, [[0i64, 0, 1], [0, 0, 0]]);
    }

    #[test]
    fn scores_and_counts_are_limited() {
        let scores = || float([[[0.5f32, 0.9, 0.5]]]);
        let run = |limits| non_max_suppression(corners(), scores(), BoxForm::Corners, limits);
        let limits = Limits { score: Some(0.5), ..LIMITS };
        same(run(limits), [[0i64, 0, 1]]);
        same(run(Limits { most: 0, ..LIMITS }), none());
        same(run(Limits { most: -4, ..LIMITS }), none());
        let all = Limits { most: i64::MAX, overlap: 1.0, score: None };
        same(run(all), [[0i64, 0, 1], [0, 0, 0], [0, 0, 2]]);
    }

    #[test]
    fn overlaps_are_shares() {
        let scores = || float([[[0.5f32, 0.9, 0.5]]]);
        for overlap in [-0.1, 1.1, f64::NAN] {
            let limits = Limits { overlap, ..LIMITS };
            let kept = attempt(|| non_max_suppression(corners(), scores(), BoxForm::Corners, limits));
            let reason = kept.unwrap_err().reason;
            assert_eq!(reason, format!("expected an IoU threshold from 0 to 1, found {overlap}"));
        }
    }

    /// Comparing each box with each selected one takes a quarter of a minute.
    #[test]
    fn many_boxes_apart_take_little_time() {
        let side = 142;
        let boxes: Vec<[f32; 4]> = (0..20_000)
            .map(|at| {
                let (y, x) = ((at / side) as f32, (at % side) as f32);
                [y, x, y + 1.1, x + 1.1]
            })
            .collect();
        let scores: Vec<f32> = (0..20_000).map(|at| (at * 7919 % 20_000) as f32).collect();
        let boxes = Tensor::from_data(TensorData::new(boxes.concat(), [1, 20_000, 4]), &device());
        let scores = Tensor::from_data(TensorData::new(scores, [1, 1, 20_000]), &device());
        let limits = Limits { most: i64::MAX, ..LIMITS };
        let begin = Instant::now();
        let kept = now(on_host(boxes, scores, BoxForm::Corners, limits, Blocking));
        assert_eq!(kept.dims(), [20_000, 3]);
        assert!(begin.elapsed().as_secs() < 4, "{:?}", begin.elapsed());
    }

    #[test]
    fn no_boxes_leave_none() {
        let boxes = float::<3>(TensorData::new(Vec::<f32>::new(), [1, 0, 4]));
        let scores = float::<3>(TensorData::new(Vec::<f32>::new(), [1, 2, 0]));
        same(non_max_suppression(boxes, scores, BoxForm::Corners, LIMITS), none());
    }
}
