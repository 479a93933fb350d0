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

/// The weights as ONNX lays them out; `directions` is 2 for [`Direction::Bidirectional`], else 1.
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
    /// For weights that are used again: of the input and of the recurrence.
    pub packed: Option<[Packed; 2]>,
}

/// Where the sequences begin and how long they are.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// How many steps each sequence of the batch has; all of them if absent.
    pub lengths: Option<Tensor<1, Int>>,
    /// Zeros if absent.
    pub hidden: Option<Tensor<3>>,
    /// The memory of an LSTM; zeros if absent.
    pub cell: Option<Tensor<3>>,
}
