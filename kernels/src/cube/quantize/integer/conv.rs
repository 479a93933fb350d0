//! Convolutions of integers, with the plans of [`crate::cube::conv`].

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn::tensor::{DType, ops::ConvOptions};
use burn_cubecl::{CubeBackend, kernel::untile, tensor::CubeTensor};
use cubecl::prelude::*;

use super::epilogue::{End, Ends, Others, Steps, at, ended, ends_of_one};
use super::{shapes, summed};
use crate::backend::{ByteProduct, Outcome};
use crate::cube::convolution::{
    Geometry, Plan, Shader,
    depthwise::{self, Row},
    described_by, filters, lanes, plan,
    positions::{self, Tile, elements},
    terms,
};
use crate::cube::{
    blank,
    launch::{Strided, launch},
};
use crate::spec::epilogue::Activation;
use crate::spec::{
    integer::last_axes,
    quantize::{Ending, Integers},
    types::TensorType,
};

/// Returns the convolution over the last axes.
pub fn conv(
    operands: ByteProduct<CubeBackend>,
    options: ConvOptions<3>,
    integers: Integers,
) -> Outcome<CubeBackend> {
    let Some(y) = shapes(&operands).convolution(&options, integers.ending) else {
        return Outcome::Declined;
    };
    let ending = integers.ending;
    let y = match y.shape.num_dims() - 2 {
        1 => convolved(operands, y, last_axes::<1>(&options), ending),
        2 => convolved(operands, y, last_axes::<2>(&options), ending),
        _ => convolved(operands, y, options, ending),
    };
    match ending {
        Ending::Floats => Outcome::Float(y),
        Ending::Sums | Ending::Quantized { .. } => Outcome::Int(y),
    }
}

fn convolved<const N: usize>(
    operands: ByteProduct<CubeBackend>,
    y: TensorType,
    options: ConvOptions<N>,
    ending: Ending,
) -> CubeTensor {
    let (x, weight, others) = Others::of(operands, ending);
    let (x, weight) = (untile(x), filters(weight));
    let y = blank(&x, y);
    let count = y.shape().num_elements();
    let (geometry, shader) = described_by(&x, &weight, &y, &options, others.zeros(), Activation::Identity);
    let lanes = lanes(&weight);
    let plan = plan(&weight, &y, &options);
    let terms: usize = weight.shape().iter().skip(1).product();
    let dtypes = [x.dtype, weight.dtype, summed(terms), y.dtype].map(dtype_to_storage_type);
    let end = others.end();
    // Rows of a convolution are its outputs.
    let args = others.into_args(|numbers| match numbers.shape().num_elements() {
        1 => [0, 0],
        _ => [numbers.meta.strides()[0], 0],
    });
    let [zero, weight_zeros, result_zero] = args.zeros;
    let [_, zero_steps] = args.steps;
    let grid = plan.grid(&y, DType::I32);
    let (x, weight, ends) = (Strided(x), Strided(weight), args.ends);
    match plan {
        Plan::Terms => launch!(grid => terms_kernel[lanes](
            x, weight, zero, weight_zeros, result_zero, ends, &y;
            zero_steps, geometry, count, shader, end, dtypes,
        )),
        Plan::Row(row, count) => launch!(grid => depthwise_kernel(
            x, weight, zero, weight_zeros, result_zero, ends, &y;
            zero_steps, geometry, count, row, shader, end, dtypes,
        )),
        Plan::Tile(tile, count) => launch!(grid => positions_kernel[lanes](
            x, weight, zero, weight_zeros, result_zero, ends, &y;
            zero_steps, geometry, count, tile, shader, end, dtypes,
        )),
    }
    y
}

/// Returns the zero point of an output's weights, or of the input.
#[cube]
fn zero<Z: Int, S: Numeric>(zeros: ComptimeOption<&[Z]>, steps: &Steps, output: usize) -> S {
    let mut zero = S::from_int(0);
    #[comptime]
    match zeros {
        ComptimeOption::Some(zeros) => zero = S::cast_from(zeros[at(steps, output, 0usize)]),
        ComptimeOption::None => {}
    }
    zero
}

