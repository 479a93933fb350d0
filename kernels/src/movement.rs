//! Tile and ReverseSequence.

use burn::tensor::{Int, Tensor, kind::Basic};

use crate::{broadcast::to_shape, gather::gather_elements, kind::AnyKind, shape::empty};

/// Tile: each axis repeated as a whole; 0 times leaves nothing.
pub fn tile<const D: usize, K: Basic>(x: Tensor<D, K>, repeats: [usize; D]) -> Tensor<D, K> {
    let dims = x.dims();
    let shape: [usize; D] = std::array::from_fn(|axis| dims[axis] * repeats[axis]);
    match shape.contains(&0) {
        true => empty(&x, shape),
        false => x.repeat(&repeats),
    }
}

/// ReverseSequence: in each slice along `batch_axis` the first `lengths` elements along `time_axis` in reverse.
pub fn reverse_sequence<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    lengths: Tensor<1, Int>,
    batch_axis: usize,
    time_axis: usize,
) -> Tensor<D, K> {
    let dims = x.dims();
    if dims.contains(&0) {
        return x;
    }
    let (mut per_batch, mut per_time) = ([1; D], [1; D]);
    per_batch[batch_axis] = dims[batch_axis];
    per_time[time_axis] = dims[time_axis];
    let mut plane = per_time;
    plane[batch_axis] = dims[batch_axis];

    let times = Tensor::arange(0..dims[time_axis] as i64, (&x.device(), lengths.dtype()));
    let times = to_shape(times.reshape(per_time), plane);
    let lengths: Tensor<D, Int> = to_shape(lengths.reshape(per_batch), plane);
    let reversed = lengths.clone().sub(times.clone()).sub_scalar(1);
    let sources = times.clone().mask_where(times.lower(lengths), reversed);
    gather_elements(x, time_axis, to_shape(sources, dims))
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::testing::{bool, int, same};

    #[test]
    fn axes_repeat_as_a_whole() {
        let x = int::<2>([[1u8, 2], [3, 4]]);
        let y = tile(x.clone(), [1, 2]);
        same(y, [[1u8, 2, 1, 2], [3, 4, 3, 4]]);
        same(tile(x.clone(), [2, 1]), [[1u8, 2], [3, 4], [1, 2], [3, 4]]);
        same(tile(x, [0, 2]), TensorData::new(Vec::<u8>::new(), [0, 4]));
        same(
            tile(bool::<1>([true, false]), [2]),
            [true, false, true, false],
        );
    }

    #[test]
    fn each_sequence_turns_by_its_own_length() {
        let x = int::<2>([[0i32, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
        let y = reverse_sequence(x.clone(), int([1i64, 2, 4]), 0, 1);
        same(y, [[0i32, 1, 2, 3], [5, 4, 6, 7], [11, 10, 9, 8]]);
        let y = reverse_sequence(x, int([3i64, 2, 2, 1]), 1, 0);
        same(y, [[8i32, 5, 6, 3], [4, 1, 2, 7], [0, 9, 10, 11]]);
    }

    #[test]
    fn further_axes_move_along() {
        let x = bool::<3>([[[true, false]], [[false, false]]]);
        let y = reverse_sequence(x, int([2i64]), 1, 0);
        same(y, [[[false, false]], [[true, false]]]);
    }
}
