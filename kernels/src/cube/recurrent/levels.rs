//! Weights, inputs and states of 8 bits, as floats that hold such integers less their zero points.

use burn::backend::{
    TensorMetadata,
    ops::{FloatTensorOps, IntTensorOps},
};
use burn::tensor::{DType, IntDType, Shape};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::columns::UNITS;
use crate::{
    backend::{Given, Matrices},
    cube::{address, unwritten},
    spec::recurrent::Sizes,
};

/// The greatest of 8 bits.
const MOST: f32 = 255.0;

/// Units that go on where the others have left off.
const ROOTS: usize = 16;

/// Weights of all directions.
pub struct Levels {
    /// `[directions, outputs, inputs]`, with the outputs innermost.
    pub weights: CubeTensor,
    /// `[directions, outputs]`
    pub scales: CubeTensor,
}

impl Levels {
    /// None for weights of floats.
    pub fn of(matrices: Matrices<CubeBackend>) -> Option<Self> {
        let (Given::Int(weight), Given::Float(scale), Given::Int(zero)) =
            (matrices.weight, matrices.scale, matrices.zero)
        else {
            return None;
        };
        let &[directions, _, outputs] = &weight.shape()[..] else {
            return None;
        };
        let wide = |x| CubeBackend::int_cast(x, IntDType::I32);
        let columns = zero.shape()[1];
        let zero = CubeBackend::int_reshape(wide(zero), [directions, 1, columns].into());
        let levels = CubeBackend::int_sub(
            wide(weight.clone()),
            CubeBackend::int_expand(zero, weight.shape()),
        );
        let levels = CubeBackend::int_into_float(levels, DType::F32.into());
        let scales = CubeBackend::float_expand(scale, [directions, outputs].into());
        Some(Self {
            weights: CubeBackend::float_swap_dims(into_contiguous(levels), 1, 2),
            scales: into_contiguous(scales),
        })
    }
}

/// The inputs of all times as levels, and the scale of these. Times behind the end of every sequence have no say in it.
pub fn of_inputs(
    x: CubeTensor,
    lengths: Option<&CubeTensor>,
    batch_first: bool,
    sizes: &Sizes,
) -> (CubeTensor, CubeTensor) {
    let x = into_contiguous(x);
    let levels = unwritten(&x, x.shape(), DType::F32);
    let spans = unwritten(&x, Shape::new([2]), DType::F32);
    let client = x.client.clone();
    let count = x.shape().num_elements();
    let one = CubeDim::new_1d(UNITS as u32);
    let many = CubeDim::new(&client, count);
    let (inner, batch) = if batch_first {
        (sizes.features, sizes.batch)
    } else {
        (sizes.batch * sizes.features, sizes.batch)
    };
    let addresses = address([&x, &levels, &spans].into_iter().chain(lengths));
    // Safety: units stay inside of the elements and the lengths, which are as many as the sequences.
    unsafe {
        span_kernel::launch_unchecked(
            &client,
            CubeCount::new_single(),
            one,
            addresses,
            x.clone().into_tensor_arg(),
            lengths
                .map(|lengths| lengths.clone().into_buffer_arg())
                .into(),
            spans.clone().into_tensor_arg(),
            count,
            inner,
            sizes.times,
            batch,
        );
        levels_kernel::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, count, many),
            many,
            addresses,
            x.into_tensor_arg(),
            spans.clone().into_tensor_arg(),
            levels.clone().into_tensor_arg(),
            count,
        );
    }
    let scale = CubeBackend::float_slice(spans, &[(0..1).into()]);
    (levels, scale)
}

/// Writes the scale and the zero point of all elements.
#[cube(launch_unchecked, address_type = "dynamic")]
fn span_kernel(
    x: &Tensor<f32>,
    lengths: ComptimeOption<&[i32]>,
    spans: &mut Tensor<f32>,
    count: usize,
    inner: usize,
    times: usize,
    batch: usize,
) {
    let mut longest = times;
    #[comptime]
    match lengths {
        ComptimeOption::Some(lengths) => {
            longest = 0usize;
            for sequence in range_stepped(0, batch, 1) {
                longest = max(longest, max(lengths[sequence], 0) as usize);
            }
        }
        ComptimeOption::None => {}
    }
    let mut shared = Shared::<[f32]>::new_slice(comptime!(2 * UNITS));
    let mut least = 0.0f32;
    let mut most = 0.0f32;
    for at in range_stepped(UNIT_POS as usize, count, UNITS) {
        if at / inner % times < longest {
            least = min(least, x[at]);
            most = max(most, x[at]);
        }
    }
    let (scale, zero) = span(least, most, &mut shared);
    if UNIT_POS == 0 {
        spans[0] = scale;
        spans[1] = zero;
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn levels_kernel(x: &Tensor<f32>, spans: &Tensor<f32>, y: &mut Tensor<f32>, count: usize) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    y[ABSOLUTE_POS] = level(x[ABSOLUTE_POS], spans[0], spans[1]);
}

/// The level of a number, less the zero point.
#[cube]
pub fn level(x: f32, scale: f32, zero: f32) -> f32 {
    clamp(f32::round(x / scale), -zero, comptime!(MOST) - zero)
}

/// The scale and the zero point of 8 bits that span 0 and what the units of a cube have, of which there are a multiple of 32.
#[cube]
pub fn span(least: f32, most: f32, shared: &mut Shared<[f32]>) -> (f32, f32) {
    let unit = UNIT_POS as usize;
    shared[unit] = least;
    shared[unit + UNITS] = most;
    sync_cube();
    if unit < ROOTS {
        let mut least = least;
        let mut most = most;
        for at in range_stepped(unit + ROOTS, CUBE_DIM as usize, ROOTS) {
            least = min(least, shared[at]);
            most = max(most, shared[at + UNITS]);
        }
        shared[unit] = least;
        shared[unit + UNITS] = most;
    }
    sync_cube();
    let mut least = 0.0f32;
    let mut most = 0.0f32;
    for at in 0..ROOTS {
        least = min(least, shared[at]);
        most = max(most, shared[at + UNITS]);
    }
    let width = (most - least) / comptime!(MOST);
    // Nothing but zeros has any scale.
    let scale = select(width == 0.0, 1.0, width);
    let zero = clamp(f32::round(-least / scale), 0.0, comptime!(MOST));
    (scale, zero)
}
