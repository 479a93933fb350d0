//! Convolutions whose cubes compute tiles of output pixels.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use cubecl::prelude::*;

use super::{Axes, Geometry, Shader};
use crate::cube::epilogue::activated;

/// Number of units of a cube.
pub const UNITS: usize = 64;

/// Number of cubes that keeps most devices busy.
const BUSY: usize = 64;

/// Tile of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Number of output channels.
    pub outputs: usize,
    /// Number of output pixels, which are `across` apart.
    pub positions: usize,
    /// Number of units with the same output channels and adjacent output pixels.
    pub across: usize,
}

impl Tile {
    /// Returns the tile for numbers of output channels and output pixels, `times` over.
    ///
    /// A large tile reads less for each product, which decides on adapters that are CPUs, as they load each
    /// lane by itself; others need enough cubes to be busy.
    pub fn of(outputs: usize, positions: usize, times: usize, has_wide_planes: bool) -> Self {
        let large = Self::up_to(8, outputs, positions);
        let [of_outputs, of_positions] = large.of_cube();
        let cubes = times * outputs.div_ceil(of_outputs) * positions.div_ceil(of_positions);
        if has_wide_planes && cubes < BUSY { Self::up_to(4, outputs, positions) } else { large }
    }

    fn up_to(most: usize, outputs: usize, positions: usize) -> Self {
        let each = outputs.next_power_of_two().min(most);
        let rows = outputs.div_ceil(each).next_power_of_two().min(8);
        let across = UNITS / rows;
        Self { outputs: each, positions: positions.div_ceil(across).next_power_of_two().min(most), across }
    }

    /// Returns the numbers of output channels and output pixels of a cube.
    pub fn of_cube(self) -> [usize; 2] {
        [UNITS / self.across * self.outputs, self.across * self.positions]
    }
}

/// Start of an input window in its channel, negative in the padding.
#[derive(CubeType, Clone, Copy)]
pub struct Begin {
    pub depth: i32,
    pub height: i32,
    pub width: i32,
}

/// Output channels and output pixels of a unit.
#[derive(CubeType, Clone, Copy)]
pub struct Spot {
    /// The first output channel of the tile in its group, and its first output pixel.
    pub first: usize,
    pub place: usize,
    pub group: usize,
    pub batch: usize,
}

/// A cube computes a tile of output pixels and outputs.
///
/// Cubes beyond `cubes`, the tiles of all groups and batches, end. Output pixels and outputs beyond the last
/// one are read as the last one and not written. `x` is read by its strides at indices within its axes, or at
/// the first element of a channel if windows are `padded`; `weight` in the order of outputs, taps and
/// channels. `bias` has an element for each output, `sum` one for each of `y`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn positions_kernel<T: Float, N: Size>(
    x: &Tensor<T>,
    weight: &Tensor<Vector<T, N>>,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
    y: &mut Tensor<T>,
    geometry: Geometry,
    cubes: usize,
    #[comptime] tile: Tile,
    #[comptime] shader: Shader,
    #[define(T)] _dtype: ElemType,
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let outputs = geometry.outputs as usize;
    let positions = elements(&geometry.output);
    let spot = spot(&geometry, tile);
    let no_zeros = Array::<f32>::new(1usize);
    let sums = products::<T, T, f32, N>(x, weight, 0.0f32, &no_zeros, &spot, &geometry, tile, shader);
    let (first, place, group, batch) = (spot.first, spot.place, spot.group, spot.batch);

    #[unroll]
    for output in 0..tile.outputs {
        if first + output < outputs {
            let of = group * outputs + first + output;
            #[unroll]
            for at in 0..tile.positions {
                let position = place + at * tile.across;
                if position < positions {
                    let to = (batch * geometry.groups as usize * outputs + of) * positions + position;
                    let total = sums[output * tile.positions + at];
                    let mut total = added(total, of, to, bias, sum);
                    if comptime!(!shader.function.is_long()) {
                        total = activated(total, geometry.alpha, geometry.beta, shader.function);
                    }
                    y[to] = T::cast_from(total);
                }
            }
        }
    }
    if comptime!(shader.function.is_long()) {
        for element in 0..comptime!(tile.outputs * tile.positions).runtime() {
            let output = first + element / tile.positions;
            let position = place + element % tile.positions * tile.across;
            if output < outputs && position < positions {
                let of = group * outputs + output;
                let to = (batch * geometry.groups as usize * outputs + of) * positions + position;
                let total = f32::cast_from(y[to]);
                let total = activated(total, geometry.alpha, geometry.beta, shader.function);
                y[to] = T::cast_from(total);
            }
        }
    }
}

