//! Recurrent operators compared with primitives in double precision.

use burn::tensor::{DType, Device, Tensor};

use super::super::{on_flex, switches};
use crate::dtype::lowered;
use crate::recurrent::{
    self, Activation, Cell, Direction, Gru, Lstm, Operands, Rnn, Weights,
    cases::{Case, DIRECTIONS, gru_cell, lstm_cell, quantized},
};
use crate::testing::{device, has, near, noise, on_each, with_launches, with_reads};

/// Times, batch, features and hidden sizes. A cube processes a sequence, or a part of a step of more than 256
/// values, or many sequences share products.
const SIZES: [[usize; 4]; 7] = [
    [4, 3, 7, 5],
    [1, 1, 5, 3],
    [3, 1, 1, 1],
    [4, 2, 9, 64],
    [3, 5, 6, 300],
    [3, 3, 6, 256],
    [3, 10, 3, 240],
];

/// One size for each of these methods, in both directions.
const WAYS: [[usize; 4]; 3] = [[3, 2, 4, 7], [3, 2, 4, 260], [3, 9, 4, 180]];

/// Compares the operation with the primitives.
fn agree(case: &Case, cell: Cell, tolerance: f64) {
    let dtype = case.x.dtype();
    let Case { x, weights, state } = case;
    let Some((y, hidden, memory)) = Operands::of(x, weights, state).call(cell) else {
        assert!(switches::is_plain(), "there is no kernel");
        return;
    };
    let (expected, states) = case.on(&Device::flex(), DType::F64).run(cell);
    near(y, expected.into_data().convert_dtype(dtype), tolerance);
    let found: Vec<Tensor<3>> = [hidden].into_iter().chain(memory).collect();
    assert_eq!(found.len(), states.len());
    for (found, expected) in found.into_iter().zip(states) {
        near(found, expected.into_data().convert_dtype(dtype), tolerance);
    }
}

/// Compares cells that are plain or have every option, batch-first or not.
fn every_option(gates: usize, cell: impl Fn(Direction, bool, bool) -> Cell) {
    on_each(|| {
        for direction in DIRECTIONS {
            // Each of them compiles kernels, which takes most of the time.
            let step = if direction == Direction::Bidirectional { 1 } else { 4 };
            for &sizes in SIZES.iter().step_by(step) {
                for (is_full, variant) in [(false, false), (true, false), (true, true)] {
                    let case = Case::new(sizes, gates, direction, is_full);
                    agree(&case, cell(direction, variant, false), 1e-5);
                    if is_full == variant {
                        agree(&case.batch_first(), cell(direction, variant, true), 1e-5);
                    }
                }
            }
        }
    });
}

#[test]
fn lstm() {
    every_option(4, lstm_cell);
}

#[test]
fn gru() {
    for linear_before_reset in [false, true] {
        every_option(3, |direction, is_full, batch_first| {
            gru_cell(direction, linear_before_reset, is_full, batch_first)
        });
    }
}

#[test]
fn rnn() {
    every_option(1, |direction, variant, batch_first| {
        Cell::Rnn(Rnn { clip: variant.then_some(0.5), batch_first, ..Rnn::new(direction) })
    });
}

#[test]
fn every_function() {
    let (alpha, beta) = (0.3, 0.2);
    on_each(|| {
        for function in [
            Activation::Affine { alpha, beta },
            Activation::Elu { alpha },
            Activation::HardSigmoid { alpha, beta },
            Activation::LeakyRelu { alpha },
            Activation::Relu,
            Activation::ScaledTanh { alpha, beta },
            Activation::Sigmoid,
            Activation::Softplus,
            Activation::Softsign,
            Activation::Tanh,
            Activation::ThresholdedRelu { alpha },
        ] {
            let direction = Direction::Bidirectional;
            let case = Case::new([3, 2, 4, 6], 1, direction, true);
            let options = Rnn { activations: [Activation::Tanh, function], ..Rnn::new(direction) };
            agree(&case, Cell::Rnn(options), 1e-5);
        }
    });
}

