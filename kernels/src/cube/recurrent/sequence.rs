//! A sequence in one launch: a cube for each sequence and direction.

use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{
    buffers::{Buffers, exclusive},
    columns::{Columns, UNITS, add_parts, multiply},
    gates::{advance, biases, peepholes, reset, scaled},
    levels::{SPAN_BYTES, level, span},
    places::{has_time, input_place, output_place, state_place, time_of},
    plan::{Kind, Plan},
};
use crate::cube::{
    launch::{Grid, Strided, launch},
    unwritten,
};

/// Largest number of hidden values: each has a unit, and one cube reads all weights at each step.
pub const HIDDEN: usize = UNITS;
/// Largest number of products of a cube in a launch, which keeps the watchdog of devices away. Tests have
/// several launches.
const PRODUCTS: usize = if cfg!(test) { 1 << 17 } else { 1 << 29 };
/// Time of a step without its products, as a number of products.
const STEP: usize = 1 << 13;

/// Walks over all times. Returns the last output, and the memory of an LSTM.
pub fn walk(buffers: &Buffers, initial: [Option<CubeTensor>; 2]) -> [CubeTensor; 2] {
    let Buffers { plan, times, batch, .. } = *buffers;
    let cubes = batch * plan.directions;
    let together = buffers.together;
    // A GRU that resets first has the products of its last gate after those of the others.
    let columns = if plan.kind == Kind::GruResetFirst { [(0, 2), (2, 1)] } else { [(0, plan.gates); 2] };
    let columns = columns.map(|(first, gates)| Columns::of_gates(&plan, first, gates, together));
    let busy = columns[0].count / together * columns[0].parts;
    let units = busy.max(plan.hidden).next_multiple_of(32).min(UNITS);
    let are_there = initial.each_ref().map(Option::is_some);
    let states = initial.map(|state| match state {
        Some(state) => exclusive(state),
        None => unwritten(&buffers.y, [cubes * plan.hidden].into(), DType::F32),
    });
    let [hidden, memory] = &states;
    let sums = Columns::sums(columns);
    let bounds = if plan.is_quantized { SPAN_BYTES } else { size_of::<f32>() };
    let shared = (plan.hidden + sums) * size_of::<f32>() + bounds;
    let steps = PRODUCTS / (plan.columns() * plan.hidden + STEP);
    let steps = steps.max(1);
    for first in (0..times).step_by(steps) {
        launch!(Grid::cubes(cubes, units).shared(shared) => sequence_kernel[together](
            &buffers.projected, Strided(&buffers.weights), &buffers.constants, &buffers.lengths,
            &buffers.y, hidden, memory;
            first, times.min(first + steps), times, batch, plan, columns,
            are_there.map(|is_there| is_there || first > 0), buffers.dtype(),
        ));
    }
    states
}

/// A cube computes a sequence in one direction, from time `first` to `end`.
///
/// Cubes beyond the sequences of all directions end. `projected` and `y` have the gates and the states of
/// each time, sequence and direction, `weights` is read by its strides, `constants` are those of [`biases`]
/// and [`peepholes`], and `lengths` has an element for each sequence, if the plan has lengths. `hidden` and
/// `memory` have the states of all sequences. Units beyond the hidden values read those of the last one, and
/// write nothing.
#[cube(launch_unchecked, address_type = "dynamic")]
fn sequence_kernel<T: Float, N: Size>(
    projected: &Tensor<f32>,
    weights: &Tensor<Vector<T, N>>,
    constants: &Tensor<T>,
    lengths: &Tensor<i32>,
    y: &mut Tensor<T>,
    hidden: &mut Tensor<f32>,
    memory: &mut Tensor<f32>,
    first: usize,
    end: usize,
    times: usize,
    batch: usize,
    #[comptime] plan: Plan,
    #[comptime] columns: [Columns; 2],
    #[comptime] initial: [bool; 2],
    #[define(T)] _dtype: ElemType,
) {
    if CUBE_POS >= batch * plan.directions {
        terminate!();
    }
    let place = UNIT_POS as usize;
    let (direction, sequence) = (CUBE_POS / batch, CUBE_POS % batch);
    let width = comptime!(plan.hidden);
    let is_in_use = place < width;
    // Units beyond the hidden values read those of the last one, and write nothing.
    let near = min(place, width - 1);
    let begin = state_place(direction, sequence, batch, plan);
    let input_bias = biases::<T>(constants, direction, near, false, plan);
    let bias = biases::<T>(constants, direction, near, true, plan);
    let peepholes = peepholes::<T>(constants, direction, near, plan);

    let mut states = Array::<f32>::new(2usize);
    states[0] = 0f32;
    states[1] = 0f32;
    if comptime!(initial[0]) {
        states[0] = hidden[begin + near];
    }
    if comptime!(plan.is_lstm() && initial[1]) {
        states[1] = memory[begin + near];
    }
    // Left operand of the product: the states, or those that a GRU resets.
    let mut row = Shared::<[f32]>::new_slice(width);
    let mut sums = Shared::<[f32]>::new_slice(comptime!(Columns::sums(columns)));
    let mut input = Array::<f32>::new(comptime!(plan.gates));
    let mut linear = Array::<f32>::new(comptime!(plan.gates));
    let mut bounds = Shared::<[f32]>::new_slice(comptime!(if plan.is_quantized { 2 * UNITS } else { 1 }));
    let mut scale = 1f32;

    for step in first..end {
        let time = time_of(step, direction, times, plan);
        let is_active = has_time(lengths, sequence, time, plan);
        let at = input_place(direction, sequence, time, times, batch, plan) + near;
        #[unroll]
        for gate in 0..plan.gates {
            input[gate] = projected[at + gate * width] + input_bias[gate];
        }
        let mut own = states[0];
        if comptime!(plan.is_quantized) {
            // Units beyond the hidden values have the state of the last one.
            let (step, zero) = span(min(own, 0f32), max(own, 0f32), &mut bounds);
            scale = step;
            own = level(own, step, zero);
        }
        if is_in_use {
            row[place] = own;
        }
        sync_cube();
        if is_active {
            multiply::<T, N>(weights, &row, &mut sums, direction, comptime!(columns[0]), plan);
        }
        sync_cube();
        add_parts(&sums, &bias, &mut linear, near, comptime!(columns[0]), plan);
        if comptime!(plan.is_quantized) {
            scaled::<T>(&mut linear, &bias, constants, scale, direction, near, plan);
        }
        if comptime!(plan.kind == Kind::GruResetFirst) {
            if is_in_use {
                row[place] = reset(&input, &linear, states[0], direction, plan);
            }
            sync_cube();
            if is_active {
                multiply::<T, N>(weights, &row, &mut sums, direction, comptime!(columns[1]), plan);
            }
            sync_cube();
            add_parts(&sums, &bias, &mut linear, near, comptime!(columns[1]), plan);
        }
        let mut output = 0f32;
        if is_active {
            advance(&input, &linear, &peepholes, &mut states, direction, plan);
            output = states[0];
        }
        if is_in_use {
            let at = output_place(direction, sequence, time, times, batch, plan);
            y[at + place] = T::cast_from(output);
        }
    }

    if is_in_use {
        hidden[begin + place] = states[0];
        if comptime!(plan.is_lstm()) {
            memory[begin + place] = states[1];
        }
    }
}
