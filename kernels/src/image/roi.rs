//! Operators on regions of images: RoiAlign and MaxRoiPool.

use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

use burn::tensor::{Int, Tensor, TensorData};

use crate::shape::WithShape;

pub mod align;
mod points;
pub mod pool;
mod weighted_pixels;

pub use align::{Mode, RoiAlign, roi_align, roi_align_async};
pub use pool::{max_roi_pool, max_roi_pool_async};

/// Maximum number of elements that are gathered at once, unless those of one region exceed it.
const MAX_GATHERED: usize = 1 << 24;

/// Calls `run` on regions whose grids have equal sizes, in batches, and returns the results in the order of the regions.
///
/// `cost` is the number of elements that are gathered for one region.
fn by_grid(
    grids: &[[usize; 2]],
    cost: impl Fn([usize; 2]) -> usize,
    mut run: impl FnMut(&[usize], [usize; 2]) -> Tensor<4>,
) -> Tensor<4> {
    let mut equal: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
    for (region, &grid) in grids.iter().enumerate() {
        equal.entry(grid).or_default().push(region);
    }
    let (mut parts, mut order) = (Vec::new(), Vec::new());
    for (grid, regions) in equal {
        let together = MAX_GATHERED / cost(grid).max(1);
        for regions in regions.chunks(together.max(1)) {
            parts.push(run(regions, grid));
            order.extend_from_slice(regions);
        }
    }
    let y = Tensor::cat(parts, 0);
    if order.is_sorted() {
        return y;
    }
    let mut ranks = vec![0; order.len()];
    for (at, region) in order.into_iter().enumerate() {
        ranks[region] = at as i32;
    }
    let ranks = ints(ranks, &y);
    y.select(0, ranks)
}

/// Returns an image as `[batch * height * width, channels]`.
fn pixels(x: Tensor<4>) -> Tensor<2> {
    let [batch, channels, height, width] = x.dims();
    x.permute([0, 2, 3, 1]).with_shape([batch * height * width, channels])
}

fn ints<const D: usize>(values: Vec<i32>, like: &Tensor<D>) -> Tensor<1, Int> {
    let count = values.len();
    let options = (&like.device(), burn::tensor::DType::I32);
    Tensor::from_data(TensorData::new(values, [count]), options)
}
