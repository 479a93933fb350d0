//! Recurrent operators.

use burn::tensor::DType;

use super::types::TensorType;

/// The direction in which a sequence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Reverse,
    /// Both directions, each with its own weights; forward is first.
    Bidirectional,
}

/// An activation function with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    Affine { alpha: f32, beta: f32 },
    Elu { alpha: f32 },
    HardSigmoid { alpha: f32, beta: f32 },
    LeakyRelu { alpha: f32 },
    Relu,
    ScaledTanh { alpha: f32, beta: f32 },
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu { alpha: f32 },
}

/// Options of RNN.
#[derive(Clone, Copy, Debug)]
pub struct Rnn {
    pub direction: Direction,
    /// The function for each direction.
    pub activations: [Activation; 2],
    /// Bound of the inputs of the activation functions.
    pub clip: Option<f32>,
    /// The batch is the first axis of inputs and outputs (layout 1).
    pub batch_first: bool,
}

impl Rnn {
    pub const fn new(direction: Direction) -> Self {
        Self { direction, activations: [Activation::Tanh; 2], clip: None, batch_first: false }
    }
}

/// Options of GRU.
#[derive(Clone, Copy, Debug)]
pub struct Gru {
    pub direction: Direction,
    /// For each direction, the function of the update and reset gates, then that of the hidden gate.
    pub activations: [[Activation; 2]; 2],
    /// Bound of the inputs of the activation functions.
    pub clip: Option<f32>,
    /// The hidden gate is multiplied by its weights before the reset.
    pub linear_before_reset: bool,
    /// The batch is the first axis of inputs and outputs (layout 1).
    pub batch_first: bool,
}

impl Gru {
    pub const fn new(direction: Direction) -> Self {
        Self {
            direction,
            activations: [[Activation::Sigmoid, Activation::Tanh]; 2],
            clip: None,
            linear_before_reset: false,
            batch_first: false,
        }
    }
}

/// Options of LSTM.
#[derive(Clone, Copy, Debug)]
pub struct Lstm {
    pub direction: Direction,
    /// For each direction, the function of the input, output and forget gates, of the cell gate, and of the cell.
    pub activations: [[Activation; 3]; 2],
    /// Bound of the inputs of the activation functions of the gates; the cell is not bounded, as in ONNX Runtime.
    pub clip: Option<f32>,
    /// The forget gate is one minus the input gate.
    pub input_forget: bool,
    /// The batch is the first axis of inputs and outputs (layout 1).
    pub batch_first: bool,
    /// The node only has the last output. The range that quantized hidden states are scaled by then includes
    /// the final states of sequences that have ended, otherwise zeros, as in ONNX Runtime.
    pub last_alone: bool,
}

impl Lstm {
    pub const fn new(direction: Direction) -> Self {
        Self {
            direction,
            activations: [[Activation::Sigmoid, Activation::Tanh, Activation::Tanh]; 2],
            clip: None,
            input_forget: false,
            batch_first: false,
            last_alone: false,
        }
    }
}

/// A recurrent operator with its options.
#[derive(Clone, Copy, Debug)]
pub enum Cell {
    Rnn(Rnn),
    Gru(Gru),
    Lstm(Lstm),
}

impl Cell {
    /// Returns the number of gates.
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

/// Sizes of a recurrent operator.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub times: usize,
    pub batch: usize,
    pub features: usize,
    pub directions: usize,
    pub gates: usize,
    pub hidden: usize,
}

/// Types of the outputs at all times, and of each final state.
pub struct Outputs {
    pub all: TensorType,
    pub last: TensorType,
}

impl Cell {
    /// Returns the types of the outputs.
    pub fn outputs(&self, sizes: &Sizes, dtype: DType) -> Outputs {
        let &Sizes { times, batch, directions, hidden, .. } = sizes;
        let (all, last) = if self.batch_first() {
            ([batch, times, directions, hidden], [batch, directions, hidden])
        } else {
            ([times, directions, batch, hidden], [directions, batch, hidden])
        };
        Outputs { all: TensorType::new(all, dtype), last: TensorType::new(last, dtype) }
    }
}

/// Element types of the operands of a recurrent operator, `None` for missing ones.
pub struct ElementTypes {
    pub x: DType,
    pub weights: [Option<DType>; 2],
    /// Types of bias, peepholes and initial states.
    pub others: [Option<DType>; 4],
    pub has_lengths: bool,
}

impl ElementTypes {
    /// Returns the types of the outputs that devices compute.
    ///
    /// `None`: the operands are neither f32 nor of half precision, integer weights belong to another cell than LSTM, or several
    /// quantized sequences have lengths. The range of their states would be taken in another order than in ONNX Runtime.
    pub fn outputs(&self, cell: &Cell, sizes: &Sizes) -> Option<Outputs> {
        let is_integer = |dtype: &Option<DType>| dtype.is_some_and(|dtype| !dtype.is_float());
        let agree = if self.weights.iter().all(is_integer) {
            self.x == DType::F32 && matches!(cell, Cell::Lstm(_))
        } else {
            self.weights.iter().all(|&dtype| dtype == Some(self.x))
        };
        let is_ranged = sizes.batch > 1 && self.has_lengths && self.weights.iter().any(is_integer);
        let is_covered = matches!(self.x, DType::F32 | DType::F16 | DType::BF16)
            && agree
            && !is_ranged
            && self.others.iter().flatten().all(|&dtype| dtype == self.x);
        is_covered.then(|| cell.outputs(sizes, self.x))
    }
}
