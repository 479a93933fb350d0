//! Compile-time constants of the kernels of a recurrent operator.

use crate::spec::recurrent::{Activation, Cell, Sizes};

/// A cell, its sizes, and the operands that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    pub kind: Kind,
    /// Per direction, for gates in the order of the operator.
    pub functions: [[Function; 3]; 2],
    /// The bits of a float.
    pub clip: Option<u32>,
    pub directions: usize,
    pub gates: usize,
    pub hidden: usize,
    /// True if the first direction goes back in time, as the second one does.
    pub is_reversed: bool,
    pub batch_first: bool,
    /// True if weights are levels, and states are rounded to levels.
    pub is_quantized: bool,
    pub has_bias: bool,
    pub has_peepholes: bool,
    pub has_lengths: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Rnn,
    /// A GRU that resets the state before it multiplies.
    GruResetFirst,
    GruResetLast,
    Lstm,
    /// An LSTM whose forget gate is one minus the input gate.
    LstmCoupled,
}

/// An activation function with the bits of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    pub shape: Shape,
    pub alpha: u32,
    pub beta: u32,
}

/// An activation function without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Affine,
    Elu,
    HardSigmoid,
    LeakyRelu,
    Relu,
    ScaledTanh,
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu,
}

impl Plan {
    pub fn new(cell: &Cell, sizes: Sizes) -> Self {
        let (kind, functions) = match cell {
            Cell::Rnn(rnn) => (Kind::Rnn, rnn.activations.map(|one| [one; 3])),
            Cell::Gru(gru) => (
                if gru.linear_before_reset { Kind::GruResetLast } else { Kind::GruResetFirst },
                gru.activations.map(|[gate, state]| [gate, gate, state]),
            ),
            Cell::Lstm(lstm) => {
                (if lstm.input_forget { Kind::LstmCoupled } else { Kind::Lstm }, lstm.activations)
            }
        };
        Self {
            kind,
            functions: functions.map(|of_direction| of_direction.map(Function::of)),
            clip: cell.clip().map(f32::to_bits),
            directions: sizes.directions,
            gates: sizes.gates,
            hidden: sizes.hidden,
            is_reversed: cell.direction().passes()[0].1,
            batch_first: cell.batch_first(),
            is_quantized: false,
            has_bias: false,
            has_peepholes: false,
            has_lengths: false,
        }
    }

    pub fn is_lstm(&self) -> bool {
        matches!(self.kind, Kind::Lstm | Kind::LstmCoupled)
    }

    /// The columns of all gates of one direction.
    pub fn columns(&self) -> usize {
        self.gates * self.hidden
    }

    /// Offset of the scales of the columns in the constants of one direction.
    pub fn scales(&self) -> usize {
        if self.has_bias { 2 * self.columns() } else { 0 }
    }

    /// Number of biases, scales and peepholes of one direction, which are in this order.
    pub fn constants(&self) -> usize {
        let scales = if self.is_quantized { self.columns() } else { 0 };
        let peepholes = if self.has_peepholes { 3 * self.hidden } else { 0 };
        self.scales() + scales + peepholes
    }
}

impl Function {
    fn of(activation: Activation) -> Self {
        let (shape, alpha, beta) = match activation {
            Activation::Affine { alpha, beta } => (Shape::Affine, alpha, beta),
            Activation::Elu { alpha } => (Shape::Elu, alpha, 0.0),
            Activation::HardSigmoid { alpha, beta } => (Shape::HardSigmoid, alpha, beta),
            Activation::LeakyRelu { alpha } => (Shape::LeakyRelu, alpha, 0.0),
            Activation::Relu => (Shape::Relu, 0.0, 0.0),
            Activation::ScaledTanh { alpha, beta } => (Shape::ScaledTanh, alpha, beta),
            Activation::Sigmoid => (Shape::Sigmoid, 0.0, 0.0),
            Activation::Softplus => (Shape::Softplus, 0.0, 0.0),
            Activation::Softsign => (Shape::Softsign, 0.0, 0.0),
            Activation::Tanh => (Shape::Tanh, 0.0, 0.0),
            Activation::ThresholdedRelu { alpha } => (Shape::ThresholdedRelu, alpha, 0.0),
        };
        Self { shape, alpha: alpha.to_bits(), beta: beta.to_bits() }
    }
}
