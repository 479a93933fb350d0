//! Units of a cube share the sum of one element: for few positions, whose sums are long.

use cubecl::prelude::*;

use super::positions::{begin, element, elements, finished};
use super::{Axes, Geometry, Shader};
use crate::cube::units::{UNITS, total};

#[cube(launch_unchecked, address_type = "dynamic")]
pub fn terms_kernel<T: Float, N: Size>(
    x: &Tensor<T>,
    weight: &Tensor<Vector<T, N>>,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    geometry: Geometry,
    cubes: usize,
    #[comptime] shader: Shader,
    #[define(T)] _dtype: ElemType,
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let lanes = weight.vector_size();
    let unit = UNIT_POS as usize;
    let outputs = geometry.outputs as usize;
    let channels = geometry.channels as usize;
    let positions = elements(&geometry.output);
    let position = CUBE_POS % positions;
    let all = geometry.groups as usize * outputs;
    let output = CUBE_POS / positions % all;
    let batch = CUBE_POS / positions / all;
    let input = batch * geometry.next_batch as usize
        + output / outputs * channels * geometry.next_channel as usize;

    let begin = begin(position, &geometry, shader);
    let row = output * elements(&geometry.kernel) * channels / lanes;
    let mut own = 0.0f32;
    let mut tap = 0usize;
    for depth in 0..geometry.kernel.depth {
        for height in 0..geometry.kernel.height {
            for width in 0..geometry.kernel.width {
                let step = Axes {
                    depth,
                    height,
                    width,
                };
                let (inside, offset) = element(&begin, &step, &geometry, shader);
                if inside {
                    for column in range_stepped(unit, channels / lanes, UNITS) {
                        let weights = weight[row + tap * (channels / lanes) + column];
                        #[unroll]
                        for lane in 0..lanes {
                            let from = input
                                + offset
                                + (column * lanes + lane) * geometry.next_channel as usize;
                            own += f32::cast_from(weights.extract(lane)) * f32::cast_from(x[from]);
                        }
                    }
                }
                tap += 1;
            }
        }
    }

    let mut shared = Shared::<[f32]>::new_slice(UNITS);
    let total = total(own, &mut shared);
    if unit == 0 {
        y[CUBE_POS] = T::cast_from(finished(
            total, output, CUBE_POS, bias, sum, &geometry, shader,
        ));
    }
}