/// Returns the output channels and output pixels of a unit.
#[cube]
pub fn spot(geometry: &Geometry, #[comptime] tile: Tile) -> Spot {
    let unit = UNIT_POS as usize;
    let tiles = (geometry.outputs as usize).div_ceil(comptime!(tile.of_cube()[0]));
    let stretches = elements(&geometry.output).div_ceil(comptime!(tile.of_cube()[1]));
    let first = CUBE_POS % tiles * comptime!(tile.of_cube()[0]) + unit / tile.across * tile.outputs;
    let rest = CUBE_POS / tiles;
    let place = rest % stretches * comptime!(tile.of_cube()[1]) + unit % tile.across;
    let rest = rest / stretches;
    Spot { first, place, group: rest % geometry.groups as usize, batch: rest / geometry.groups as usize }
}

/// Returns the sums of a tile, output pixel by output pixel for each output channel, of elements and weights
/// less their zero points. Each output channel has a zero point of its weights.
#[cube]
pub fn products<T: Numeric, W: Numeric, S: Numeric, N: Size>(
    x: &Tensor<T>,
    weight: &Tensor<Vector<W, N>>,
    zero: S,
    weight_zeros: &Array<S>,
    spot: &Spot,
    geometry: &Geometry,
    #[comptime] tile: Tile,
    #[comptime] shader: Shader,
) -> Array<S> {
    let lanes = weight.vector_size();
    let outputs = geometry.outputs as usize;
    let channels = geometry.channels as usize;
    let positions = elements(&geometry.output);
    let input =
        spot.batch * geometry.next_batch as usize + spot.group * channels * geometry.next_channel as usize;
    let row = elements(&geometry.kernel) * channels / lanes;
    let mut sums = Array::<S>::new(comptime!(tile.outputs * tile.positions));
    #[unroll]
    for at in 0..comptime!(tile.outputs * tile.positions) {
        sums[at] = S::from_int(0);
    }
    let mut begins = Sequence::<Begin>::new();
    #[unroll]
    for at in 0..tile.positions {
        begins.push(begin(min(spot.place + at * tile.across, positions - 1), geometry, shader));
    }

    let mut tap = 0usize;
    for depth in 0..geometry.kernel.depth {
        for height in 0..geometry.kernel.height {
            for width in 0..geometry.kernel.width {
                let mut offsets = Sequence::<usize>::new();
                let mut inside = Sequence::<bool>::new();
                #[unroll]
                for at in 0..tile.positions {
                    let step = Axes { depth, height, width };
                    let (is_inside, offset) = element(begins.index(at), &step, geometry, shader);
                    inside.push(is_inside);
                    offsets.push(input + offset);
                }
                for channel in range_stepped(0u32, geometry.channels, lanes as u32) {
                    let mut elements = Sequence::<S>::new();
                    #[unroll]
                    for at in 0..tile.positions {
                        #[unroll]
                        for lane in 0..lanes {
                            let from = *offsets.index(at)
                                + (channel as usize + lane) * geometry.next_channel as usize;
                            let mut element = S::cast_from(x[from]);
                            if comptime!(shader.zeros.left) {
                                element -= zero;
                            }
                            if comptime!(shader.padded) {
                                element = select(*inside.index(at), element, S::from_int(0));
                            }
                            elements.push(element);
                        }
                    }
                    let column = (tap * channels + channel as usize) / lanes;
                    #[unroll]
                    for output in 0..tile.outputs {
                        // Beyond the last output channel its weights are read again, and nothing is written.
                        let of = spot.group * outputs + min(spot.first + output, outputs - 1);
                        let weights = weight[of * row + column];
                        let mut factors = Sequence::<S>::new();
                        #[unroll]
                        for lane in 0..lanes {
                            let mut factor = S::cast_from(weights.extract(lane));
                            if comptime!(shader.zeros.right) {
                                factor -= weight_zeros[output];
                            }
                            factors.push(factor);
                        }
                        #[unroll]
                        for at in 0..tile.positions {
                            let to = comptime!(output * tile.positions + at);
                            let mut total = sums[to];
                            #[unroll]
                            for lane in 0..lanes {
                                total += *factors.index(lane) * *elements.index(comptime!(at * lanes + lane));
                            }
                            sums[to] = total;
                        }
                    }
                }
                tap += 1;
            }
        }
    }
    sums
}

