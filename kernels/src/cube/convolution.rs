//! Convolutions with their epilogue, in one launch.
//!
//! The units of a cube compute adjacent output pixels, each for some output channels: all units read the same weights at
//! the same time, and adjacent inputs. If there are few output pixels, the units of a cube share the sum of one element
//! instead; if outputs read single channels, a unit computes adjacent output pixels. The channels of the weights are
//! innermost in memory, as [`filters`] returns them. Devices with tensor cores have Burn's kernels, and the epilogue is
//! a launch of its own.

pub mod depthwise;
pub mod positions;
pub mod terms;

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::{DType, ops::ConvOptions};
use burn_cubecl::{
    kernel::{conv::conv_forward, into_contiguous, untile},
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};
use cubecl::prelude::*;

use self::{depthwise::Row, positions::Tile};
use super::{
    ensure_alike,
    epilogue::{Function, finish},
    launch::{Grid, Strided, launch},
    narrow,
    product::Zeros,
    sizes::{reach, within_i32},
    type_of,
    units::UNITS,
    unwritten,
};
use crate::spec::{
    convolution as spec,
    epilogue::{Activation, Epilogue},
};

/// Number of output pixels below which too many units are idle.
const FEW: usize = 16;

/// Sizes of a convolution over three axes. If it has fewer, the sizes of the first ones are 1.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Geometry {
    pub groups: u32,
    /// Number of channels that an output channel reads, and of output channels of a group.
    pub channels: u32,
    pub outputs: u32,
    pub input: Axes,
    pub kernel: Axes,
    pub output: Axes,
    pub stride: Axes,
    pub dilation: Axes,
    pub padding: Axes,
    /// Strides of the input.
    pub next_batch: u32,
    pub next_channel: u32,
    pub next: Axes,
    /// Parameters of the activation.
    pub alpha: f32,
    pub beta: f32,
}

#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Axes {
    pub depth: u32,
    pub height: u32,
    pub width: u32,
}

/// Compile-time options of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shader {
    /// Number of spatial axes.
    pub axes: usize,
    /// True if windows extend beyond the input.
    pub padded: bool,
    pub zeros: Zeros,
    pub function: Function,
}

/// Division of the work among units.
pub enum Plan {
    /// The units of a cube share the sum of one element.
    Terms,
    /// A unit computes adjacent output pixels. The second field is the number of units.
    Row(Row, usize),
    /// A unit computes a tile. The second field is the number of cubes.
    Tile(Tile, usize),
}

/// Returns the weights for [`conv`] with any epilogue.
pub fn pack_filters(weight: CubeTensor, _: usize, _: Epilogue) -> CubeTensor {
    filters(weight)
}

/// Returns the weights with the channels innermost in memory.
pub fn filters(weight: CubeTensor) -> CubeTensor {
    permute_nhwc_to_nchw(into_contiguous(permute_nchw_to_nhwc(weight)))
}

/// Returns `activation(x * weight + bias + sum)`. The padding of the options is zeros.
pub fn conv<const N: usize>(
    x: CubeTensor,
    weight: CubeTensor,
    bias: Option<CubeTensor>,
    sum: Option<CubeTensor>,
    options: ConvOptions<N>,
    epilogue: Epilogue,
) -> CubeTensor {
    ensure_alike(&x, [Some(&weight), bias.as_ref(), sum.as_ref()]);
    let shape = spec::result(&type_of(&x), &type_of(&weight), &options).shape;
    let count = shape.num_elements();
    if count == 0 {
        return unwritten(&x, shape, x.dtype);
    }
    let (x, weight) = (untile(x), filters(weight));
    let has_tensor_cores = !x.client.properties().features.matmul.cmma.is_empty();
    if has_tensor_cores {
        let y =
            conv_forward(x, weight, bias, options, Default::default()).expect("Burn convolves whatever fits");
        return finish(y, None, sum, epilogue.activation);
    }
    let y = unwritten(&x, shape, x.dtype);
    let zeros = Zeros::default();
    let (geometry, shader) = described_by(&x, &weight, &y, &options, zeros, epilogue.activation);
    let lanes = lanes(&weight);
    let plan = plan(&weight, &y, &options);
    let grid = plan.grid(&y, x.dtype);
    let dtype = dtype_to_storage_type(x.dtype);
    let [bias, sum] = [bias, sum].map(|operand| operand.map(into_contiguous));
    let (x, weight) = (Strided(x), Strided(weight));
    match plan {
        Plan::Terms => launch!(grid => terms::terms_kernel[lanes](
            x, weight, bias, sum, &y;
            geometry, count, shader, dtype,
        )),
        Plan::Row(row, count) => launch!(grid => depthwise::depthwise_kernel(
            x, weight, bias, sum, &y;
            geometry, count, row, shader, dtype,
        )),
        Plan::Tile(tile, count) => launch!(grid => positions::positions_kernel[lanes](
            x, weight, bias, sum, &y;
            geometry, count, tile, shader, dtype,
        )),
    }
    y
}

