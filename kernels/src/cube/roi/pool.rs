//! MaxRoiPool.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::tensor::CubeTensor;
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::Operands;

/// `batches` are those of the image.
pub fn max_roi_pool(
    x: CubeTensor,
    rois: CubeTensor,
    batches: CubeTensor,
    output: [usize; 2],
    scale: f32,
) -> Option<CubeTensor> {
    let operands = Operands::new(x, rois, batches, output)?;
    let address = operands.address();
    let Operands {
        x,
        rois,
        batches,
        y,
    } = operands;
    let [_, channels, height, width] = x.shape().dims();
    let client = y.client.clone();
    let count = y.shape().num_elements();
    let units = CubeDim::new(&client, count);
    let dtype = dtype_to_storage_type(x.dtype);
    // Safety: a unit beyond the results ends; images are read in their batches, in windows within their sizes.
    unsafe {
        pool_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, count, units),
            units,
            address,
            x.into_tensor_arg(),
            rois.into_tensor_arg(),
            batches.into_tensor_arg(),
            y.clone().into_tensor_arg(),
            count,
            channels,
            height,
            width,
            output[0],
            output[1],
            scale,
            dtype,
        );
    }
    Some(y)
}

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
    let (plane, cell) = (
        ABSOLUTE_POS / (rows * columns),
        ABSOLUTE_POS % (rows * columns),
    );
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

/// To the nearest whole number, halves away from zero.
#[cube]
fn rounded(value: f32) -> f32 {
    let size = value.abs();
    let whole = size.floor();
    let whole = select(size - whole >= 0.5f32, whole + 1.0f32, whole);
    select(value < 0.0f32, -whole, whole)
}

/// Where a part of the elements from `begin` to `last` begins and ends, as far as it lies within `size`.
#[cube]
fn window(begin: f32, last: f32, part: usize, parts: usize, size: usize) -> (usize, usize) {
    let bin = max(last - begin + 1.0f32, 1.0f32) / f32::cast_from(parts);
    let part = f32::cast_from(part);
    (
        within((part * bin).floor() + begin, size),
        within(((part + 1.0f32) * bin).ceil() + begin, size),
    )
}

#[cube]
fn within(at: f32, size: usize) -> usize {
    min(
        u32::cast_from(clamp(at, 0.0f32, f32::cast_from(size))) as usize,
        size,
    )
}
