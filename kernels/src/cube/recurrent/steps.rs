//! Recurrent operators with a launch for each step.
//!
//! A cube computes some hidden values of some sequences.

use burn::backend::ops::FloatTensorOps;
use burn::tensor::{DType, Slice};
use burn_cubecl::{CubeBackend, ops::numeric::zeros, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    buffers::{Buffers, exclusive},
    columns::UNITS,
    gates::{advance, biases, peepholes, reset, scaled},
    levels::{SPAN_BYTES, level, span},
    places::{has_time, input_place, output_place, state_place, time_of},
    plan::{Kind, Plan},
};
use crate::cube::{
    launch::{Grid, Strided, launch},
    unwritten,
};

/// Number of hidden values of a cube, whose weights are adjacent.
const TILE: usize = 16;
/// Largest number of sequences of a cube, which multiply the same weights. Their sums fill the 16 KiB of
/// shared memory that every device has.
const ROWS: usize = 4;
/// Largest number of units that share a column.
const PARTS: usize = 32;

/// Part of a step that a launch computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Everything. It reads the states of one half of their buffer and writes those of the other.
    All,
    /// The product of the update gate of a GRU and the state that it resets: the halves of the other buffer.
    Reset,
    /// The state of a GRU from both of them.
    Candidate,
}

impl Stage {
    /// Number of gates whose products a cube computes.
    fn gates(self, plan: Plan) -> usize {
        match self {
            Self::All => plan.gates,
            Self::Reset => 2,
            Self::Candidate => 1,
        }
    }

    /// Number of units that share a column, if each computes `together` adjacent ones.
    fn parts(self, plan: Plan, together: usize) -> usize {
        (UNITS * together / (self.gates(plan) * TILE)).min(PARTS)
    }

    /// Shared memory of a cube for each of its sequences, in bytes.
    fn bytes_of_sequence(self, plan: Plan, together: usize) -> usize {
        self.parts(plan, together) * self.gates(plan) * TILE * size_of::<f32>()
    }
}

/// Number of sequences of a cube, whose sums take `bytes` each and `other` bytes in all of the `most` bytes
/// of shared memory.
fn sequences(most: usize, bytes: usize, other: usize) -> usize {
    (most.saturating_sub(other) / bytes).clamp(1, ROWS)
}

/// Walks over all times. Returns the last output, and the memory of an LSTM.
pub fn walk(buffers: &Buffers, initial: [Option<CubeTensor>; 2]) -> [CubeTensor; 2] {
    let plan = buffers.plan;
    let elements = buffers.states();
    let nothing = |elements: usize| {
        let y = &buffers.y;
        zeros(y.device.clone(), [elements].into(), DType::F32)
    };
    let [hidden, memory] = initial
        .map(|state| state.map(|state| CubeBackend::float_reshape(exclusive(state), [elements].into())));
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
    let Buffers { plan, times, batch, .. } = *buffers;
    let together = buffers.together;
    let bytes = stage.bytes_of_sequence(plan, together);
    let other = if plan.is_quantized { SPAN_BYTES } else { 0 };
    let most = buffers.y.client.properties().hardware.max_shared_memory_size;
    let blocks = batch.div_ceil(sequences(most, bytes, other));
    let rows = batch.div_ceil(blocks);
    let cubes = plan.directions * blocks * plan.hidden.div_ceil(TILE);
    let grid = Grid::cubes(cubes, UNITS).shared(rows * bytes + other);
    launch!(grid => step_kernel[together](
        &buffers.projected, Strided(&buffers.weights), &buffers.constants, &buffers.lengths,
        &buffers.y, hidden, memory;
        step, times, batch, blocks, plan, stage, rows, buffers.dtype(),
    ));
}

/// A cube computes a tile of hidden values of some sequences.
///
/// Cubes beyond the tiles of all blocks of `rows` sequences and all directions end. `projected` and `y` have
/// the gates and the states of each time, sequence and direction, `weights` is read by its strides,
/// `constants` are those of [`biases`] and [`peepholes`], and `lengths` has an element for each sequence, if
/// the plan has lengths. Sequences and hidden values beyond the last one are read as the last one, or not at
/// all, and not written. `hidden` and `memory` have the states of all sequences, twice if a stage reads one
/// half and writes the other.
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
    // Offset of the states before the step.
    let mut from = 0usize;
    if comptime!(stage == Stage::All) {
        from = step % 2 * half;
    }

    let first_gate = comptime!(if stage == Stage::Candidate { 2 } else { 0 });
    let gates = comptime!(stage.gates(plan));
    let together = weights.vector_size();
    let columns = comptime!(gates * TILE);
    let groups = comptime!(columns / together);
    let parts = comptime!(stage.parts(plan, together));
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
            let weight = Vector::<f32, N>::cast_from(weights[(weight + at * weights.stride(2)) / together]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_a_cube_fit_into_shared_memory() {
        // Four gates whose columns are read four at once: the sums of a sequence take 4 KiB.
        let bytes = 4096;
        assert_eq!(sequences(16_384, bytes, 0), 4);
        // The least of WebGPU does not hold the range of quantized states and four sequences.
        assert_eq!(sequences(16_384, bytes, SPAN_BYTES), 3);
        assert_eq!(sequences(32_768, bytes, SPAN_BYTES), 4);
        assert_eq!(sequences(1024, bytes, SPAN_BYTES), 1);
    }
}
