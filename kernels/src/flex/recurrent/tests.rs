//! Recurrent operators compared with primitives in double precision.

use burn::tensor::{DType, Tensor};

use crate::flex::with_each_set;
use crate::recurrent::{
    Activation, Cell, Direction, Lstm, Quantized, Rnn, Weights,
    cases::{Case, DIRECTIONS, Outputs, gru_cell, lstm_cell, quantized},
    lstm,
};
use crate::testing::{near, noise};

/// Times, batch, features and hidden sizes.
const SIZES: [[usize; 4]; 6] =
    [[1, 1, 5, 3], [4, 1, 7, 33], [3, 2, 1, 1], [2, 9, 4, 20], [3, 1, 40, 130], [5, 3, 9, 16]];

/// Compares cells that are plain or have every option, batch-first or not.
fn agree(gates: usize, cell: impl Fn(Direction, bool, bool) -> Cell) {
    let run = |case: Case, direction, variant, batch_first| case.run(cell(direction, variant, batch_first));
    for sizes in SIZES {
        for direction in DIRECTIONS {
            for (is_full, variant) in [(false, false), (true, false), (true, true)] {
                let case = Case::new(sizes, gates, direction, is_full);
                let (y, states) = run(case.cast(DType::F64), direction, variant, false);
                let check = |outputs: Outputs, y: Tensor<4>, states: Vec<Tensor<3>>| {
                    near(outputs.0, y.cast(DType::F32).into_data(), 1e-5);
                    for (state, expected) in outputs.1.into_iter().zip(states) {
                        near(state, expected.cast(DType::F32).into_data(), 1e-5);
                    }
                };
                with_each_set(|_| {
                    let outputs = run(case.cast(DType::F32), direction, variant, false);
                    check(outputs, y.clone(), states.clone());
                    let swapped = case.cast(DType::F32).batch_first();
                    let outputs = run(swapped, direction, variant, true);
                    let states = states.iter().map(|state| state.clone().swap_dims(0, 1));
                    check(outputs, y.clone().permute([2, 0, 1, 3]), states.collect());
                });
            }
        }
    }
}

#[test]
fn every_option_of_lstm() {
    agree(4, lstm_cell);
}

#[test]
fn every_option_of_gru() {
    for linear_before_reset in [false, true] {
        agree(3, |direction, is_full, batch_first| {
            gru_cell(direction, linear_before_reset, is_full, batch_first)
        });
    }
}

#[test]
fn every_function_of_rnn() {
    let alpha = 0.3;
    for function in [
        Activation::Tanh,
        Activation::Relu,
        Activation::Sigmoid,
        Activation::Softplus,
        Activation::Softsign,
        Activation::Elu { alpha },
        Activation::LeakyRelu { alpha },
        Activation::ThresholdedRelu { alpha },
    ] {
        agree(1, |direction, variant, batch_first| {
            Cell::Rnn(Rnn {
                activations: [function; 2],
                clip: variant.then_some(0.5),
                batch_first,
                ..Rnn::new(direction)
            })
        });
    }
}

#[test]
fn views_are_read_where_they_lie() {
    let case = Case::new([4, 3, 6, 8], 4, Direction::Bidirectional, true);
    let options = Lstm::new(Direction::Bidirectional);
    let run = |x: Tensor<3>, weights: Weights| {
        let outputs = lstm(x, weights, case.state.clone(), &options);
        outputs.0
    };
    let dense = |x: Tensor<3>| Tensor::from_data(x.to_data(), &x.device());
    let wide = noise::<3>([8, 6, 12], 9);
    for x in [
        wide.clone().narrow(0, 2, 4).narrow(1, 1, 3).narrow(2, 5, 6),
        wide.clone().narrow(0, 0, 3).narrow(1, 0, 4).narrow(2, 0, 6).swap_dims(0, 1),
        noise::<3>([6, 3, 4], 10).swap_dims(0, 2),
        wide.clone().narrow(0, 0, 4).narrow(1, 0, 3).narrow(2, 0, 6).flip([0]),
    ] {
        let expected = run(dense(x.clone()), case.weights.clone());
        near(run(x, case.weights.clone()), expected.into_data(), 1e-6);
    }
    let transposed = |x: &Tensor<3>| dense(x.clone().swap_dims(1, 2)).swap_dims(1, 2);
    let weights = Weights {
        input: transposed(&case.weights.input),
        recurrent: transposed(&case.weights.recurrent),
        ..case.weights.clone()
    };
    let expected = run(case.x.clone(), case.weights.clone());
    near(run(case.x.clone(), weights), expected.into_data(), 1e-6);
}

#[test]
fn many_sequences_are_shared_between_threads() {
    let case = Case::new([6, 40, 16, 130], 4, Direction::Forward, true);
    let options = Lstm::new(Direction::Forward);
    let run = |case: Case| lstm(case.x, case.weights, case.state, &options).0;
    let expected = run(case.cast(DType::F64)).cast(DType::F32);
    near(run(case.cast(DType::F32)), expected.into_data(), 1e-5);
}

#[test]
fn quantized_weights_and_states() {
    let options = Lstm::new(Direction::Bidirectional);
    for (sizes, is_full, columns) in [([4, 1, 7, 33], false, 1), ([5, 3, 9, 16], true, 64)] {
        let case = Case::new(sizes, 4, Direction::Bidirectional, is_full);
        let weights = quantized(&case.weights, columns, DType::I8);
        let run = |case: Case, weights: Weights<Quantized>| {
            let (y, hidden, cell) = lstm(case.x, weights, case.state, &options);
            [y.flatten::<1>(0, 3), hidden.flatten(0, 2), cell.flatten(0, 2)]
        };
        let wide = Weights {
            bias: case.weights.bias.clone().map(|bias| bias.cast(DType::F64)),
            peepholes: case.weights.peepholes.clone().map(|peep| peep.cast(DType::F64)),
            ..weights.clone()
        };
        let expected = run(case.cast(DType::F64), wide);
        with_each_set(|_| {
            let outputs = run(case.cast(DType::F32), weights.clone());
            for (y, expected) in outputs.into_iter().zip(expected.clone()) {
                near(y, expected.cast(DType::F32).into_data(), 1e-5);
            }
        });
    }
}
