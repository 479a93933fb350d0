//! Recurrent operators as one operation of the backend.

use alloc::vec::Vec;
use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};

use super::{Cell, Matrices, Sizes, State, Weights};
use crate::{
    backend::{Operand, Recurrence, call},
    ensure,
    reader::is_immediate,
    shape::{WithShape, expand::to_shape},
    spec::{operand, shaped},
};

/// Operands of a recurrent operator.
#[derive(Clone, Debug)]
pub struct Operands<W = Tensor<3>> {
    pub x: Tensor<3>,
    pub weights: Weights<W>,
    pub state: State,
}

/// The outputs at all times, the last output, and the final cell state of an LSTM.
pub type Outputs = (Tensor<4>, Tensor<3>, Option<Tensor<3>>);

impl<W: Matrices> Operands<W> {
    /// Copies the operands of an operator that may have to be computed by primitives.
    pub fn of(x: &Tensor<3>, weights: &Weights<W>, state: &State) -> Self {
        Self { x: x.clone(), weights: weights.clone(), state: state.clone() }
    }

    /// Returns the outputs if a backend computes them in one operation, or if none depends on the input.
    pub fn call(self, cell: Cell) -> Option<Outputs> {
        let sizes = self.sizes(&cell);
        if [sizes.times, sizes.batch, sizes.hidden].contains(&0) {
            return Some(self.zeros(&cell, sizes));
        }
        if sizes.features == 0 {
            return None;
        }
        // On devices it is not checked whether a sequence has no steps: its states are always filled.
        let lengths = self.state.lengths.clone();
        let lengths = lengths.filter(|lengths| on_cpu(lengths).is_none_or(|all| all.contains(&0)));
        let packed = self.weights.packed.clone();
        let operands = self;
        let (y, hidden, memory) = call!(recurrence(operands; cell, sizes, packed));
        let last = |x| zero_if_empty(Tensor::from_dispatch(x), &lengths, cell.batch_first());
        Some((Tensor::from_dispatch(y.tensor()?), last(hidden.tensor()?), memory.tensor().map(last)))
    }

    /// Returns the outputs of sequences without steps: zeros as in ONNX Runtime, whatever the initial states.
    fn zeros(&self, cell: &Cell, sizes: Sizes) -> Outputs {
        let types = cell.outputs(&sizes, self.x.dtype());
        let options = (&self.x.device(), self.x.dtype());
        let last = || Tensor::zeros(types.last.shape.clone(), options);
        let memory = match cell {
            Cell::Lstm(_) => Some(last()),
            Cell::Rnn(_) | Cell::Gru(_) => None,
        };
        (Tensor::zeros(types.all.shape, options), last(), memory)
    }

    /// Returns the sizes, once the operands are checked.
    fn sizes(&self, cell: &Cell) -> Sizes {
        let [first, second, features] = self.x.dims();
        let (times, batch) = if cell.batch_first() { (second, first) } else { (first, second) };
        let [directions, hidden, outputs] = self.weights.recurrent.sizes();
        let gates = cell.gates();
        let passes = cell.direction().passes().len();
        ensure!(
            directions == passes,
            "expected weights of {passes} directions, found shapes {:?} and {:?}",
            self.weights.input.sizes(),
            self.weights.recurrent.sizes()
        );
        let Weights { input, recurrent, bias, peepholes, .. } = &self.weights;
        let rows = gates * hidden;
        ensure!(
            outputs == rows && input.sizes() == [directions, features, rows],
            "expected input and recurrent weights of matching shapes, found {:?} and {:?}",
            input.sizes(),
            recurrent.sizes()
        );
        if let Some(bias) = bias {
            ensure_shape("bias", bias, [directions, 2 * rows]);
        }
        if let Some(peepholes) = peepholes {
            ensure_shape("tensor of peepholes", peepholes, [directions, 3 * hidden]);
        }
        let state =
            if cell.batch_first() { [batch, directions, hidden] } else { [directions, batch, hidden] };
        for initial in [&self.state.hidden, &self.state.cell].into_iter().flatten() {
            ensure_shape("initial state", initial, state);
        }
        if let Some(lengths) = &self.state.lengths {
            let input = self.x.dims();
            shaped(operand("tensor of lengths", &lengths.dims()), &[batch], operand("input", &input));
            ensure_lengths(lengths, times);
        }
        Sizes { times, batch, features, directions, gates, hidden }
    }
}

/// Sets the final states of sequences of length 0 to zeros, as ONNX Runtime does, whatever the initial states.
pub fn zero_if_empty(state: Tensor<3>, lengths: &Option<Tensor<1, Int>>, batch_first: bool) -> Tensor<3> {
    let Some(lengths) = lengths else {
        return state;
    };
    let shape = state.dims();
    let mut own = [1; 3];
    own[usize::from(!batch_first)] = lengths.dims()[0];
    let is_empty = lengths.clone().lower_equal_scalar(0).with_shape(own);
    state.mask_fill(to_shape(is_empty, shape), 0.0)
}

/// Fails if a length is negative or exceeds the number of steps. Only tensors in host memory are read.
fn ensure_lengths(lengths: &Tensor<1, Int>, times: usize) {
    for length in on_cpu(lengths).into_iter().flatten() {
        ensure!(
            usize::try_from(length).is_ok_and(|length| length <= times),
            "expected a length from 0 to {times}, found {length}"
        );
    }
}

/// Returns the elements of a tensor that is in the memory of this process.
fn on_cpu(x: &Tensor<1, Int>) -> Option<Vec<i64>> {
    is_immediate(&x.device()).then(|| x.to_data().iter::<i64>().collect())
}

fn ensure_shape<const D: usize>(name: &str, tensor: &Tensor<D>, shape: [usize; D]) {
    let actual = tensor.dims();
    ensure!(actual == shape, "expected the {name} {actual:?} to have shape {shape:?}");
}

impl<W: Matrices> Operand for Operands<W> {
    type Primitive = Recurrence<Dispatch>;

    fn into_primitive(self) -> Recurrence<Dispatch> {
        let (weights, state) = (self.weights, self.state);
        Recurrence {
            x: self.x.into_primitive(),
            input: weights.input.into_operands(),
            recurrent: weights.recurrent.into_operands(),
            bias: weights.bias.into_primitive(),
            peepholes: weights.peepholes.into_primitive(),
            lengths: state.lengths.into_primitive(),
            hidden: state.hidden.into_primitive(),
            cell: state.cell.into_primitive(),
        }
    }
}
