//! Functions of quantized tensors.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{
    Rounding, RoundingLaunch, difference, is_wide,
    operand_indices::{Axis, axes, operand_indices, steps},
    quantized, sharing,
    softmax::softmax,
};
use crate::cube::epilogue::{Function as Activated, activated};
use crate::cube::{
    launch::{Grid, Strided, launch},
    unwritten,
};
use crate::spec::epilogue::Activation;
use crate::spec::quantize::{Function, Unary};

/// Computes a function, with a bias along the last axis.
pub fn compute(x: CubeTensor, bias: Option<CubeTensor>, unary: Unary) -> CubeTensor {
    match unary.function {
        Function::Each(activation) => each(x, bias, activation, unary),
        Function::Softmax(rounded) => softmax(x, unary.of, unary.y, rounded),
    }
}

fn each(x: CubeTensor, bias: Option<CubeTensor>, activation: Activation, unary: Unary) -> CubeTensor {
    let y = unwritten(&x, x.shape(), unary.y.dtype());
    let count = y.shape().num_elements();
    if count == 0 {
        return y;
    }
    let along: Vec<usize> = bias.as_ref().map_or(vec![], |bias| {
        let mut steps = vec![0; x.shape().num_dims() - 1];
        steps.push(bias.meta.strides()[0]);
        steps
    });
    let (function, [alpha, beta]) = Activated::of(activation);
    let step = sharing(count);
    let axes = axes(&y.shape(), [&steps(&x), &along, &[]]);
    let dtypes = [x.dtype, y.dtype].map(dtype_to_storage_type);
    let wide = is_wide(x.dtype);
    launch!(Grid::units(step) => unary_kernel(
        Strided(x), bias.map(Strided), &y;
        axes, count, step, unary.of.scale(), unary.of.zero() as i32, unary.y.scale(),
        RoundingLaunch::to(unary.y), alpha, beta, function, wide, dtypes,
    ));
    y
}

/// A unit computes elements that are `step` apart.
///
/// Units beyond `step` end, and elements beyond `count`, the number of those of `y`. `x` and `bias` are read
/// at the [`operand_indices`] of an index, by the sizes of `y` and their strides.
#[cube(launch_unchecked, address_type = "dynamic")]
fn unary_kernel<I: Int, O: Int>(
    x: &Tensor<I>,
    bias: ComptimeOption<&[f32]>,
    y: &mut Tensor<O>,
    axes: Sequence<Axis>,
    count: usize,
    step: usize,
    scale: f32,
    zero: i32,
    to_scale: f32,
    rounding: Rounding,
    alpha: f32,
    beta: f32,
    #[comptime] function: Activated,
    #[comptime] is_wide: bool,
    #[define(I, O)] _dtypes: [ElemType; 2],
) {
    if ABSOLUTE_POS >= step {
        terminate!();
    }
    for position in range_stepped(ABSOLUTE_POS, count, step) {
        let at = operand_indices(position, &axes);
        let mut float = difference::<I>(x[at.first], zero, is_wide) * scale;
        #[comptime]
        match bias {
            ComptimeOption::Some(bias) => float += bias[at.second],
            ComptimeOption::None => {}
        }
        let float = activated(float, alpha, beta, function);
        y[position] = quantized::<O>(float / to_scale, &rounding);
    }
}
