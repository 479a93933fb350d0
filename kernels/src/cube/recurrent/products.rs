//! Recurrent operators on many sequences.
//!
//! Each step is one matrix product of Burn and a launch for the gates.

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, Slice};
use burn_cubecl::{CubeBackend, kernel::into_contiguous, ops::numeric::zeros, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    buffers::{Buffers, exclusive},
    gates::{advance, biases, peepholes, reset},
    places::{has_time, input_place, output_place, time_of},
    plan::{Kind, Plan},
};
use crate::cube::launch::{Grid, launch};

/// Walks over all times. Returns the last output, and the memory of an LSTM.
pub fn walk(buffers: &Buffers, initial: [Option<CubeTensor>; 2]) -> [CubeTensor; 2] {
    let Buffers { plan, times, batch, .. } = *buffers;
    let y = &buffers.y;
    let shape = [plan.directions, batch, plan.hidden];
    // Swaps the axes of directions and sequences.
    let exchanged = |state: CubeTensor| {
        if plan.batch_first { into_contiguous(CubeBackend::float_swap_dims(state, 0, 1)) } else { state }
    };
    let [hidden, memory] = initial.map(|state| match state {
        Some(state) => exclusive(exchanged(state)),
        None => zeros(y.device.clone(), shape.into(), DType::F32),
    });
    let weights = CubeBackend::float_cast(buffers.weights.clone(), DType::F32.into());
    let weights = CubeBackend::float_swap_dims(weights, 1, 2);
    let of_gates = |first: usize, gates: usize| {
        let gates = first * plan.hidden..(first + gates) * plan.hidden;
        CubeBackend::float_slice(weights.clone(), &[Slice::full(), Slice::full(), Slice::from(gates)])
    };
    let product = |states: &CubeTensor, weights: &CubeTensor| {
        into_contiguous(CubeBackend::float_matmul(states.clone(), weights.clone()))
    };
    if plan.kind == Kind::GruResetFirst {
        let (gates, last) = (of_gates(0, 2), of_gates(2, 1));
        for step in 0..times {
            let linear = product(&hidden, &gates);
            launch_reset(buffers, step, &linear, &hidden, &memory);
            let last = product(&memory, &last);
            launch(buffers, step, &linear, &last, &hidden);
        }
    } else {
        for step in 0..times {
            let linear = product(&hidden, &weights);
            launch(buffers, step, &linear, &memory, &hidden);
        }
    }
    [exchanged(hidden), exchanged(memory)]
}

fn launch(buffers: &Buffers, step: usize, linear: &CubeTensor, other: &CubeTensor, hidden: &CubeTensor) {
    let elements = buffers.states();
    launch!(Grid::units(elements) => advance_kernel(
        &buffers.projected, linear, other, &buffers.constants, &buffers.lengths, &buffers.y, hidden;
        step, buffers.times, buffers.batch, buffers.plan, buffers.dtype(),
    ));
}

fn launch_reset(
    buffers: &Buffers,
    step: usize,
    linear: &CubeTensor,
    hidden: &CubeTensor,
    states: &CubeTensor,
) {
    let elements = buffers.states();
    launch!(Grid::units(elements) => reset_kernel(
        &buffers.projected, linear, &buffers.constants, hidden, states;
        step, buffers.times, buffers.batch, buffers.plan, buffers.dtype(),
    ));
}

