//! DepthToSpace, SpaceToDepth and ReverseSequence.

use burn::tensor::{Int, Tensor, kind::Basic};

use crate::shape::WithShape;
use crate::{
    attempt,
    index::gather::gather_elements,
    kind::AnyKind,
    shape::expand::to_shape,
    spec::{operand, shaped},
};

/// Order of the channels of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthOrder {
    /// `DCR`: the position in the block varies slower than the depth.
    DepthColumnRow,
    /// `CRD`: the depth varies slower than the position in the block.
    ColumnRowDepth,
}

/// Moves channels of `[batch, depth * block * block, height, width]` into blocks of `[batch, depth, height * block, width * block]`.
#[inline(never)]
pub fn depth_to_space<K: Basic>(x: Tensor<4, K>, block: usize, order: DepthOrder) -> Tensor<4, K> {
    let [batch, channels, height, width] = x.dims();
    let depth = channels / (block * block);
    let blocks = match order {
        DepthOrder::DepthColumnRow => {
            x.with_shape([batch, block, block, depth, height, width]).permute([0, 3, 4, 1, 5, 2])
        }
        DepthOrder::ColumnRowDepth => {
            x.with_shape([batch, depth, block, block, height, width]).permute([0, 1, 4, 2, 5, 3])
        }
    };
    blocks.with_shape([batch, depth, height * block, width * block])
}

/// Moves blocks of `[batch, depth, height, width]` into channels of `[batch, depth * block * block, height / block, width / block]`.
#[inline(never)]
pub fn space_to_depth<K: Basic>(x: Tensor<4, K>, block: usize, order: DepthOrder) -> Tensor<4, K> {
    let [batch, depth, height, width] = x.dims();
    let (height, width) = (height / block, width / block);
    let blocks = x.with_shape([batch, depth, height, block, width, block]);
    let channels = match order {
        DepthOrder::DepthColumnRow => blocks.permute([0, 3, 5, 1, 2, 4]),
        DepthOrder::ColumnRowDepth => blocks.permute([0, 1, 3, 5, 2, 4]),
    };
    channels.with_shape([batch, depth * block * block, height, width])
}

/// ReverseSequence: reverses the first `lengths` elements along `time_axis` in each slice along `batch_axis`.
///
/// # Panics
/// If a length is negative or exceeds the size of `time_axis`.
pub fn reverse_sequence<const D: usize, K: AnyKind>(
    x: Tensor<D, K>,
    lengths: Tensor<1, Int>,
    batch_axis: usize,
    time_axis: usize,
) -> Tensor<D, K> {
    let dims = x.dims();
    let batch = [dims[batch_axis]];
    shaped(operand("tensor of lengths", &lengths.dims()), &batch, operand("input", &dims));
    if dims.contains(&0) {
        return x;
    }
    let (mut per_batch, mut per_time) = ([1; D], [1; D]);
    per_batch[batch_axis] = dims[batch_axis];
    per_time[time_axis] = dims[time_axis];
    let mut plane = per_time;
    plane[batch_axis] = dims[batch_axis];

    let lengths = attempt::lengths(lengths, dims[time_axis]);
    let times = Tensor::arange(0..dims[time_axis] as i64, (&x.device(), lengths.dtype()));
    let times = to_shape(times.with_shape(per_time), plane);
    let lengths: Tensor<D, Int> = to_shape(lengths.with_shape(per_batch), plane);
    let reversed = lengths.clone().sub(times.clone()).sub_scalar(1);
    let sources = times.clone().mask_where(times.lower(lengths), reversed);
    gather_elements(x, time_axis, to_shape(sources, dims))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bool, int, noise, same};

    #[test]
    fn channels_become_blocks_in_either_order() {
        let x = int::<4>([[[[0i64]], [[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]]]]);
        same(
            depth_to_space(x.clone(), 2, DepthOrder::DepthColumnRow),
            [[[[0i64, 2], [4, 6]], [[1, 3], [5, 7]]]],
        );
        same(depth_to_space(x, 2, DepthOrder::ColumnRowDepth), [[[[0i64, 1], [2, 3]], [[4, 5], [6, 7]]]]);
    }

    #[test]
    fn blocks_become_the_channels_they_came_from() {
        let x = noise([2, 18, 2, 5], 1);
        for order in [DepthOrder::DepthColumnRow, DepthOrder::ColumnRowDepth] {
            let space = depth_to_space(x.clone(), 3, order);
            assert_eq!(space.dims(), [2, 2, 6, 15]);
            same(space_to_depth(space, 3, order), x.clone().into_data());
        }
    }

    #[test]
    fn images_without_rows_have_no_blocks() {
        let none = Tensor::<4>::empty([1, 4, 0, 3], &Default::default());
        assert_eq!(depth_to_space(none.clone(), 2, DepthOrder::DepthColumnRow).dims(), [1, 1, 0, 6]);
        assert_eq!(space_to_depth(none.swap_dims(1, 3), 2, DepthOrder::ColumnRowDepth).dims(), [1, 12, 0, 2]);
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
    fn lengths_are_those_of_the_axis() {
        for length in [-1, 4, i64::MIN, i64::MAX] {
            let x = int::<2>([[0i32, 1, 2], [4, 5, 6]]);
            let y = attempt::attempt(|| reverse_sequence(x, int([2i64, length]), 0, 1).into_data());
            let reason = format!("expected a length from 0 to 3, found {length}");
            assert_eq!(y.map_err(|fault| fault.reason).err(), Some(reason));
        }
        same(reverse_sequence(int::<2>([[0i32, 1]]), int([0i64]), 0, 1), [[0i32, 1]]);
    }

    #[test]
    fn further_axes_move_along() {
        let x = bool::<3>([[[true, false]], [[false, false]]]);
        let y = reverse_sequence(x, int([2i64]), 1, 0);
        same(y, [[[false, false]], [[true, false]]]);
    }
}