/// Returns the number of weights of adjacent channels that are read at once.
pub fn lanes(weight: &CubeTensor) -> usize {
    if weight.shape()[1].is_multiple_of(4) { 4 } else { 1 }
}

/// Returns the division of a convolution that is not empty.
pub fn plan<const N: usize>(weight: &CubeTensor, y: &CubeTensor, options: &ConvOptions<N>) -> Plan {
    let positions: usize = y.shape().iter().skip(2).product();
    if positions < FEW {
        return Plan::Terms;
    }
    if let Some(row) = row(weight, y, options) {
        let lines: usize = y.shape().iter().take(N + 1).product();
        return Plan::Row(row, lines * y.shape()[N + 1].div_ceil(row.outputs));
    }
    let wide = y.client.properties().hardware.plane_size_max > 8;
    let outputs = y.shape()[1] / options.groups;
    let times = y.shape()[0] * options.groups;
    let tile = Tile::of(outputs, positions, times, wide);
    let [of_outputs, of_positions] = tile.of_cube();
    let cubes = times * outputs.div_ceil(of_outputs) * positions.div_ceil(of_positions);
    Plan::Tile(tile, cubes)
}

impl Plan {
    /// Grid of a convolution with result `y`, whose sums are no wider than 32 bits or `dtype`.
    pub fn grid(&self, y: &CubeTensor, dtype: DType) -> Grid {
        let sum = dtype.size().max(size_of::<f32>());
        match *self {
            Self::Terms => Grid::cubes(y.shape().num_elements(), UNITS).shared(UNITS * sum),
            Self::Row(_, count) => Grid::units(count),
            Self::Tile(_, cubes) => Grid::cubes(cubes, positions::UNITS),
        }
    }
}

/// Returns the output pixels of a unit if the convolution reads single channels and adjacent elements.
fn row<const N: usize>(weight: &CubeTensor, y: &CubeTensor, options: &ConvOptions<N>) -> Option<Row> {
    let (window, step) = (weight.shape()[N + 1], options.stride[N - 1]);
    let is_one = N < 3 && weight.shape()[1] == 1 && window <= depthwise::WINDOW && step <= depthwise::STEP;
    let reads_neighbors = options.dilation[N - 1] == 1 || window == 1;
    (is_one && reads_neighbors).then(|| Row::of(y.shape()[N + 1], window, step))
}

pub fn described_by<const N: usize>(
    x: &CubeTensor,
    weight: &CubeTensor,
    y: &CubeTensor,
    options: &ConvOptions<N>,
    zeros: Zeros,
    activation: Activation,
) -> (GeometryLaunch, Shader) {
    let (function, [alpha, beta]) = Function::of(activation);
    let begins = options.padding_begin();
    let (input, kernel, output) = (x.shape(), weight.shape(), y.shape());
    let reaches: [usize; N] = std::array::from_fn(|axis| {
        let (windows, taps) = (output[axis + 2], kernel[axis + 2]);
        reach(windows, options.stride[axis], taps, options.dilation[axis])
    });
    for reach in reaches {
        within_i32(reach.saturating_add(depthwise::BEYOND));
    }
    // Kernels divide the number of an output pixel, and of a tap, in 32 bits.
    for sizes in [&output, &kernel] {
        narrow(sizes.iter().skip(2).product());
    }
    let padded = (0..N).any(|axis| begins[axis] > 0 || reaches[axis] > input[axis + 2]);
    let strides = x.meta.strides();
    let spatial = |sizes: &dyn Fn(usize) -> usize, absent: usize| {
        let size = |from: usize| {
            let axis = (from + N).checked_sub(3);
            narrow(axis.map_or(absent, sizes))
        };
        AxesLaunch::new(size(0), size(1), size(2))
    };
    let geometry = GeometryLaunch::new(
        narrow(options.groups),
        narrow(kernel[1]),
        narrow(kernel[0] / options.groups),
        spatial(&|axis| input[axis + 2], 1),
        spatial(&|axis| kernel[axis + 2], 1),
        spatial(&|axis| output[axis + 2], 1),
        spatial(&|axis| options.stride[axis], 1),
        spatial(&|axis| options.dilation[axis], 1),
        spatial(&|axis| begins[axis], 0),
        narrow(strides[0]),
        narrow(strides[1]),
        spatial(&|axis| strides[axis + 2], 0),
        alpha,
        beta,
    );
    (geometry, Shader { axes: N, padded, zeros, function })
}
