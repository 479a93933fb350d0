//! Convolutions of single channels.
//!
//! A unit computes adjacent output pixels, whose windows share elements.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use cubecl::prelude::*;

use super::{Geometry, Shader, positions::finished};

/// The largest window along a row, and the largest stride: the elements between two windows are read too.
pub const WINDOW: usize = 7;
pub const STEP: usize = 2;

/// Elements after an input window that a unit reads, at most, if it has fewer output pixels than its row.
pub const BEYOND: usize = 8 * STEP + WINDOW;

/// Output pixels of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Number of adjacent output pixels.
    pub outputs: usize,
    pub window: usize,
    pub step: usize,
}

impl Row {
    /// Returns the pixels of a unit for rows of `outputs` output pixels.
    pub fn of(outputs: usize, window: usize, step: usize) -> Self {
        Self { outputs: outputs.next_power_of_two().min(8), window, step }
    }

    fn read(self) -> usize {
        (self.outputs - 1) * self.step + self.window
    }
}

/// A unit computes output pixels that are neighbors in a row.
///
/// Units beyond `count`, the pieces of all rows, end, and output pixels beyond the end of a row are not
/// written. Rows of `x` beyond its height are not read; elements beyond its width are read as the first one.
/// `weight` has the taps of each output, and `bias` an element.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn depthwise_kernel<T: Float>(
    x: &Tensor<T>,
    weight: &Tensor<T>,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    geometry: Geometry,
    count: usize,
    #[comptime] row: Row,
    #[comptime] shader: Shader,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let spot = spot(ABSOLUTE_POS, &geometry, row);
    let width = geometry.output.width as usize;
    let sums = products::<T, T, f32>(x, weight, 0.0f32, 0.0f32, &spot, &geometry, row, shader);
    #[unroll]
    for at in 0..row.outputs {
        if spot.left + at < width {
            let to = spot.line * width + spot.left + at;
            let total = finished(sums[at], spot.output, to, bias, sum, &geometry, shader);
            y[to] = T::cast_from(total);
        }
    }
}

/// Output pixels of a unit in the result.
#[derive(CubeType, Clone, Copy)]
pub struct Spot {
    /// The first column, and the row among those of all batches and output channels.
    pub left: usize,
    pub line: usize,
    pub output: usize,
}

#[cube]
pub fn spot(position: usize, geometry: &Geometry, #[comptime] row: Row) -> Spot {
    let pieces = (geometry.output.width as usize).div_ceil(row.outputs);
    let line = position / pieces;
    let all = geometry.groups as usize * geometry.outputs as usize;
    Spot { left: position % pieces * row.outputs, line, output: line / geometry.output.height as usize % all }
}

/// Returns the sums of products of elements and weights less their zero points.
#[cube]
pub fn products<T: Numeric, W: Numeric, S: Numeric>(
    x: &Tensor<T>,
    weight: &Tensor<W>,
    zero: S,
    weight_zero: S,
    spot: &Spot,
    geometry: &Geometry,
    #[comptime] row: Row,
    #[comptime] shader: Shader,
) -> Array<S> {
    let height = geometry.output.height as usize;
    let all = geometry.groups as usize * geometry.outputs as usize;
    let top = spot.line % height;
    let batch = spot.line / height / all;
    let input = batch * geometry.next_batch as usize
        + spot.output / geometry.outputs as usize * geometry.next_channel as usize;
    let begin = (spot.left * row.step) as i32 - geometry.padding.width as i32;
    let taps = (geometry.kernel.height * geometry.kernel.width) as usize;
    let mut sums = Array::<S>::new(row.outputs);
    #[unroll]
    for at in 0..row.outputs {
        sums[at] = S::from_int(0);
    }
    for tap in 0..geometry.kernel.height {
        let from = (top as u32 * geometry.stride.height + tap * geometry.dilation.height) as i32
            - geometry.padding.height as i32;
        // Above the first row the index is a great number.
        if (from as u32) < geometry.input.height {
            let start = input + from as usize * geometry.next.height as usize;
            let mut elements = Sequence::<S>::new();
            #[unroll]
            for at in 0..comptime!(row.read()) {
                let place = (begin + at as i32) as u32;
                let inside = place < geometry.input.width;
                let place = select(inside, place, 0u32) as usize;
                let mut element = S::cast_from(x[start + place * geometry.next.width as usize]);
                if comptime!(shader.zeros.left) {
                    element -= zero;
                }
                elements.push(select(inside, element, S::from_int(0)));
            }
            let mut factors = Sequence::<S>::new();
            #[unroll]
            for across in 0..row.window {
                let of = spot.output * taps + tap as usize * row.window + across;
                let mut factor = S::cast_from(weight[of]);
                if comptime!(shader.zeros.right) {
                    factor -= weight_zero;
                }
                factors.push(factor);
            }
            #[unroll]
            for at in 0..row.outputs {
                let mut total = sums[at];
                #[unroll]
                for across in 0..row.window {
                    total += *factors.index(across) * *elements.index(comptime!(at * row.step + across));
                }
                sums[at] = total;
            }
        }
    }
    sums
}
