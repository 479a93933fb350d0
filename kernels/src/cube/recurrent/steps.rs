//! A launch for each step: a cube for some hidden values of some sequences, whose products its units share.

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, Slice};
use burn_cubecl::{CubeBackend, ops::numeric::zeros, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::{
    buffers::{Buffers, exclusive},
    columns::UNITS,
    gates::{advance, biases, peepholes, reset, scaled},
    levels::{level, span},
    places::{has_time, input_place, output_place, state_place, time_of},
    plan::{Kind, Plan},
};
use crate::cube::unwritten;

/// Hidden values of a cube, whose weights lie beside each other.
const TILE: usize = 16;
/// Sequences of a cube at most, which multiply the same weights. Its sums fill the shared memory that every device has.
const ROWS: usize = 4;
/// Units that share a column at most.
const PARTS: usize = 32;

/// What a launch computes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Everything. It reads the states of one half of their buffer and writes those of the other.
    All,
    /// The product of the update gate of a GRU and the state that it resets: the halves of the other buffer.
    Reset,
    /// The state of a GRU from both of them.
    Candidate,
}

/// Walks over all times; gives the last output and the memory of an LSTM.
pub fn walk(buffers: &Buffers, initial: [Option<CubeTensor>; 2]) -> [CubeTensor; 2] {
    let plan = buffers.plan;
    let elements = buffers.states();
    let nothing = |elements: usize| {
        let y = &buffers.y;
        zeros(y.device.clone(), [elements].into(), DType::F32)
    };
    let [hidden, memory] = initial.map(|state| {
        state.map(|state| CubeBackend::float_reshape(exclusive(state), [elements].into()))
    });
    if plan.kind == Kind::GruResetFirst {
        let hidden = hidden.unwrap_or_else(|| nothing(elements));
        let memory = unwritten(&hidden, [2 * elements].into(), DType::F32);
        for step in 0..buffers.times {
            launch(buffers, &hidden, &memory, step, Stage::Reset);
            launch(buffers, &hidden, &memory, step, Stage::Candidate);
        }
        return [hidden, memory];
    }
    let mut both = nothing(2 * elements);
    if let Some(hidden) = hidden {
        both = CubeBackend::float_slice_assign(both, &[Slice::from(0..elements)], hidden);
    }
    let memory = match memory {
        Some(memory) => memory,
        None => nothing(if plan.is_lstm() { elements } else { 1 }),
    };
    for step in 0..buffers.times {
        launch(buffers, &both, &memory, step, Stage::All);
    }
    let last = buffers.times % 2 * elements;
    let hidden = CubeBackend::float_slice(both, &[Slice::from(last..last + elements)]);
    [hidden, memory]
}

