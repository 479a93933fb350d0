//! MaxRoiPool.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::Operands;
use crate::cube::launch::{Grid, launch};

/// Pools regions. `batches` are indices of images.
pub fn max_roi_pool(
    x: CubeTensor,
    rois: CubeTensor,
    batches: CubeTensor,
    output: [usize; 2],
    scale: f32,
) -> Option<CubeTensor> {
    let operands = Operands::new(x, rois, batches, output)?;
    let Operands { x, rois, batches, y } = operands;
    let [_, channels, height, width] = x.shape().dims();
    let count = y.shape().num_elements();
    let dtype = dtype_to_storage_type(x.dtype);
    launch!(Grid::units(count) => pool_kernel(
        x, rois, batches, &y;
        count, channels, height, width, output[0], output[1], scale, dtype,
    ));
    Some(y)
}

/// A unit finds the greatest element of a part of a region.
///
/// Units beyond `count`, the number of elements of `y`, end. `x` has `height * width` elements for each
/// channel, and each of `rois` has an element of `batches`, the index of a batch of `x`. The bounds of a part
/// are clamped to the image as indices, after the conversion from floats: NaN becomes any integer.
#[cube(launch_unchecked, address_type = "dynamic")]
fn pool_kernel<T: Numeric>(
    x: &Tensor<T>,
    rois: &Tensor<f32>,
    batches: &Tensor<i32>,
    y: &mut Tensor<T>,
    count: usize,
    channels: usize,
    height: usize,
    width: usize,
    rows: usize,
    columns: usize,
    scale: f32,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let (plane, cell) = (ABSOLUTE_POS / (rows * columns), ABSOLUTE_POS % (rows * columns));
    let (roi, channel) = (plane / channels, plane % channels);
    let plane = (batches[roi] as usize * channels + channel) * height * width;
    let x0 = rounded(rois[5 * roi + 1] * scale);
    let y0 = rounded(rois[5 * roi + 2] * scale);
    let x1 = rounded(rois[5 * roi + 3] * scale);
    let y1 = rounded(rois[5 * roi + 4] * scale);
    let (top, bottom) = window(y0, y1, cell / columns, rows, height);
    let (left, right) = window(x0, x1, cell % columns, columns, width);
    let mut greatest = 0.0f32;
    if top < bottom && left < right {
        greatest = f32::cast_from(x[plane + top * width + left]);
    }
    for row in top..bottom {
        for column in left..right {
            let value = f32::cast_from(x[plane + row * width + column]);
            greatest = max(greatest, value);
        }
    }
    y[ABSOLUTE_POS] = T::cast_from(greatest);
}

/// Rounds to the nearest integer, halves away from zero.
#[cube]
fn rounded(value: f32) -> f32 {
    let size = value.abs();
    let whole = size.floor();
    let whole = select(size - whole >= 0.5f32, whole + 1.0f32, whole);
    select(value < 0.0f32, -whole, whole)
}

/// Returns the bounds of a part of the elements from `begin` to `last`, clamped to `size`.
#[cube]
fn window(begin: f32, last: f32, part: usize, parts: usize, size: usize) -> (usize, usize) {
    let bin = max(last - begin + 1.0f32, 1.0f32) / f32::cast_from(parts);
    let part = f32::cast_from(part);
    (within((part * bin).floor() + begin, size), within(((part + 1.0f32) * bin).ceil() + begin, size))
}

#[cube]
fn within(at: f32, size: usize) -> usize {
    min(u32::cast_from(clamp(at, 0.0f32, f32::cast_from(size))) as usize, size)
}