/// A unit writes a state and an output. `other` is the memory of an LSTM, or the product of the state that a
/// GRU resets first.
///
/// Units beyond the states of `batch` sequences and all directions end. `hidden` and `other` have an element
/// for each state, `products` one for each of its gates, `projected` and `y` as many for each time;
/// `constants` are those of [`biases`] and [`peepholes`], and `lengths` has an element for each sequence, if
/// the plan has lengths.
#[cube(launch_unchecked, address_type = "dynamic")]
fn advance_kernel<T: Float>(
    projected: &Tensor<f32>,
    products: &Tensor<f32>,
    other: &mut Tensor<f32>,
    constants: &Tensor<T>,
    lengths: &Tensor<i32>,
    y: &mut Tensor<T>,
    hidden: &mut Tensor<f32>,
    step: usize,
    times: usize,
    batch: usize,
    #[comptime] plan: Plan,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= batch * comptime!(plan.directions * plan.hidden) {
        terminate!();
    }
    let (row, place) = (ABSOLUTE_POS / plan.hidden, ABSOLUTE_POS % plan.hidden);
    let (direction, sequence) = (row / batch, row % batch);
    let time = time_of(step, direction, times, plan);
    let inputs = input_place(direction, sequence, time, times, batch, plan) + place;
    let input = inputs_of::<T>(projected, constants, inputs, direction, place, plan);
    let resets_first = comptime!(plan.kind == Kind::GruResetFirst);
    let gates = comptime!(if resets_first { 2 } else { plan.gates });
    let mut linear = linear_of::<T>(products, constants, row, direction, place, gates, plan);
    let mut states = Array::<f32>::new(2usize);
    states[0] = hidden[ABSOLUTE_POS];
    states[1] = 0f32;
    if comptime!(resets_first) {
        linear[2] += other[ABSOLUTE_POS];
    } else if comptime!(plan.is_lstm()) {
        states[1] = other[ABSOLUTE_POS];
    }
    let peepholes = peepholes::<T>(constants, direction, place, plan);
    let mut output = 0f32;
    if has_time(lengths, sequence, time, plan) {
        advance(&input, &linear, &peepholes, &mut states, direction, plan);
        output = states[0];
    }
    hidden[ABSOLUTE_POS] = states[0];
    if comptime!(plan.is_lstm()) {
        other[ABSOLUTE_POS] = states[1];
    }
    let at = output_place(direction, sequence, time, times, batch, plan) + place;
    y[at] = T::cast_from(output);
}

/// A unit writes a state that a GRU resets first.
///
/// The bounds are those of [`advance_kernel`]; `states` has an element for each state.
#[cube(launch_unchecked, address_type = "dynamic")]
fn reset_kernel<T: Float>(
    projected: &Tensor<f32>,
    products: &Tensor<f32>,
    constants: &Tensor<T>,
    hidden: &Tensor<f32>,
    states: &mut Tensor<f32>,
    step: usize,
    times: usize,
    batch: usize,
    #[comptime] plan: Plan,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= batch * comptime!(plan.directions * plan.hidden) {
        terminate!();
    }
    let (row, place) = (ABSOLUTE_POS / plan.hidden, ABSOLUTE_POS % plan.hidden);
    let (direction, sequence) = (row / batch, row % batch);
    let time = time_of(step, direction, times, plan);
    let inputs = input_place(direction, sequence, time, times, batch, plan) + place;
    let input = inputs_of::<T>(projected, constants, inputs, direction, place, plan);
    let linear = linear_of::<T>(products, constants, row, direction, place, 2usize, plan);
    states[ABSOLUTE_POS] = reset(&input, &linear, hidden[ABSOLUTE_POS], direction, plan);
}

/// The products of the gates of one hidden value with an input, and their biases.
#[cube]
fn inputs_of<T: Float>(
    projected: &Tensor<f32>,
    constants: &Tensor<T>,
    at: usize,
    direction: usize,
    place: usize,
    #[comptime] plan: Plan,
) -> Array<f32> {
    let mut input = biases::<T>(constants, direction, place, false, plan);
    #[unroll]
    for gate in 0..plan.gates {
        input[gate] += projected[at + gate * plan.hidden];
    }
    input
}

/// The products of the first gates with a state, and the biases of all.
#[cube]
fn linear_of<T: Float>(
    products: &Tensor<f32>,
    constants: &Tensor<T>,
    row: usize,
    direction: usize,
    place: usize,
    #[comptime] gates: usize,
    #[comptime] plan: Plan,
) -> Array<f32> {
    let mut linear = biases::<T>(constants, direction, place, true, plan);
    #[unroll]
    for gate in 0..gates {
        linear[gate] += products[(row * gates + gate) * plan.hidden + place];
    }
    linear
}
