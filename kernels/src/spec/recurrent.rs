//! Recurrent operators.

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
    /// The function of each direction.
    pub activations: [Activation; 2],
    /// Bounds the inputs of the activation functions.
    pub clip: Option<f32>,
    /// Whether the batch is the first axis of inputs and outputs (layout 1).
    pub batch_first: bool,
}

impl Rnn {
    pub const fn new(direction: Direction) -> Self {
        Self {
            direction,
            activations: [Activation::Tanh; 2],
            clip: None,
            batch_first: false,
        }
    }
}

/// Options of GRU.
#[derive(Clone, Copy, Debug)]
pub struct Gru {
    pub direction: Direction,
    /// For each direction, the function of the update and reset gates, then that of the hidden gate.
    pub activations: [[Activation; 2]; 2],
    /// Bounds the inputs of the activation functions.
    pub clip: Option<f32>,
    /// Whether the hidden gate multiplies by its weights before it resets.
    pub linear_before_reset: bool,
    /// Whether the batch is the first axis of inputs and outputs (layout 1).
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
    /// Bounds the inputs of the activation functions of the gates; the cell is never bounded, as in ONNX Runtime.
    pub clip: Option<f32>,
    /// Whether the forget gate is one minus the input gate.
    pub input_forget: bool,
    /// Whether the batch is the first axis of inputs and outputs (layout 1).
    pub batch_first: bool,
    /// Whether the node has the last outputs alone. The range that quantized hidden states are scaled by then includes the last
    /// states of sequences that have ended, and zeros otherwise, as in ONNX Runtime.
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
    /// Number of gates.
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