fn launch(buffers: &Buffers, hidden: &CubeTensor, memory: &CubeTensor, step: usize, stage: Stage) {
    let Buffers {
        plan, times, batch, ..
    } = *buffers;
    let blocks = batch.div_ceil(ROWS);
    let rows = batch.div_ceil(blocks);
    let cubes = plan.directions * blocks * plan.hidden.div_ceil(TILE);
    let units = CubeDim::new_1d(UNITS as u32);
    let client = &buffers.y.client;
    // Safety: a cube beyond the tiles ends, a unit reads places of its tile alone, and the sizes are those of the buffers.
    unsafe {
        step_kernel::launch_unchecked(
            client,
            calculate_cube_count_elemwise(client, cubes * UNITS, units),
            units,
            buffers.address([hidden, memory]),
            buffers.together,
            buffers.projected.clone().into_tensor_arg(),
            buffers.weights.clone().into_tensor_arg(),
            buffers.constants.clone().into_tensor_arg(),
            buffers.lengths.clone().into_tensor_arg(),
            buffers.y.clone().into_tensor_arg(),
            hidden.clone().into_tensor_arg(),
            memory.clone().into_tensor_arg(),
            step,
            times,
            batch,
            blocks,
            plan,
            stage,
            rows,
            buffers.dtype(),
        );
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn step_kernel<T: Float, N: Size>(
    projected: &Tensor<f32>,
    weights: &Tensor<Vector<T, N>>,
    constants: &Tensor<T>,
    lengths: &Tensor<i32>,
    y: &mut Tensor<T>,
    hidden: &mut Tensor<f32>,
    memory: &mut Tensor<f32>,
    step: usize,
    times: usize,
    batch: usize,
    blocks: usize,
    #[comptime] plan: Plan,
    #[comptime] stage: Stage,
    #[comptime] rows: usize,
    #[define(T)] _dtype: ElemType,
) {
    let width = comptime!(plan.hidden);
    let tiles = comptime!(plan.hidden.div_ceil(TILE));
    if CUBE_POS >= tiles * blocks * plan.directions {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let (tile, rest) = (CUBE_POS % tiles, CUBE_POS / tiles);
    let (block, direction) = (rest % blocks, rest / blocks);
    let half = batch * comptime!(plan.directions * plan.hidden);
    // Where the states before the step begin.
    let mut from = 0usize;
    if comptime!(stage == Stage::All) {
        from = step % 2 * half;
    }

    let first_gate = comptime!(if stage == Stage::Candidate { 2 } else { 0 });
    let gates = comptime!(match stage {
        Stage::All => plan.gates,
        Stage::Reset => 2,
        Stage::Candidate => 1,
    });
    let together = weights.vector_size();
    let columns = comptime!(gates * TILE);
    let groups = comptime!(columns / together);
    let parts = comptime!((UNITS / groups).min(PARTS));
    let (part, column) = (unit / groups, unit % groups * together);
    let place = tile * TILE + column % TILE;
    let mut shared = Shared::<[f32]>::new_slice(comptime!(rows * parts * columns));
    let mut scale = 1f32;
    let mut zero = 0f32;
    if comptime!(plan.is_quantized) {
        let mut bounds = Shared::<[f32]>::new_slice(comptime!(2 * UNITS));
        let mut least = 0f32;
        let mut most = 0f32;
        for at in range_stepped(unit, batch * width, UNITS) {
            let place = state_place(direction, at / width, batch, plan) + at % width;
            least = min(least, hidden[from + place]);
            most = max(most, hidden[from + place]);
        }
        let (step, origin) = span(least, most, &mut bounds);
        scale = step;
        zero = origin;
    }
    if part < parts && place < width {
        let output = (column / TILE + first_gate) * width + place;
        let weight = direction * weights.stride(0) + output * weights.stride(1);
        let mut begins = Array::<usize>::new(rows);
        let mut sums = Array::<Vector<f32, N>>::new(rows);
        #[unroll]
        for row in 0..rows {
            let sequence = min(block * rows + row, batch - 1);
            begins[row] = state_place(direction, sequence, batch, plan);
            sums[row] = Vector::broadcast(0f32);
        }
        let mut at = part;
        while at < width {
            let weight =
                Vector::<f32, N>::cast_from(weights[(weight + at * weights.stride(2)) / together]);
            #[unroll]
            for row in 0..rows {
                let place = begins[row] + at;
                if comptime!(stage == Stage::Candidate) {
                    sums[row] += weight * Vector::broadcast(memory[half + place]);
                } else if comptime!(plan.is_quantized) {
                    let state = level(hidden[from + place], scale, zero);
                    sums[row] += weight * Vector::broadcast(state);
                } else {
                    sums[row] += weight * Vector::broadcast(hidden[from + place]);
                }
            }
            at += parts;
        }
        #[unroll]
        for row in 0..rows {
            let first = (row * parts + part) * columns + column;
            #[unroll]
            for lane in 0..together {
                shared[first + lane] = sums[row].extract(lane);
            }
        }
    }
    sync_cube();

    let (row, local) = (unit / TILE, unit % TILE);
    let sequence = block * rows + row;
    let place = tile * TILE + local;
    if row >= rows || sequence >= batch || place >= width {
        terminate!();
    }
    let time = time_of(step, direction, times, plan);
    let state = state_place(direction, sequence, batch, plan) + place;
    let inputs = input_place(direction, sequence, time, times, batch, plan) + place;
    let bias = biases::<T>(constants, direction, place, true, plan);
    let input_bias = biases::<T>(constants, direction, place, false, plan);
    let mut linear = Array::<f32>::new(comptime!(plan.gates));
    let mut input = Array::<f32>::new(comptime!(plan.gates));
    #[unroll]
    for gate in 0..plan.gates {
        input[gate] = projected[inputs + gate * width] + input_bias[gate];
        linear[gate] = 0f32;
        if comptime!(!plan.is_quantized) {
            linear[gate] = bias[gate];
        }
    }
    #[unroll]
    for gate in 0..gates {
        let first = row * parts * columns + gate * TILE + local;
        let mut sum = 0f32;
        for part in 0..parts {
            sum += shared[first + part * columns];
        }
        linear[gate + first_gate] += sum;
    }
    if comptime!(plan.is_quantized) {
        scaled::<T>(&mut linear, &bias, constants, scale, direction, place, plan);
    }

    let mut states = Array::<f32>::new(2usize);
    states[0] = hidden[from + state];
    states[1] = 0f32;
    if comptime!(stage == Stage::Reset) {
        memory[state] = linear[0];
        memory[half + state] = reset(&input, &linear, states[0], direction, plan);
    } else {
        let mut to = 0usize;
        if comptime!(plan.is_lstm()) {
            states[1] = memory[state];
        }
        if comptime!(stage == Stage::Candidate) {
            linear[0] = memory[state];
        } else {
            to = half - from;
        }
        let peepholes = peepholes::<T>(constants, direction, place, plan);
        let mut output = 0f32;
        if has_time(lengths, sequence, time, plan) {
            advance(&input, &linear, &peepholes, &mut states, direction, plan);
            output = states[0];
        }
        hidden[to + state] = states[0];
        if comptime!(plan.is_lstm()) {
            memory[state] = states[1];
        }
        let at = output_place(direction, sequence, time, times, batch, plan) + place;
        y[at] = T::cast_from(output);
    }
}
