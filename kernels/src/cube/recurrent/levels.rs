//! 8-bit weights, inputs and states, represented by floats.
//!
//! The floats are the integers less their zero points.

use burn::backend::{
    TensorMetadata,
    ops::{FloatTensorOps, IntTensorOps},
};
use burn::tensor::{DType, IntDType, Shape};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::columns::UNITS;
use crate::{
    backend::{Given, Matrices},
    cube::{
        launch::{Grid, launch},
        unwritten,
    },
    spec::recurrent::Sizes,
};

/// Greatest number of 8 bits.
const MOST: f32 = 255.0;

/// Shared memory of [`span`], in bytes.
pub const SPAN_BYTES: usize = 2 * UNITS * size_of::<f32>();

/// Number of units that reduce the bounds of all.
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
        let levels =
            CubeBackend::int_sub(wide(weight.clone()), CubeBackend::int_expand(zero, weight.shape()));
        let levels = CubeBackend::int_into_float(levels, DType::F32.into());
        let scales = CubeBackend::float_expand(scale, [directions, outputs].into());
        Some(Self {
            weights: CubeBackend::float_swap_dims(into_contiguous(levels), 1, 2),
            scales: into_contiguous(scales),
        })
    }
}

/// Returns the inputs of all times as levels, and their scale. Times after the end of every sequence do not affect it.
pub fn of_inputs(
    x: CubeTensor,
    lengths: Option<&CubeTensor>,
    batch_first: bool,
    sizes: &Sizes,
) -> (CubeTensor, CubeTensor) {
    let x = into_contiguous(x);
    let levels = unwritten(&x, x.shape(), DType::F32);
    let spans = unwritten(&x, Shape::new([2]), DType::F32);
    let count = x.shape().num_elements();
    let (inner, batch) =
        if batch_first { (sizes.features, sizes.batch) } else { (sizes.batch * sizes.features, sizes.batch) };
    launch!(Grid::cubes(1, UNITS).shared(SPAN_BYTES) => span_kernel(
        &x, lengths, &spans;
        count, inner, sizes.times, batch,
    ));
    launch!(Grid::units(count) => levels_kernel(x, &spans, &levels; count));
    let scale = CubeBackend::float_slice(spans, &[(0..1).into()]);
    (levels, scale)
}

/// A cube writes the scale and the zero point of all elements.
///
/// There is one cube. `x` has `count` elements, `lengths` `batch`, and `spans` two.
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

/// A unit writes the level of an element.
///
/// Units beyond `count`, the number of elements of `x` and `y`, end.
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

/// Returns the scale and the zero point of 8 bits that span 0 and the bounds of all units of a cube. The
/// number of units is a multiple of 32.
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
