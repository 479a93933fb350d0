//! DepthToSpace and SpaceToDepth.

use burn::tensor::{Tensor, kind::Basic};

/// How the channels of a block are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthOrder {
    /// `DCR`: the place in the block varies slower than the depth.
    DepthColumnRow,
    /// `CRD`: the depth varies slower than the place in the block.
    ColumnRowDepth,
}

/// Moves channels of `[batch, depth * block * block, height, width]` into blocks of `[batch, depth, height * block, width * block]`.
#[inline(never)]
pub fn depth_to_space<K: Basic>(x: Tensor<4, K>, block: usize, order: DepthOrder) -> Tensor<4, K> {
    let [batch, channels, height, width] = x.dims();
    let depth = channels / (block * block);
    let blocks = match order {
        DepthOrder::DepthColumnRow => x
            .reshape([batch, block, block, depth, height, width])
            .permute([0, 3, 4, 1, 5, 2]),
        DepthOrder::ColumnRowDepth => x
            .reshape([batch, depth, block, block, height, width])
            .permute([0, 1, 4, 2, 5, 3]),
    };
    blocks.reshape([batch, depth, height * block, width * block])
}

/// Moves blocks of `[batch, depth, height, width]` into channels of `[batch, depth * block * block, height / block, width / block]`.
#[inline(never)]
pub fn space_to_depth<K: Basic>(x: Tensor<4, K>, block: usize, order: DepthOrder) -> Tensor<4, K> {
    let [batch, depth, height, width] = x.dims();
    let (height, width) = (height / block, width / block);
    let blocks = x.reshape([batch, depth, height, block, width, block]);
    let channels = match order {
        DepthOrder::DepthColumnRow => blocks.permute([0, 3, 5, 1, 2, 4]),
        DepthOrder::ColumnRowDepth => blocks.permute([0, 1, 3, 5, 2, 4]),
    };
    channels.reshape([batch, depth * block * block, height, width])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{int, noise, same};

    #[test]
    fn channels_become_blocks_in_either_order() {
        let x = int::<4>([[[[0i64]], [[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]]]]);
        same(
            depth_to_space(x.clone(), 2, DepthOrder::DepthColumnRow),
            [[[[0i64, 2], [4, 6]], [[1, 3], [5, 7]]]],
        );
        same(
            depth_to_space(x, 2, DepthOrder::ColumnRowDepth),
            [[[[0i64, 1], [2, 3]], [[4, 5], [6, 7]]]],
        );
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
}
