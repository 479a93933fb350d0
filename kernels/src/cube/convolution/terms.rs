//! Convolutions to few output pixels.
//!
//! The units of a cube share the sum of one output pixel.

use cubecl::prelude::*;

use super::positions::{begin, element, elements, finished};
use super::{Axes, Geometry, Shader};
use crate::cube::units::{UNITS, total};

/// A cube sums an element of the result.
///
/// Cubes beyond `cubes`, the elements of `y` and `sum`, end. `x` is read by its strides at indices within its
/// axes, `weight` in the order of outputs, taps and channels, and `bias` has an element for each output.
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
    let output = output(&geometry);
    let total = shared::<T, T, f32, N>(x, weight, 0.0f32, 0.0f32, &geometry, shader);
    if UNIT_POS == 0 {
        y[CUBE_POS] = T::cast_from(finished(total, output, CUBE_POS, bias, sum, &geometry, shader));
    }
}

/// Returns the output channel of a cube.
#[cube]
pub fn output(geometry: &Geometry) -> usize {
    let all = geometry.groups as usize * geometry.outputs as usize;
    CUBE_POS / elements(&geometry.output) % all
}

/// Returns the sum that the units of a cube share, of elements and weights less their zero points.
#[cube]
pub fn shared<T: Numeric, W: Numeric, S: Numeric, N: Size>(
    x: &Tensor<T>,
    weight: &Tensor<Vector<W, N>>,
    zero: S,
    weight_zero: S,
    geometry: &Geometry,
    #[comptime] shader: Shader,
) -> S {
    let lanes = weight.vector_size();
    let outputs = geometry.outputs as usize;
    let channels = geometry.channels as usize;
    let positions = elements(&geometry.output);
    let output = output(geometry);
    let batch = CUBE_POS / positions / (geometry.groups as usize * outputs);
    let input =
        batch * geometry.next_batch as usize + output / outputs * channels * geometry.next_channel as usize;

    let begin = begin(CUBE_POS % positions, geometry, shader);
    let columns = channels / lanes;
    let terms = elements(&geometry.kernel) * columns;
    let row = output * terms;
    let mut own = S::from_int(0);
    for term in range_stepped(UNIT_POS as usize, terms, UNITS) {
        let tap = (term / columns) as u32;
        let line = tap / geometry.kernel.width;
        let step = Axes {
            depth: line / geometry.kernel.height,
            height: line % geometry.kernel.height,
            width: tap % geometry.kernel.width,
        };
        let (inside, offset) = element(&begin, &step, geometry, shader);
        if inside {
            let weights = weight[row + term];
            #[unroll]
            for lane in 0..lanes {
                let channel = term % columns * lanes + lane;
                let from = input + offset + channel * geometry.next_channel as usize;
                let mut element = S::cast_from(x[from]);
                if comptime!(shader.zeros.left) {
                    element -= zero;
                }
                let mut factor = S::cast_from(weights.extract(lane));
                if comptime!(shader.zeros.right) {
                    factor -= weight_zero;
                }
                own += factor * element;
            }
        }
    }
    let mut shared = Shared::<[S]>::new_slice(UNITS);
    total(own, &mut shared)
}
