//! A recurrent operator in one call of a backend.

use burn::tensor::Tensor;

use super::{Direction, Gru, Lstm, Matrices, Rnn, State, Weights};
use crate::{
    backend::call,
    ensure,
    spec::{operand, shaped},
};

/// What a recurrent operator reads.
#[derive(Clone, Debug)]
pub struct Operands<W = Tensor<3>> {
    pub x: Tensor<3>,
    pub weights: Weights<W>,
    pub state: State,
}

/// Which cell it is, and how it computes.
#[derive(Clone, Copy, Debug)]
pub enum Cell {
    Rnn(Rnn),
    Gru(Gru),
    Lstm(Lstm),
}

/// The sizes of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub times: usize,
    pub batch: usize,
    pub features: usize,
    pub directions: usize,
    pub gates: usize,
    pub hidden: usize,
}

/// The outputs of all times, and the states after the last one: the output, and the memory of an LSTM.
pub type Outputs = (Tensor<4>, Tensor<3>, Option<Tensor<3>>);

impl Cell {
    pub fn gates(&self) -> usize {
        match self {
            Self::Rnn(_) => 1,
            Self::Gru(_) => 3,
            Self::Lstm(_) => 4,
        }
    }

    pub fn direction(&self) -> Direction {
        match self {
            Self::Rnn(rnn) => rnn.direction,
            Self::Gru(gru) => gru.direction,
            Self::Lstm(lstm) => lstm.direction,
        }
    }

    pub fn clip(&self) -> Option<f32> {
        match self {
            Self::Rnn(rnn) => rnn.clip,
            Self::Gru(gru) => gru.clip,
            Self::Lstm(lstm) => lstm.clip,
        }
    }

    pub fn batch_first(&self) -> bool {
        match self {
            Self::Rnn(rnn) => rnn.batch_first,
            Self::Gru(gru) => gru.batch_first,
            Self::Lstm(lstm) => lstm.batch_first,
        }
    }
}

impl<W: Matrices> Operands<W> {
    /// Those of an operator that may have to walk over them.
    pub fn of(x: &Tensor<3>, weights: &Weights<W>, state: &State) -> Self {
        Self {
            x: x.clone(),
            weights: weights.clone(),
            state: state.clone(),
        }
    }

    /// What a backend computes in one call; none where there is no body, or nothing to compute.
    pub fn call(self, cell: Cell) -> Option<Outputs> {
        let sizes = self.sizes(&cell);
        if sizes.is_empty() {
            return None;
        }
        let packed = self.weights.packed.clone();
        let operands = self;
        let (y, hidden, memory) = call!(recurrence(operands; cell, sizes, packed));
        Some((
            Tensor::from_dispatch(y.tensor()?),
            Tensor::from_dispatch(hidden.tensor()?),
            memory.tensor().map(Tensor::from_dispatch),
        ))
    }

    /// The sizes of operands that go together.
    fn sizes(&self, cell: &Cell) -> Sizes {
        let [first, second, features] = self.x.dims();
        let (times, batch) = if cell.batch_first() {
            (second, first)
        } else {
            (first, second)
        };
        let [directions, hidden, outputs] = self.weights.recurrent.sizes();
        let gates = cell.gates();
        ensure!(times > 0, "the sequences have no steps");
        let passes = cell.direction().passes().len();
        ensure!(
            directions == passes,
            "weights of sizes {:?} and {:?} are not those of {passes} directions",
            self.weights.input.sizes(),
            self.weights.recurrent.sizes()
        );
        let Weights {
            input,
            recurrent,
            bias,
            peepholes,
            ..
        } = &self.weights;
        let rows = gates * hidden;
        ensure!(
            outputs == rows && input.sizes() == [directions, features, rows],
            "weights of sizes {:?} and {:?} do not go together",
            input.sizes(),
            recurrent.sizes()
        );
        if let Some(bias) = bias {
            ensure_shape("bias", bias, [directions, 2 * rows]);
        }
        if let Some(peepholes) = peepholes {
            ensure_shape("tensor of peepholes", peepholes, [directions, 3 * hidden]);
        }
        let state = if cell.batch_first() {
            [batch, directions, hidden]
        } else {
            [directions, batch, hidden]
        };
        for initial in [&self.state.hidden, &self.state.cell].into_iter().flatten() {
            ensure_shape("initial state", initial, state);
        }
        if let Some(lengths) = &self.state.lengths {
            let input = self.x.dims();
            shaped(
                operand("tensor of lengths", &lengths.dims()),
                &[batch],
                operand("input", &input),
            );
        }
        Sizes {
            times,
            batch,
            features,
            directions,
            gates,
            hidden,
        }
    }
}

impl Sizes {
    fn is_empty(&self) -> bool {
        [self.batch, self.features, self.hidden].contains(&0)
    }
}

fn ensure_shape<const D: usize>(name: &str, tensor: &Tensor<D>, shape: [usize; D]) {
    let actual = tensor.dims();
    ensure!(
        actual == shape,
        "the {name} is {actual:?}, but must be of shape {shape:?}"
    );
}
