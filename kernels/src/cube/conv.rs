//! Convolutions with what follows them, in one launch.
//!
//! Units of a cube are positions side by side, and each sums some outputs at once: all units read the same weights
//! at the same time, and inputs that lie side by side. Where there are few positions, the units of a cube share the
//! sum of one element instead; where outputs read single channels, a unit has outputs side by side. Weights lie with
//! the channels innermost, as [`filters`] leaves them. Devices that multiply tiles of matrices have Burn's kernels for
//! it, behind which the rest is a launch of its own.

pub mod depthwise;
pub mod positions;
pub mod terms;

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::ops::ConvOptions;
use burn_cubecl::{
    kernel::{conv::conv_forward, into_contiguous, untile},
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};
use cubecl::{calculate_cube_count_elemwise, client::Client, prelude::*};

use self::{depthwise::Row, positions::Tile};
use super::{
    address, ensure_alike,
    finish::{Function, finish},
    integer::Zeros,
    narrow, type_of,
    units::UNITS,
    unwritten,
};
use crate::spec::{
    convolution as spec,
    epilogue::{Activation, Epilogue},
};

/// Fewer positions leave too many units idle.
const FEW: usize = 16;

/// Sizes of one convolution over three axes, of which the first ones are 1 where there are fewer.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Geometry {
    pub groups: u32,
    /// Channels that an output reads, and outputs of a group.
    pub channels: u32,
    pub outputs: u32,
    pub input: Axes,
    pub kernel: Axes,
    pub output: Axes,
    pub stride: Axes,
    pub dilation: Axes,
    pub padding: Axes,
    /// How far elements of the input are from those of the next batch, channel, and along the axes.
    pub next_batch: u32,
    pub next_channel: u32,
    pub next: Axes,
    /// The parameters of the activation.
    pub alpha: f32,
    pub beta: f32,
}

#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Axes {
    pub depth: u32,
    pub height: u32,
    pub width: u32,
}

/// What a shader is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shader {
    /// How many axes there are.
    pub axes: usize,
    /// Whether windows reach beyond the input.
    pub padded: bool,
    pub zeros: Zeros,
    pub function: Function,
}

/// How the units share the work.
pub enum Plan {
    /// Those of a cube share the sum of one element.
    Terms,
    /// Each has outputs side by side, of which there are so many groups.
    Row(Row, usize),
    /// Those of so many cubes have tiles.
    Tile(Tile, usize),
}

/// The weights for [`conv`] of any epilogue.
pub fn pack_filters(weight: CubeTensor, _: usize, _: Epilogue) -> CubeTensor {
    filters(weight)
}

/// The same weights, which lie in memory with the channels innermost.
pub fn filters(weight: CubeTensor) -> CubeTensor {
    permute_nhwc_to_nchw(into_contiguous(permute_nchw_to_nhwc(weight)))
}

/// `activation(x * weight + bias + sum)`; tensors with what the options reach beyond them are padded with zeros.
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
        let y = conv_forward(x, weight, bias, options, Default::default())
            .expect("Burn convolves whatever fits");
        return finish(y, None, sum, epilogue.activation);
    }
    let y = unwritten(&x, shape, x.dtype);
    let zeros = Zeros::default();
    let (geometry, shader) = described_by(&x, &weight, &y, &options, zeros, epilogue.activation);
    let lanes = lanes(&weight);
    let plan = plan(&weight, &y, &options);
    let client = y.client.clone();
    let address = address([&x, &weight, &y]);
    let dtype = dtype_to_storage_type(x.dtype);
    let [bias, sum] = [bias, sum]
        .map(|operand| operand.map(|operand| into_contiguous(operand).into_buffer_arg()));
    let (x, weight) = (x.into_tensor_arg(), weight.into_tensor_arg());
    let y_arg = y.clone().into_tensor_arg();
    let (cubes, units) = plan.cubes(&client, count);
    // Safety: a cube beyond the last one ends; positions, outputs and elements outside are those of the edge.
    unsafe {
        match plan {
            Plan::Terms => terms::terms_kernel::launch_unchecked(
                &client,
                cubes,
                units,
                address,
                lanes,
                x,
                weight,
                bias.into(),
                sum.into(),
                y_arg,
                geometry,
                count,
                shader,
                dtype,
            ),
            Plan::Row(row, count) => depthwise::depthwise_kernel::launch_unchecked(
                &client,
                cubes,
                units,
                address,
                x,
                weight,
                bias.into(),
                sum.into(),
                y_arg,
                geometry,
                count,
                row,
                shader,
                dtype,
            ),
            Plan::Tile(tile, count) => positions::positions_kernel::launch_unchecked(
                &client,
                cubes,
                units,
                address,
                lanes,
                x,
                weight,
                bias.into(),
                sum.into(),
                y_arg,
                geometry,
                count,
                tile,
                shader,
                dtype,
            ),
        }
    }
    y
}

/// How many weights of neighbouring channels are read at once.
pub fn lanes(weight: &CubeTensor) -> usize {
    if weight.shape()[1].is_multiple_of(4) {
        4
    } else {
        1
    }
}

/// How the units share a convolution that is not empty.
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
    /// The cubes and their units for so many elements.
    pub fn cubes(&self, client: &Client, elements: usize) -> (CubeCount, CubeDim) {
        let (count, units) = match self {
            Self::Terms => (elements * UNITS, CubeDim::new_1d(UNITS as u32)),
            Self::Row(_, count) => (*count, CubeDim::new(client, *count)),
            Self::Tile(_, cubes) => (
                cubes * positions::UNITS,
                CubeDim::new_1d(positions::UNITS as u32),
            ),
        };
        (calculate_cube_count_elemwise(client, count, units), units)
    }
}

/// What a unit computes of a convolution of single channels, if it is one that reads neighbours.
fn row<const N: usize>(
    weight: &CubeTensor,
    y: &CubeTensor,
    options: &ConvOptions<N>,
) -> Option<Row> {
    let (window, step) = (weight.shape()[N + 1], options.stride[N - 1]);
    let is_one =
        N < 3 && weight.shape()[1] == 1 && window <= depthwise::WINDOW && step <= depthwise::STEP;
    let reads_neighbours = options.dilation[N - 1] == 1 || window == 1;
    (is_one && reads_neighbours).then(|| Row::of(y.shape()[N + 1], window, step))
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
    let padded = (0..N).any(|axis| {
        let last = (output[axis + 2] - 1) * options.stride[axis]
            + (kernel[axis + 2] - 1) * options.dilation[axis];
        begins[axis] > 0 || last >= input[axis + 2] + begins[axis]
    });
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
    (
        geometry,
        Shader {
            axes: N,
            padded,
            zeros,
            function,
        },
    )
}
