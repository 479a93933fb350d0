//! Recurrent operators on CubeCL devices.
//!
//! One product computes the inputs of all time steps, then launches walk over the steps.

mod buffers;
mod columns;
mod gates;
mod levels;
mod places;
mod plan;
mod products;
mod sequence;
mod steps;

use burn::backend::ops::FloatTensorOps;
use burn_cubecl::CubeBackend;

use crate::{
    backend::{Declined, Given, Outcome, Recurrence},
    cube::type_of_given,
    spec::{
        packed::Packed,
        recurrent::{Cell, ElementTypes, Sizes},
    },
};
use buffers::Buffers;

/// Numbers of sequences, and of terms in a step, from which on a matrix product of all sequences is faster.
const SEQUENCES: usize = 8;
const TERMS: usize = 1 << 20;

/// The outputs of all times, the last ones, and the last cell states of an LSTM.
type Outputs = (Outcome<CubeBackend>, Outcome<CubeBackend>, Given<CubeBackend>);

/// Returns the outputs, except for those that [`ElementTypes::outputs`] omits.
pub fn recurrence(
    operands: Recurrence<CubeBackend>,
    cell: Cell,
    sizes: Sizes,
    _: Option<[Packed; 2]>,
) -> Outputs {
    let cell = &cell;
    let of = |operand: &Given<CubeBackend>| type_of_given(operand).map(|ty| ty.dtype);
    let dtype = operands.x.dtype;
    let others = [&operands.bias, &operands.peepholes, &operands.hidden, &operands.cell];
    let types = ElementTypes {
        x: dtype,
        weights: [&operands.input.weight, &operands.recurrent.weight].map(of),
        others: others.map(of),
        has_lengths: of(&operands.lengths).is_some(),
    };
    let Some(types) = types.outputs(cell, &sizes) else {
        return Declined::declined();
    };
    let (buffers, initial) = Buffers::new(operands, cell, &sizes);
    let last = types.last.shape;
    let terms = buffers.states() * buffers.plan.columns();
    // The states of all sequences together determine their levels.
    let is_joint = buffers.plan.is_quantized && sizes.batch > 1;
    let walk = if sizes.batch >= SEQUENCES && terms > TERMS && !buffers.plan.is_quantized {
        products::walk
    } else if sizes.hidden <= sequence::HIDDEN && !is_joint {
        sequence::walk
    } else {
        steps::walk
    };
    let [hidden, memory] = walk(&buffers, initial);
    let state = |x| {
        let x = CubeBackend::float_reshape(x, last.clone());
        CubeBackend::float_cast(x, dtype.into())
    };
    let memory = match cell {
        Cell::Lstm(_) => Given::Float(state(memory)),
        Cell::Rnn(_) | Cell::Gru(_) => Given::Missing,
    };
    (Outcome::Float(buffers.y), Outcome::Float(state(hidden)), memory)
}
