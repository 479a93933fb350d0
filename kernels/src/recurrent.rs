//! RNN, GRU and LSTM over whole sequences.

use burn::tensor::{Int, Tensor};

pub use crate::spec::{
    packed::Packed,
    recurrent::{Activation, Cell, Direction, Gru, Lstm, Rnn, Sizes},
};

mod activation;
#[cfg(test)]
pub(crate) mod cases;
mod gru;
mod lstm;
mod matrix;
mod operands;
mod rnn;
mod sequence;

pub use gru::gru;
pub use lstm::lstm;
pub use matrix::{Matrices, Matrix, Quantized};
pub use operands::Operands;
pub use rnn::rnn;

/// The weights in the layout of ONNX; `directions` is 2 for [`Direction::Bidirectional`], otherwise 1.
#[derive(Clone, Debug)]
pub struct Weights<M = Tensor<3>> {
    /// `[directions, gates * hidden, input]`
    pub input: M,
    /// `[directions, gates * hidden, hidden]`
    pub recurrent: M,
    /// `[directions, 2 * gates * hidden]`: those of the input, then those of the recurrence.
    pub bias: Option<Tensor<2>>,
    /// `[directions, 3 * hidden]` for the input, output and forget gates of an LSTM.
    pub peepholes: Option<Tensor<2>>,
    /// Packed weights of the input and of the recurrence, for weights that are used again.
    pub packed: Option<[Packed; 2]>,
}

/// Initial states and lengths of the sequences.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Number of steps of each sequence of the batch; all steps by default.
    pub lengths: Option<Tensor<1, Int>>,
    /// Initial hidden state; zeros by default.
    pub hidden: Option<Tensor<3>>,
    /// Initial cell state of an LSTM; zeros by default.
    pub cell: Option<Tensor<3>>,
}