/// States are quantized to 8 bits, for all sequences together.
#[test]
fn weights_of_integers() {
    on_each(|| {
        for sizes in [[4, 1, 7, 33], [5, 3, 9, 16], [3, 1, 4, 300], [3, 9, 5, 72]] {
            for direction in [Direction::Reverse, Direction::Bidirectional] {
                for (is_full, columns) in [(false, 1), (true, 4 * sizes[3])] {
                    let case = Case::new(sizes, 4, direction, is_full);
                    let cell = lstm_cell(direction, is_full, false);
                    let dtype = lowered(&device(), DType::I8);
                    let weights = quantized(&case.weights, columns, dtype);
                    let operands = Operands::of(&case.x, &weights, &case.state);
                    let Some((y, hidden, memory)) = operands.call(cell) else {
                        // CubeCL devices leave several sequences with lengths to primitives.
                        let is_left = is_full && sizes[1] > 1 && on_flex(&case.x).is_none();
                        assert!(switches::is_plain() || is_left, "there is no kernel");
                        continue;
                    };
                    let found = [y.flatten::<1>(0, 3), hidden.flatten(0, 2), memory.unwrap().flatten(0, 2)];
                    let single = case.on(&Device::flex(), DType::F32);
                    let double = case.on(&Device::flex(), DType::F64);
                    let weights = Weights {
                        bias: double.weights.bias,
                        peepholes: double.weights.peepholes,
                        ..quantized(&single.weights, columns, DType::I8)
                    };
                    let Cell::Lstm(options) = cell else {
                        unreachable!("the cell is that of an LSTM");
                    };
                    let (y, hidden, memory) = recurrent::lstm(double.x, weights, double.state, &options);
                    let expected = [y.flatten::<1>(0, 3), hidden.flatten(0, 2), memory.flatten(0, 2)];
                    for (found, expected) in found.into_iter().zip(expected) {
                        near(found, expected.cast(DType::F32).into_data(), 1e-5);
                    }
                }
            }
        }
    });
}

#[test]
fn a_sequence_with_weights_of_integers_launches_no_more_with_more_steps() {
    on_each(|| {
        let direction = Direction::Bidirectional;
        let case = |times| Case::new([times, 1, 5, 20], 4, direction, true);
        for times in [2, 30] {
            let case = case(times);
            let weights = quantized(&case.weights, 80, lowered(&device(), DType::I8));
            let operands = Operands::of(&case.x, &weights, &case.state);
            let run = || operands.call(lstm_cell(direction, true, false)).map(|(y, ..)| y.into_data());
            with_reads(0, || with_launches(26, run));
        }
    });
}

#[test]
fn operands_without_others() {
    on_each(|| {
        for sizes in WAYS {
            for present in 0..5 {
                let direction = Direction::Bidirectional;
                let mut case = Case::new(sizes, 4, direction, true);
                let (weights, state) = (&mut case.weights, &mut case.state);
                weights.bias = weights.bias.take().filter(|_| present == 0);
                weights.peepholes = weights.peepholes.take().filter(|_| present == 1);
                state.lengths = state.lengths.take().filter(|_| present == 2);
                state.hidden = state.hidden.take().filter(|_| present == 3);
                state.cell = state.cell.take().filter(|_| present == 4);
                agree(&case, Cell::Lstm(Lstm::new(direction)), 1e-5);
            }
        }
    });
}

#[test]
fn views_are_read_without_a_copy() {
    on_each(|| {
        for [_, batch, _, hidden] in WAYS {
            let direction = Direction::Bidirectional;
            let mut case = Case::new([4, batch, 6, hidden], 4, direction, true);
            let transposed = |x: &Tensor<3>| {
                let x = x.clone().swap_dims(1, 2);
                Tensor::from_data(x.to_data(), &x.device()).swap_dims(1, 2)
            };
            case.x = noise::<3>([6, batch, 9], 10).swap_dims(0, 2).narrow(0, 3, 4);
            case.weights.input = transposed(&case.weights.input);
            case.weights.recurrent = transposed(&case.weights.recurrent);
            case.state.hidden = case.state.hidden.map(|state| transposed(&state));
            agree(&case, Cell::Lstm(Lstm::new(direction)), 1e-5);
        }
    });
}

#[test]
fn initial_states_are_left_as_they_are() {
    on_each(|| {
        for sizes in WAYS {
            let direction = Direction::Bidirectional;
            let case = Case::new(sizes, 4, direction, true);
            let before = case.state.hidden.as_ref().map(Tensor::to_data);
            case.cast(DType::F32).run(Cell::Lstm(Lstm::new(direction)));
            assert_eq!(case.state.hidden.as_ref().map(Tensor::to_data), before);
        }
    });
}

#[test]
fn half_precision_is_computed_in_single_precision() {
    on_each(|| {
        if !has(DType::F16) {
            return;
        }
        for sizes in WAYS {
            let direction = Direction::Bidirectional;
            let case = |gates| Case::new(sizes, gates, direction, true).cast(DType::F16);
            agree(&case(4), Cell::Lstm(Lstm::new(direction)), 1e-3);
            agree(&case(3), Cell::Gru(Gru::new(direction)), 1e-3);
        }
    });
}
