//! Cells: the computation of one time step.

use crate::attributes::attributes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Rnn,
    Gru,
    Lstm,
}

attributes!(
    enum Cell {
        Rnn,
        Gru,
        Lstm,
    }
);

impl Cell {
    pub fn name(self) -> &'static str {
        match self {
            Cell::Rnn => "Rnn",
            Cell::Gru => "Gru",
            Cell::Lstm => "Lstm",
        }
    }

    pub fn gates(self) -> i64 {
        match self {
            Cell::Rnn => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    /// Returns the default functions of the cell.
    pub fn functions(self) -> &'static [&'static str] {
        match self {
            Cell::Rnn => &["Tanh"],
            Cell::Gru => &["Sigmoid", "Tanh"],
            Cell::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}
