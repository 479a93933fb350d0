//! Sum of embeddings of EmbedLayerNormalization, and its mask.

use burn::tensor::{DType, Int, IntDType, Tensor};

use crate::shape::{WithShape, expand::to_shape, lift};
use crate::{
    attempt::nonnegative,
    dtype::lowered,
    ensure,
    index::gather::gather_nonnegative,
    spec::indices::Axis,
    spec::{broadcasts_to, equal_axes, equal_shapes, operand},
};

/// Returns the sum of the embeddings of words, positions, and segments, if any.
///
/// Without `position_ids`, `[batch, length]` or `[1, length]`, positions count from 0.
#[inline(never)]
pub fn embeddings(
    ids: Tensor<2, Int>,
    words: Tensor<2>,
    positions: Tensor<2>,
    position_ids: Option<Tensor<2, Int>>,
    segments: Option<(Tensor<2, Int>, Tensor<2>)>,
) -> Tensor<3> {
    let [batch, length] = ids.dims();
    let (of_ids, of_words) = (ids.dims(), words.dims());
    let (of_ids, of_words) = (operand("tensor of ids", &of_ids), operand("tensor of words", &of_words));
    equal_axes(operand("tensor of positions", &positions.dims()), 1, of_words, 1);
    if let Some(position_ids) = &position_ids {
        let position_ids = position_ids.dims();
        let position_ids = operand("tensor of position ids", &position_ids);
        equal_axes(position_ids, 1, of_ids, 1);
        broadcasts_to(position_ids, of_ids);
    }
    if let Some((segments, table)) = &segments {
        equal_shapes(operand("tensor of segments", &segments.dims()), of_ids);
        equal_axes(operand("table of segments", &table.dims()), 1, of_words, 1);
    }
    let mut sum: Tensor<3> = rows(words, ids);
    let hidden = sum.dims()[2];
    let positions: Tensor<3> = match position_ids {
        Some(position_ids) => rows(positions, position_ids),
        None => {
            let count = positions.dims()[0];
            ensure!(length <= count, "expected at least {length} position embeddings, found {count}");
            lift(positions.slice(0..length))
        }
    };
    sum = sum.add(to_shape(positions, [batch, length, hidden]));
    match segments {
        Some((ids, segments)) => sum.add(rows(segments, ids)),
        None => sum,
    }
}

/// Returns the rows of a table at indices that must not be negative.
fn rows(table: Tensor<2>, indices: Tensor<2, Int>) -> Tensor<3> {
    let axis = Axis { number: 0, size: table.dims()[0] };
    gather_nonnegative(table, 0, nonnegative(indices, axis))
}

/// Returns the number of words of each sequence that the mask keeps.
#[inline(never)]
pub fn kept_words(mask: Tensor<2, Int>) -> Tensor<1, Int> {
    let dtype: IntDType = mask.dtype().into();
    let batch = mask.dims()[0];
    let wide: IntDType = lowered(&mask.device(), DType::I32).into();
    let kept = mask.equal_scalar(1).int().cast(wide);
    kept.sum_dim(1).with_shape([batch]).cast(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, same};

    #[test]
    fn word_position_and_segment_embeddings_are_added() {
        let ids = || int::<2>([[1i32, 0], [1, 1]]);
        let words = || float::<2>([[1f32, 2.0], [3.0, 4.0]]);
        let positions = || float::<2>([[10f32, 20.0], [30.0, 40.0], [50.0, 60.0]]);
        let plain = embeddings(ids(), words(), positions(), None, None);
        same(plain, [[[13f32, 24.0], [31.0, 42.0]], [[13.0, 24.0], [33.0, 44.0]]]);
        let position_ids = Some(int::<2>([[2i32, 0]]));
        let segments = Some((int::<2>([[0i32, 0], [0, 1]]), float::<2>([[0f32, 0.0], [100.0, 200.0]])));
        let all = embeddings(ids(), words(), positions(), position_ids, segments);
        same(all, [[[53f32, 64.0], [11.0, 22.0]], [[53.0, 64.0], [113.0, 224.0]]]);
    }

    #[test]
    fn only_ones_are_kept() {
        let mask = int::<2>([[1i32, 1, 0], [2, 0, 0]]);
        same(kept_words(mask), [2i32, 0]);
    }
}
