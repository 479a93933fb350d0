//! The largest element or the mean of each window, in one launch.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::untile, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    blank, is_nan,
    launch::{Grid, Strided, launch},
    narrow,
    sizes::reach,
    type_of,
};
use crate::spec::pool::{Of, Slide};

/// An axis that windows move along.
#[derive(CubeLaunch, CubeType)]
struct Axis {
    size: u32,
    kernel: u32,
    step: u32,
    dilation: u32,
    before: u32,
    /// End of the elements that count, from the start of the padding before them.
    end: u32,
    positions: u32,
    /// Stride of the input, in elements.
    next: u32,
}

pub fn slide(x: CubeTensor, slide: Slide) -> CubeTensor {
    let x = untile(x);
    let y = blank(&x, slide.result(&type_of(&x)));
    let shape = y.shape();
    let count = shape.num_elements();
    if count == 0 {
        return y;
    }
    let (g, strides) = (slide.geometry, x.meta.strides());
    let missing = 5 - shape.num_dims();
    let mut axes = SequenceArg::new();
    for axis in 0..3usize {
        let next = axis.checked_sub(missing).map_or(0, |at| strides[2 + at]);
        let padding = match slide.of {
            Of::Mean { padding: true } => slide.after[axis],
            Of::Mean { padding: false } | Of::Largest => 0,
        };
        narrow(reach(g.positions[axis], g.strides[axis], g.kernel[axis], g.dilations[axis]));
        axes.push(AxisLaunch::new(
            narrow(g.sizes[axis]),
            narrow(g.kernel[axis]),
            narrow(g.strides[axis]),
            narrow(g.dilations[axis]),
            narrow(g.before[axis]),
            narrow(g.before[axis] + g.sizes[axis] + padding),
            narrow(g.positions[axis]),
            narrow(next),
        ));
    }
    // Shaders have no literal of infinity.
    let initial = match slide.of {
        Of::Largest => f32::NEG_INFINITY,
        Of::Mean { .. } => 0.0,
    };
    let (batch, channel) = (narrow(strides[0]), narrow(strides[1]));
    let dtype = dtype_to_storage_type(x.dtype);
    launch!(Grid::units(count) => slide_kernel(
        Strided(x), &y;
        axes, count, shape[1], batch, channel, initial, slide.of == Of::Largest,
        slide.of == Of::Mean { padding: true }, dtype,
    ));
    y
}

/// A unit reduces a window.
///
/// Units beyond `count`, the number of elements of `y`, end. Along each axis of `x`, an index below its size
/// is read alone; no window reaches 2^32 elements, so that one before the first element is a great number.
#[cube(launch_unchecked, address_type = "dynamic")]
fn slide_kernel<T: Float>(
    x: &Tensor<T>,
    y: &mut Tensor<T>,
    axes: Sequence<Axis>,
    count: usize,
    channels: usize,
    next_batch: u32,
    next_channel: u32,
    initial: f32,
    #[comptime] is_largest: bool,
    #[comptime] counts_padding: bool,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let (depths, heights, widths) = (axes.index(0), axes.index(1), axes.index(2));
    let mut rest = ABSOLUTE_POS;
    let width = (rest % widths.positions as usize) as u32 * widths.step;
    rest /= widths.positions as usize;
    let height = (rest % heights.positions as usize) as u32 * heights.step;
    rest /= heights.positions as usize;
    let depth = (rest % depths.positions as usize) as u32 * depths.step;
    rest /= depths.positions as usize;
    let first = rest / channels * next_batch as usize + rest % channels * next_channel as usize;

    let mut value = initial;
    let mut counted = 0u32;
    for depth_tap in 0..depths.kernel {
        let depth_place = depth + depth_tap * depths.dilation;
        let (depth_inside, depth_at) = inside(depth_place, depths);
        for height_tap in 0..heights.kernel {
            let height_place = height + height_tap * heights.dilation;
            let (height_inside, height_at) = inside(height_place, heights);
            let row_inside = depth_inside && height_inside;
            let row_counts = depth_place < depths.end && height_place < heights.end;
            let row = first + depth_at + height_at;
            for width_tap in 0..widths.kernel {
                let place = width + width_tap * widths.dilation;
                let (column_inside, column_at) = inside(place, widths);
                let is_inside = row_inside && column_inside;
                if is_inside {
                    let element = f32::cast_from(x[row + column_at]);
                    if comptime!(is_largest) {
                        value = select(element > value || is_nan(element), element, value);
                    } else {
                        value += element;
                    }
                }
                if comptime!(counts_padding) {
                    counted += u32::cast_from(row_counts && place < widths.end);
                } else {
                    counted += u32::cast_from(is_inside);
                }
            }
        }
    }
    if comptime!(!is_largest) {
        value /= f32::cast_from(max(counted, 1u32));
    }
    y[ABSOLUTE_POS] = T::cast_from(value);
}

/// Returns whether a tap, counted from the start of the padding, is in the input, and its offset there.
#[cube]
fn inside(place: u32, axis: &Axis) -> (bool, usize) {
    let at = place - axis.before;
    // Before the first element it is a great number.
    let is_inside = at < axis.size;
    (is_inside, select(is_inside, at, 0u32) as usize * axis.next as usize)
}
