//! Operands of recurrent operators for tests of kernels.

use alloc::{vec, vec::Vec};
use burn::tensor::{DType, Device, Int, IntDType, Tensor, TensorData};

use super::{Activation, Cell, Direction, Gru, Lstm, Packed, Quantized, State, Weights, gru, lstm, rnn};
use crate::shape::expand::to_shape;
use crate::testing::{int, noise};

pub const DIRECTIONS: [Direction; 3] = [Direction::Forward, Direction::Reverse, Direction::Bidirectional];

/// Operands of one call.
pub struct Case {
    pub x: Tensor<3>,
    pub weights: Weights,
    pub state: State,
}

/// The outputs at all times, and the final states.
pub type Outputs = (Tensor<4>, Vec<Tensor<3>>);

impl Case {
    /// Creates operands. Sizes are times, batch, features and hidden size; `is_full` includes every optional operand.
    pub fn new(sizes: [usize; 4], gates: usize, direction: Direction, is_full: bool) -> Self {
        let [times, batch, features, hidden] = sizes;
        let directions = direction.passes().len();
        let state = |seed| noise::<3>([directions, batch, hidden], seed);
        let lengths: Vec<i64> = (0..batch).map(|at| ((at * 2) % times + 1) as i64).collect();
        let optional = |seed, width| is_full.then(|| noise::<2>([directions, width], seed));
        Self {
            x: noise([times, batch, features], 1),
            weights: Weights {
                input: noise([directions, gates * hidden, features], 2),
                recurrent: noise([directions, gates * hidden, hidden], 3).mul_scalar(2.0 / hidden as f32),
                bias: optional(4, 2 * gates * hidden),
                peepholes: optional(5, 3 * hidden).filter(|_| gates == 4),
                packed: is_full.then(<[Packed; 2]>::default),
            },
            state: State {
                lengths: is_full.then(|| int(TensorData::new(lengths, [batch]))),
                hidden: is_full.then(|| state(6)),
                cell: (is_full && gates == 4).then(|| state(7)),
            },
        }
    }

    pub fn cast(&self, dtype: DType) -> Self {
        self.on(&self.x.device(), dtype)
    }

    /// Copies the operands to another device.
    pub fn on(&self, device: &Device, dtype: DType) -> Self {
        let integers = |x: &Tensor<1, Int>| moved_integers(x, device);
        Self {
            x: moved(&self.x, device, dtype),
            weights: Weights {
                input: moved(&self.weights.input, device, dtype),
                recurrent: moved(&self.weights.recurrent, device, dtype),
                bias: optional(&self.weights.bias, device, dtype),
                peepholes: optional(&self.weights.peepholes, device, dtype),
                packed: self.weights.packed.clone(),
            },
            state: State {
                lengths: self.state.lengths.as_ref().map(integers),
                hidden: optional(&self.state.hidden, device, dtype),
                cell: optional(&self.state.cell, device, dtype),
            },
        }
    }

    /// Swaps to the batch-first layout, as views.
    pub fn batch_first(self) -> Self {
        let swap = |x: Tensor<3>| x.swap_dims(0, 1);
        Self {
            x: swap(self.x),
            weights: self.weights,
            state: State {
                lengths: self.state.lengths,
                hidden: self.state.hidden.map(swap),
                cell: self.state.cell.map(swap),
            },
        }
    }

    pub fn run(self, cell: Cell) -> Outputs {
        match cell {
            Cell::Lstm(options) => {
                let (y, hidden, cell) = lstm(self.x, self.weights, self.state, &options);
                (y, vec![hidden, cell])
            }
            Cell::Gru(options) => {
                let (y, hidden) = gru(self.x, self.weights, self.state, &options);
                (y, vec![hidden])
            }
            Cell::Rnn(options) => {
                let (y, hidden) = rnn(self.x, self.weights, self.state, &options);
                (y, vec![hidden])
            }
        }
    }
}

/// Quantizes the weights to integers of `dtype`, with `columns` scales per direction.
pub fn quantized(weights: &Weights, columns: usize, dtype: DType) -> Weights<Quantized> {
    let of = |x: &Tensor<3>| {
        let (directions, device) = (x.dims()[0], x.device());
        let zero = Tensor::<2, Int>::from_data([[3], [-2]], (&device, dtype));
        let scale = noise::<2>([directions, columns], 8).abs().add_scalar(1.0);
        let levels = x.clone().swap_dims(1, 2).mul_scalar(60.0).round();
        Quantized {
            weight: levels.int().cast(IntDType::from(dtype)),
            scale: moved(&scale.div_scalar(60.0), &device, DType::F32),
            zero: to_shape(zero.narrow(0, 0, directions), [directions, columns]),
        }
    };
    Weights {
        input: of(&weights.input),
        recurrent: of(&weights.recurrent),
        bias: weights.bias.clone(),
        peepholes: weights.peepholes.clone(),
        packed: None,
    }
}

fn optional<const D: usize>(x: &Option<Tensor<D>>, device: &Device, dtype: DType) -> Option<Tensor<D>> {
    x.as_ref().map(|x| moved(x, device, dtype))
}

fn moved<const D: usize>(x: &Tensor<D>, device: &Device, dtype: DType) -> Tensor<D> {
    if x.device() == *device {
        return x.clone().cast(dtype);
    }
    let data = x.to_data().convert_dtype(dtype);
    Tensor::from_data(data, (device, dtype))
}

fn moved_integers(x: &Tensor<1, Int>, device: &Device) -> Tensor<1, Int> {
    if x.device() == *device {
        return x.clone();
    }
    let data = x.to_data();
    let dtype = data.dtype();
    Tensor::from_data(data, (device, dtype))
}

/// Returns an LSTM, plain or with every option.
pub fn lstm_cell(direction: Direction, is_full: bool, batch_first: bool) -> Cell {
    let plain = Lstm::new(direction);
    let functions = [
        Activation::HardSigmoid { alpha: 0.25, beta: 0.5 },
        Activation::Affine { alpha: 0.5, beta: 0.125 },
        Activation::ScaledTanh { alpha: 1.5, beta: 0.5 },
    ];
    Cell::Lstm(Lstm {
        clip: is_full.then_some(0.3),
        input_forget: is_full,
        activations: if is_full { [plain.activations[0], functions] } else { plain.activations },
        batch_first,
        ..plain
    })
}

/// Returns a GRU, plain or clipped.
pub fn gru_cell(direction: Direction, linear_before_reset: bool, is_full: bool, batch_first: bool) -> Cell {
    Cell::Gru(Gru { clip: is_full.then_some(0.4), linear_before_reset, batch_first, ..Gru::new(direction) })
}
