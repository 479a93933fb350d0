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
    let columns = channels / lanes;
    let terms = elements(&geometry.kernel) * columns;
    let row = output * terms;
    let mut own = 0.0f32;
    for term in range_stepped(unit, terms, UNITS) {
        let tap = (term / columns) as u32;
        let line = tap / geometry.kernel.width;
        let step = Axes {
            depth: line / geometry.kernel.height,
            height: line % geometry.kernel.height,
            width: tap % geometry.kernel.width,
        };
        let (inside, offset) = element(&begin, &step, &geometry, shader);
        if inside {
            let weights = weight[row + term];
            #[unroll]
            for lane in 0..lanes {
                let channel = term % columns * lanes + lane;
                let from = input + offset + channel * geometry.next_channel as usize;
                own += f32::cast_from(weights.extract(lane)) * f32::cast_from(x[from]);
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
