//! Recurrent operators.
//!
//! The inputs of all times are one product; the recurrence is computed step by step.

mod gates;
mod inputs;
mod levels;
#[cfg(test)]
mod tests;
mod walk;
mod weights;

use std::sync::OnceLock;

use burn::backend::{Flex, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::{DType, TensorData};

use super::{
    memory::{Buffer, Cuts, Grid, Order},
    plan::{threads, tuning::sequences_per_thread},
    threads::task_for_each,
    view::Dense,
};
use crate::{
    backend::{Declined, Given, Outcome, Recurrence},
    spec::{
        packed::Packed,
        recurrent::{Cell, Outputs, Sizes},
    },
};
use inputs::{Inputs, lengths};
use walk::{State, Walk};
use weights::{Biases, Weights};

/// The outputs at all times, the last output, and the cell state of an LSTM.
type Results = (Outcome<Flex>, Outcome<Flex>, Given<Flex>);

/// Declines element types other than single and half precision.
pub fn recurrence(
    operands: Recurrence<Flex>,
    cell: Cell,
    sizes: Sizes,
    packed: Option<[Packed; 2]>,
) -> Results {
    Weights::of(&operands, &cell, sizes, packed.as_ref())
        .and_then(|weights| walked(&operands, &cell, sizes, &weights))
        .unwrap_or_else(Declined::declined)
}

fn walked(operands: &Recurrence<Flex>, cell: &Cell, sizes: Sizes, weights: &Weights) -> Option<Results> {
    let Sizes { times, batch, directions, hidden: width, .. } = sizes;
    let dense = |operand: &Given<Flex>| match operand {
        Given::Float(tensor) => Some(Dense::new(tensor)),
        _ => None,
    };
    let (peepholes, lengths) = (dense(&operands.peepholes), lengths(&operands.lengths));
    let are_quantized = weights.are_quantized();
    let inputs = if are_quantized {
        Inputs::quantized(&operands.x, cell.batch_first(), lengths.as_deref())?
    } else {
        Inputs::of(&operands.x, cell.batch_first())?
    };
    let bias = dense(&operands.bias);
    let biases = Biases::new(bias.as_ref().map(Dense::values), cell, sizes, are_quantized);
    let projected = weights.project(&inputs, biases.input.as_deref());
    let initial = [&operands.hidden, &operands.cell].map(dense);

    let passes = cell.direction().passes();
    let walks: Vec<Walk<'_>> = passes
        .into_iter()
        .map(|(direction, reversed)| Walk {
            cell,
            sizes,
            direction,
            reversed,
            projected: &projected,
            steps: inputs.steps(),
            weights: weights.of_direction(direction),
            bias: biases.recurrent(direction),
            last_bias: biases.last(direction),
            scales: weights.scales(direction),
            peepholes: peepholes.as_ref().map(|all| &all.values()[direction * 3 * width..][..3 * width]),
            lengths: lengths.as_deref(),
            initial: initial.each_ref().map(|state| state.as_ref().map(Dense::values)),
        })
        .collect();

    let rows = directions * batch * width;
    let threads = threads(times * rows * sizes.gates * width);
    // The range of quantized states spans all sequences.
    let threads_of_pass = if are_quantized { 1 } else { threads.div_ceil(directions) };
    let share = batch.div_ceil(threads_of_pass).max(sequences_per_thread());
    let across = batch.div_ceil(share);
    // Sequences of a part. Parts of one direction are consecutive.
    let sequences = |part: usize| {
        let first = part % across * share;
        first..batch.min(first + share)
    };
    let ([high, wide], grid) = rectangle(cell.batch_first(), &sizes, share);
    let states: Vec<OnceLock<State>> = (0..walks.len() * across).map(|_| OnceLock::new()).collect();
    let y = Buffer::filled(times * rows, |out| {
        let tasks = task_for_each(threads);
        let out = out.reshaped(high, wide);
        out.side_by_side(grid, tasks, |part, _, out| {
            let (state, out) = walks[part / across].run(sequences(part), out);
            let _ = states[part].set(state);
            out
        })
    });
    let (mut hidden, mut memory) = (
        vec![0.0; rows],
        match cell {
            Cell::Lstm(_) => vec![0.0; rows],
            Cell::Rnn(_) | Cell::Gru(_) => Vec::new(),
        },
    );
    for (part, state) in states.into_iter().enumerate() {
        let walk = &walks[part / across];
        // Nothing was computed if the output is empty.
        let state = state.into_inner();
        let state = state.unwrap_or_else(|| walk.state(sequences(part)));
        for (at, sequence) in sequences(part).enumerate() {
            let (from, to) = (at * width, walk.state_row(sequence) * width);
            hidden[to..to + width].copy_from_slice(&state.hidden[from..from + width]);
            if !memory.is_empty() {
                memory[to..to + width].copy_from_slice(&state.memory[from..from + width]);
            }
        }
    }
    let dtype = operands.x.dtype();
    let Outputs { all, last } = cell.outputs(&sizes, dtype);
    let (all, last) = (all.shape, last.shape);
    let of = |values: Vec<f32>, shape| FlexTensor::from_data(TensorData::new(values, shape));
    let memory = if memory.is_empty() {
        Given::Missing
    } else {
        Given::Float(rounded(of(memory, last.clone()), dtype))
    };
    let hidden = Outcome::Float(rounded(of(hidden, last), dtype));
    let all = Outcome::Float(rounded(y.tensor(all), dtype));
    Some((all, hidden, memory))
}

/// Rows and columns of the output, and the grid of its parts: `share` sequences of one direction, direction by direction.
fn rectangle(batch_first: bool, sizes: &Sizes, share: usize) -> ([usize; 2], Grid<'static>) {
    let Sizes { times, batch, directions, hidden: width, .. } = *sizes;
    let (rows, columns) = if batch_first {
        (Cuts::every(batch * times, (share * times).max(1)), Cuts::every(directions * width, width.max(1)))
    } else {
        let columns = Cuts::Every { groups: directions, size: batch * width, step: (share * width).max(1) };
        (Cuts::none(times), columns)
    };
    let grid = Grid { rows, columns, order: Order::ColumnMajor };
    let rectangle =
        if batch_first { [batch * times, directions * width] } else { [times, directions * batch * width] };
    (rectangle, grid)
}

fn rounded(y: FlexTensor, dtype: DType) -> FlexTensor {
    match dtype {
        DType::F32 => y,
        _ => Flex::float_cast(y, dtype.into()),
    }
}
