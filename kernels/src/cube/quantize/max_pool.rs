//! MaxPool of integers.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::untile, tensor::CubeTensor};
use cubecl::prelude::*;

use crate::cube::{
    blank,
    launch::{Grid, Strided, launch},
    narrow,
    sizes::reach,
    type_of,
};
use crate::spec::{pool::planes, window::Window};

/// An axis that windows slide along.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
struct Slide {
    size: u32,
    positions: u32,
    kernel: u32,
    stride: u32,
    dilation: u32,
    padding: u32,
    /// Stride of the input, in elements.
    next: u32,
}

/// The greatest of each window of `[batch, channels, rows, columns]`.
pub fn max_pool(x: CubeTensor, window: Window<2>, positions: [usize; 2]) -> CubeTensor {
    let x = untile(x);
    let y = blank(&x, planes(&type_of(&x), positions));
    let count = y.shape().num_elements();
    if count == 0 {
        return y;
    }
    let (shape, strides) = (x.shape(), x.meta.strides().clone());
    let slide = |axis: usize| {
        let (kernel, dilation) = (window.kernel[axis], window.dilations[axis]);
        narrow(reach(positions[axis], window.strides[axis], kernel, dilation));
        SlideLaunch::new(
            narrow(shape[axis + 2]),
            narrow(positions[axis]),
            narrow(window.kernel[axis]),
            narrow(window.strides[axis]),
            narrow(window.dilations[axis]),
            narrow(window.pads[axis].0),
            narrow(strides[axis + 2]),
        )
    };
    let dtype = dtype_to_storage_type(x.dtype);
    launch!(Grid::units(count) => pool_kernel(
        Strided(x), &y;
        count, shape[1], strides[0], strides[1], slide(0), slide(1), dtype,
    ));
    y
}

/// A unit finds the greatest element of a window.
///
/// Units beyond `count`, the number of elements of `y`, end. Along each axis of `x`, an index below its size
/// is read alone; no window reaches 2^32 elements, so that one before the first element is a great number.
#[cube(launch_unchecked, address_type = "dynamic")]
fn pool_kernel<I: Int>(
    x: &Tensor<I>,
    y: &mut Tensor<I>,
    count: usize,
    channels: usize,
    next_batch: usize,
    next_channel: usize,
    rows: Slide,
    columns: Slide,
    #[define(I)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let across = columns.positions as usize;
    let down = rows.positions as usize;
    let left = (ABSOLUTE_POS % across) as u32 * columns.stride;
    let top = (ABSOLUTE_POS / across % down) as u32 * rows.stride;
    let plane = ABSOLUTE_POS / across / down;
    let first = plane / channels * next_batch + plane % channels * next_channel;
    let mut greatest = I::min_value();
    for height in 0..rows.kernel {
        // Before the first row it is a great number.
        let row = top + height * rows.dilation - rows.padding;
        if row < rows.size {
            let line = first + row as usize * rows.next as usize;
            for width in 0..columns.kernel {
                let column = left + width * columns.dilation - columns.padding;
                if column < columns.size {
                    greatest = max(greatest, x[line + column as usize * columns.next as usize]);
                }
            }
        }
    }
    y[ABSOLUTE_POS] = greatest;
}
