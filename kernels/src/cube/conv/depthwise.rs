//! Convolutions of single channels: a unit has outputs side by side in a row, whose windows share what it reads.

// A condition that is comptime decides which code there is.
#![allow(clippy::collapsible_if)]

use cubecl::prelude::*;

use super::{Geometry, Shader, positions::finished};

/// The largest window along a row, and the largest step between two of them: what lies between is read.
pub const WINDOW: usize = 7;
pub const STEP: usize = 2;

/// What a unit computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Outputs side by side.
    pub outputs: usize,
    pub window: usize,
    pub step: usize,
}

impl Row {
    /// For rows of so many outputs.
    pub fn of(outputs: usize, window: usize, step: usize) -> Self {
        Self {
            outputs: outputs.next_power_of_two().min(8),
            window,
            step,
        }
    }

    fn read(self) -> usize {
        (self.outputs - 1) * self.step + self.window
    }
}

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
    let width = geometry.output.width as usize;
    let height = geometry.output.height as usize;
    let all = geometry.groups as usize * geometry.outputs as usize;
    let pieces = width.div_ceil(row.outputs);
    let left = ABSOLUTE_POS % pieces * row.outputs;
    let line = ABSOLUTE_POS / pieces;
    let top = line % height;
    let output = line / height % all;
    let batch = line / height / all;

    let input = batch * geometry.next_batch as usize
        + output / geometry.outputs as usize * geometry.next_channel as usize;
    let begin = (left * row.step) as i32 - geometry.padding.width as i32;
    let taps = (geometry.kernel.height * geometry.kernel.width) as usize;
    let mut sums = Array::<f32>::new(row.outputs);
    #[unroll]
    for at in 0..row.outputs {
        sums[at] = 0.0f32;
    }
    for tap in 0..geometry.kernel.height {
        let from = (top as u32 * geometry.stride.height + tap * geometry.dilation.height) as i32
            - geometry.padding.height as i32;
        // Above the first row it is a great number.
        if (from as u32) < geometry.input.height {
            let start = input + from as usize * geometry.next.height as usize;
            let mut elements = Sequence::<f32>::new();
            #[unroll]
            for at in 0..comptime!(row.read()) {
                let place = (begin + at as i32) as u32;
                let inside = place < geometry.input.width;
                let place = select(inside, place, 0u32) as usize;
                let element = f32::cast_from(x[start + place * geometry.next.width as usize]);
                elements.push(select(inside, element, 0.0f32));
            }
            let mut factors = Sequence::<f32>::new();
            #[unroll]
            for across in 0..row.window {
                let from = output * taps + tap as usize * row.window + across;
                factors.push(f32::cast_from(weight[from]));
            }
            #[unroll]
            for at in 0..row.outputs {
                let mut total = sums[at];
                #[unroll]
                for across in 0..row.window {
                    total +=
                        *factors.index(across) * *elements.index(comptime!(at * row.step + across));
                }
                sums[at] = total;
            }
        }
    }

    #[unroll]
    for at in 0..row.outputs {
        if left + at < width {
            let to = line * width + left + at;
            let total = finished(sums[at], output, to, bias, sum, &geometry, shader);
            y[to] = T::cast_from(total);
        }
    }
}
