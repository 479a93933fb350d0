//! RoiAlign.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::Operands;
use crate::{
    cube::{
        INFINITE,
        launch::{Grid, launch},
        magnitude,
    },
    spec::regions::{Mode, RoiAlign},
};

/// Maximum number of points along an axis: 2^24, up to which a float counts exactly.
const MOST_POINTS: f32 = 16_777_216.0;

/// Aligns regions. `batches` are indices of images.
pub fn roi_align(
    x: CubeTensor,
    rois: CubeTensor,
    batches: CubeTensor,
    options: RoiAlign,
) -> Option<CubeTensor> {
    let operands = Operands::new(x, rois, batches, options.output)?;
    let Operands { x, rois, batches, y } = operands;
    let [_, channels, height, width] = x.shape().dims();
    let count = y.shape().num_elements();
    let dtype = dtype_to_storage_type(x.dtype);
    launch!(Grid::units(count) => align_kernel(
        x, rois, batches, &y;
        count, channels, height, width, options.output[0], options.output[1], options.sampling,
        options.scale, options.half_pixel, options.sampling == 0, options.mode, dtype,
    ));
    Some(y)
}

/// Points of an element of the result along an axis.
#[derive(CubeType)]
struct Points {
    begin: f32,
    bin: f32,
    cell: f32,
    /// Number of points.
    count: usize,
    /// Range of the points that may be in the image.
    first: usize,
    end: usize,
}

/// A unit computes an element of the result.
///
/// Units beyond `count`, the number of elements of `y`, end. `x` has `height * width` elements for each
/// channel, and each of `rois` has an element of `batches`, the index of a batch of `x`. Coordinates are
/// clamped to the image as indices, after the conversion from floats: NaN becomes any integer.
#[cube(launch_unchecked, address_type = "dynamic")]
fn align_kernel<T: Numeric>(
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
    sampling: usize,
    scale: f32,
    #[comptime] half_pixel: bool,
    #[comptime] is_adaptive: bool,
    #[comptime] mode: Mode,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let (plane, cell) = (ABSOLUTE_POS / (rows * columns), ABSOLUTE_POS % (rows * columns));
    let (roi, channel) = (plane / channels, plane % channels);
    let plane = (batches[roi] as usize * channels + channel) * height * width;
    let mut offset = 0.0f32;
    if comptime!(half_pixel) {
        offset = 0.5f32;
    }
    let x0 = rois[4 * roi] * scale - offset;
    let y0 = rois[4 * roi + 1] * scale - offset;
    let mut across = rois[4 * roi + 2] * scale - offset - x0;
    let mut along = rois[4 * roi + 3] * scale - offset - y0;
    if comptime!(!half_pixel) {
        across = max(across, 1.0f32);
        along = max(along, 1.0f32);
    }
    let (row, column) = (cell / columns, cell % columns);
    let vertical = points(y0, along, row, rows, height, sampling, is_adaptive);
    let horizontal = points(x0, across, column, columns, width, sampling, is_adaptive);
    let inside = (vertical.end - vertical.first) * (horizontal.end - horizontal.first);
    let mut sum = 0.0f32;
    // Points outside the image contribute 0.
    let mut is_first = inside == vertical.count * horizontal.count;
    for i in vertical.first..vertical.end {
        let at = point(&vertical, i);
        let is_beyond = is_outside(at, height);
        let at = clamp(at, 0.0f32, f32::cast_from(height - 1));
        let top = min(u32::cast_from(at) as usize, height - 1);
        let bottom = min(top + 1, height - 1);
        let below = at - f32::cast_from(top);
        for j in horizontal.first..horizontal.end {
            let at = point(&horizontal, j);
            let is_outside = is_beyond || is_outside(at, width);
            let at = clamp(at, 0.0f32, f32::cast_from(width - 1));
            let left = min(u32::cast_from(at) as usize, width - 1);
            let right = min(left + 1, width - 1);
            let beside = at - f32::cast_from(left);
            let (top, bottom) = (plane + top * width, plane + bottom * width);
            let a = f32::cast_from(x[top + left]) * ((1.0f32 - below) * (1.0f32 - beside));
            let b = f32::cast_from(x[top + right]) * ((1.0f32 - below) * beside);
            let c = f32::cast_from(x[bottom + left]) * (below * (1.0f32 - beside));
            let d = f32::cast_from(x[bottom + right]) * (below * beside);
            if comptime!(mode == Mode::Average) {
                sum += select(is_outside, 0.0f32, a + b + c + d);
            } else {
                let greatest = select(is_outside, 0.0f32, max(max(a, b), max(c, d)));
                sum = select(is_first, greatest, max(sum, greatest));
                is_first = false;
            }
        }
    }
    if comptime!(mode == Mode::Average) {
        let count = f32::cast_from(vertical.count) * f32::cast_from(horizontal.count);
        sum /= max(count, 1.0f32);
    }
    y[ABSOLUTE_POS] = T::cast_from(sum);
}

/// Returns the points along an axis, with the range that may be in the image: a region may be as large as floats.
#[cube]
fn points(
    begin: f32,
    length: f32,
    cell: usize,
    cells: usize,
    size: usize,
    sampling: usize,
    #[comptime] is_adaptive: bool,
) -> Points {
    let bin = length / f32::cast_from(cells);
    let cell = f32::cast_from(cell);
    let mut count = sampling;
    let mut first = 0usize;
    let mut end = sampling;
    if comptime!(is_adaptive) {
        count = 0usize;
        end = 0usize;
        if magnitude(bin) < INFINITE && bin > 0.0f32 {
            let grid = min(bin.ceil(), MOST_POINTS);
            let step = bin / grid;
            let start = begin + bin * cell;
            count = u32::cast_from(grid) as usize;
            let least = ((-1.0f32 - start) / step).floor() - 2.0f32;
            let most = ((f32::cast_from(size) - start) / step).ceil() + 2.0f32;
            first = min(u32::cast_from(clamp(least, 0.0f32, grid)) as usize, count);
            end = min(u32::cast_from(clamp(most, 0.0f32, grid)) as usize, count);
            end = max(first, end);
        }
    }
    Points { begin, bin, cell, count, first, end }
}

#[cube]
fn point(points: &Points, at: usize) -> f32 {
    let part = (f32::cast_from(at) + 0.5f32) / f32::cast_from(points.count);
    points.begin + points.bin * (points.cell + part)
}

#[cube]
fn is_outside(at: f32, size: usize) -> bool {
    at < -1.0f32 || at > f32::cast_from(size) || magnitude(at) > INFINITE
}