/// The bounds are those of [`positions::positions_kernel`]. Zero points and ends are read by their steps, 0
/// for one that serves all outputs.
#[cube(launch_unchecked, address_type = "dynamic")]
fn positions_kernel<X: Int, W: Int, S: Numeric, Y: Numeric, N: Size>(
    x: &Tensor<X>,
    weight: &Tensor<Vector<W, N>>,
    x_zero: ComptimeOption<&[X]>,
    weight_zeros: ComptimeOption<&[W]>,
    result_zero: ComptimeOption<&[Y]>,
    ends: Ends,
    y: &mut Tensor<Y>,
    zero_steps: Steps,
    geometry: Geometry,
    cubes: usize,
    #[comptime] tile: Tile,
    #[comptime] shader: Shader,
    #[comptime] end: End,
    #[define(X, W, S, Y)] _dtypes: [ElemType; 4],
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let outputs = geometry.outputs as usize;
    let positions = elements(&geometry.output);
    let spot = positions::spot(&geometry, tile);
    let mut zeros = Array::<S>::new(tile.outputs);
    #[unroll]
    for output in 0..tile.outputs {
        let of = spot.group * outputs + min(spot.first + output, outputs - 1);
        zeros[output] = zero::<W, S>(weight_zeros, &zero_steps, of);
    }
    let x_zero = zero::<X, S>(x_zero, &zero_steps, 0usize);
    let sums = positions::products::<X, W, S, N>(x, weight, x_zero, &zeros, &spot, &geometry, tile, shader);
    #[unroll]
    for output in 0..tile.outputs {
        if spot.first + output < outputs {
            let of = spot.group * outputs + spot.first + output;
            let ends = ends_of_one::<Y>(&ends, result_zero, of, 0usize);
            let row = (spot.batch * geometry.groups as usize * outputs + of) * positions;
            #[unroll]
            for at in 0..tile.positions {
                let position = spot.place + at * tile.across;
                if position < positions {
                    y[row + position] = ended::<S, Y>(sums[output * tile.positions + at], &ends, end);
                }
            }
        }
    }
}

/// The bounds are those of [`depthwise::depthwise_kernel`]. Zero points and ends are read by their steps, 0
/// for one that serves all outputs.
#[cube(launch_unchecked, address_type = "dynamic")]
fn depthwise_kernel<X: Int, W: Int, S: Numeric, Y: Numeric>(
    x: &Tensor<X>,
    weight: &Tensor<W>,
    x_zero: ComptimeOption<&[X]>,
    weight_zeros: ComptimeOption<&[W]>,
    result_zero: ComptimeOption<&[Y]>,
    ends: Ends,
    y: &mut Tensor<Y>,
    zero_steps: Steps,
    geometry: Geometry,
    count: usize,
    #[comptime] row: Row,
    #[comptime] shader: Shader,
    #[comptime] end: End,
    #[define(X, W, S, Y)] _dtypes: [ElemType; 4],
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    let spot = depthwise::spot(ABSOLUTE_POS, &geometry, row);
    let width = geometry.output.width as usize;
    let x_zero = zero::<X, S>(x_zero, &zero_steps, 0usize);
    let weight_zero = zero::<W, S>(weight_zeros, &zero_steps, spot.output);
    let sums = depthwise::products::<X, W, S>(x, weight, x_zero, weight_zero, &spot, &geometry, row, shader);
    let ends = ends_of_one::<Y>(&ends, result_zero, spot.output, 0usize);
    #[unroll]
    for at in 0..row.outputs {
        if spot.left + at < width {
            y[spot.line * width + spot.left + at] = ended::<S, Y>(sums[at], &ends, end);
        }
    }
}

/// The bounds are those of [`terms::terms_kernel`]. Zero points and ends are read by their steps, 0 for one
/// that serves all outputs.
#[cube(launch_unchecked, address_type = "dynamic")]
fn terms_kernel<X: Int, W: Int, S: Numeric, Y: Numeric, N: Size>(
    x: &Tensor<X>,
    weight: &Tensor<Vector<W, N>>,
    x_zero: ComptimeOption<&[X]>,
    weight_zeros: ComptimeOption<&[W]>,
    result_zero: ComptimeOption<&[Y]>,
    ends: Ends,
    y: &mut Tensor<Y>,
    zero_steps: Steps,
    geometry: Geometry,
    cubes: usize,
    #[comptime] shader: Shader,
    #[comptime] end: End,
    #[define(X, W, S, Y)] _dtypes: [ElemType; 4],
) {
    if CUBE_POS >= cubes {
        terminate!();
    }
    let output = terms::output(&geometry);
    let x_zero = zero::<X, S>(x_zero, &zero_steps, 0usize);
    let weight_zero = zero::<W, S>(weight_zeros, &zero_steps, output);
    let sum = terms::shared::<X, W, S, N>(x, weight, x_zero, weight_zero, &geometry, shader);
    if UNIT_POS == 0 {
        let ends = ends_of_one::<Y>(&ends, result_zero, output, 0usize);
        y[CUBE_POS] = ended::<S, Y>(sum, &ends, end);
    }
}