/// Returns the product of three sizes.
#[cube]
pub fn elements(axes: &Axes) -> usize {
    axes.depth as usize * axes.height as usize * axes.width as usize
}

/// Returns the start of the input window of an output pixel.
#[cube]
pub fn begin(position: usize, geometry: &Geometry, #[comptime] shader: Shader) -> Begin {
    let mut rest = position as u32;
    let mut depth = 0u32;
    let mut height = 0u32;
    if comptime!(shader.axes > 1) {
        let width = rest % geometry.output.width;
        let above = rest / geometry.output.width;
        height = above;
        rest = width;
        if comptime!(shader.axes > 2) {
            depth = above / geometry.output.height;
            height = above % geometry.output.height;
        }
    }
    Begin {
        depth: (depth * geometry.stride.depth) as i32 - geometry.padding.depth as i32,
        height: (height * geometry.stride.height) as i32 - geometry.padding.height as i32,
        width: (rest * geometry.stride.width) as i32 - geometry.padding.width as i32,
    }
}

/// Returns whether a tap of a window is in the input, and its offset in its channel.
#[cube]
pub fn element(begin: &Begin, step: &Axes, geometry: &Geometry, #[comptime] shader: Shader) -> (bool, usize) {
    let width = (begin.width + (step.width * geometry.dilation.width) as i32) as u32;
    let mut offset = width as usize * geometry.next.width as usize;
    // Below 0 it is a great number.
    let mut inside = width < geometry.input.width;
    if comptime!(shader.axes > 1) {
        let height = (begin.height + (step.height * geometry.dilation.height) as i32) as u32;
        offset += height as usize * geometry.next.height as usize;
        inside = inside && height < geometry.input.height;
    }
    if comptime!(shader.axes > 2) {
        let depth = (begin.depth + (step.depth * geometry.dilation.depth) as i32) as u32;
        offset += depth as usize * geometry.next.depth as usize;
        inside = inside && depth < geometry.input.depth;
    }
    if comptime!(shader.padded) {
        offset = select(inside, offset, 0usize);
    }
    (inside, offset)
}

/// Returns the element of an output pixel from its sum.
#[cube]
pub fn finished<T: Float>(
    total: f32,
    output: usize,
    to: usize,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
    geometry: &Geometry,
    #[comptime] shader: Shader,
) -> f32 {
    let total = added(total, output, to, bias, sum);
    activated(total, geometry.alpha, geometry.beta, shader.function)
}

#[cube]
fn added<T: Float>(
    total: f32,
    output: usize,
    to: usize,
    bias: ComptimeOption<&[T]>,
    sum: ComptimeOption<&[T]>,
) -> f32 {
    let mut total = total;
    #[comptime]
    match bias {
        ComptimeOption::Some(bias) => total += f32::cast_from(bias[output]),
        ComptimeOption::None => {}
    }
    #[comptime]
    match sum {
        ComptimeOption::Some(sum) => total += f32::cast_from(sum[to]),
        ComptimeOption::None => {}
    }
    total
}
