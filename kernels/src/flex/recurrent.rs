//! Recurrent operators: one product for the inputs of all times, then walks over them.

mod gates;
mod inputs;
mod levels;
#[cfg(test)]
mod tests;
mod walk;
mod weights;

use burn::backend::{Flex, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::{DType, TensorData};

use super::{
    gemm::threads,
    memory::{Output, Target},
    threads::side_by_side,
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
use walk::{Places, Walk};
use weights::{Biases, Weights};

/// Sequences that one thread walks over at least, where a direction has several.
const SEQUENCES: usize = 4;

/// The outputs of all times, the last one, and the memory of an LSTM.
type Results = (Outcome<Flex>, Outcome<Flex>, Given<Flex>);

/// None for numbers that are not of single or half precision.
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

fn walked(
    operands: &Recurrence<Flex>,
    cell: &Cell,
    sizes: Sizes,
    weights: &Weights,
) -> Option<Results> {
    let Sizes {
        times,
        batch,
        directions,
        hidden: width,
        ..
    } = sizes;
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
            peepholes: peepholes
                .as_ref()
                .map(|all| &all.values()[direction * 3 * width..][..3 * width]),
            lengths: lengths.as_deref(),
            initial: initial
                .each_ref()
                .map(|state| state.as_ref().map(Dense::values)),
        })
        .collect();

    let rows = directions * batch * width;
    let (mut hidden, mut memory) = (
        vec![0.0; rows],
        match cell {
            Cell::Lstm(_) => vec![0.0; rows],
            Cell::Rnn(_) | Cell::Gru(_) => Vec::new(),
        },
    );
    let y = Output::filled(times * rows, |y| {
        let places = Places {
            y,
            hidden: Target::of(&mut hidden),
            memory: Target::of(&mut memory),
        };
        let threads = threads(times * rows * sizes.gates * width);
        // All sequences share the range of states that are quantized.
        let threads_of_pass = if are_quantized {
            1
        } else {
            threads.div_ceil(directions)
        };
        let share = batch.div_ceil(threads_of_pass).max(SEQUENCES);
        let across = batch.div_ceil(share);
        let run = |part: usize| {
            let first = part % across * share;
            walks[part / across].run(first..batch.min(first + share), &places);
        };
        if threads > 1 {
            side_by_side(walks.len() * across, run);
        } else {
            (0..walks.len() * across).for_each(run);
        }
    });
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

fn rounded(y: FlexTensor, dtype: DType) -> FlexTensor {
    match dtype {
        DType::F32 => y,
        _ => Flex::float_cast(y, dtype.into()),
    }
}
