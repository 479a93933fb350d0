//! LSTM: input, output, forget and cell gates.

use burn::tensor::Tensor;

use super::{
    Cell, Lstm, Matrices, Matrix, Operands, State, Weights,
    sequence::{Pass, Separate, Sequence, clipped, part},
};

/// Computes the outputs of `[times, batch, input]` at all times, `[times, directions, batch, hidden]`, and
/// the last output and cell state, `[directions, batch, hidden]` each.
#[inline(never)]
pub fn lstm<W: Matrices>(
    x: Tensor<3>,
    weights: Weights<W>,
    state: State,
    options: &Lstm,
) -> (Tensor<4>, Tensor<3>, Tensor<3>) {
    let operands = Operands::of(&x, &weights, &state);
    if let Some((y, hidden, Some(cell))) = operands.call(Cell::Lstm(*options)) {
        return (y, hidden, cell);
    }
    let sequence = Sequence {
        x,
        lengths: state.lengths,
        initial: [state.hidden, state.cell],
        direction: options.direction,
        batch_first: options.batch_first,
        last_alone: options.last_alone,
    };
    let (y, [hidden, cell]) = sequence
        .walk(weights, Separate::Both, |pass, input, [hidden, cell]| options.step(pass, input, hidden, cell));
    (y, hidden, cell)
}

impl Lstm {
    fn step(
        &self,
        pass: &Pass<impl Matrix>,
        input: Tensor<2>,
        hidden: Tensor<2>,
        cell: Tensor<2>,
    ) -> [Tensor<2>; 2] {
        let [gate, candidate, output] = self.activations[pass.index];
        let width = hidden.dims()[1];
        // ONNX Runtime adds the biases last, which affects values that are rounded to few bits.
        let linear = input + pass.recurrent.product(hidden);
        let linear = match &pass.bias {
            Some(bias) => linear + bias.clone(),
            None => linear,
        };
        let open = |linear| gate.apply(clipped(linear, self.clip));
        let peek = |index: usize, cell: &Tensor<2>| match &pass.peepholes {
            Some(peepholes) => part(&linear, index, 4) + part(peepholes, index, 3) * cell.clone(),
            None => part(&linear, index, 4),
        };
        let candidate = candidate.apply(clipped(part(&linear, 3, 4), self.clip));
        let memory = |input: Tensor<2>, forget: Tensor<2>| {
            let kept = if self.input_forget { input.clone().neg().add_scalar(1.0) } else { forget };
            kept * cell.clone() + input * candidate.clone()
        };
        let (next, out) = if pass.peepholes.is_none() {
            let gates = open(linear.clone().narrow(1, 0, 3 * width));
            (memory(part(&gates, 0, 3), part(&gates, 2, 3)), part(&gates, 1, 3))
        } else {
            let next = memory(open(peek(0, &cell)), open(peek(2, &cell)));
            let out = open(peek(1, &next));
            (next, out)
        };
        let hidden = out * output.apply(next.clone());
        [hidden, next]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::recurrent::{Activation, Direction};
    use crate::testing::{by_flex, int, near, noise};

    // Expected values are those of ONNX Runtime.

    fn x() -> Tensor<3> {
        noise([3, 2, 2], 1)
    }

    fn weights(directions: usize, seed: u64) -> Weights {
        Weights {
            input: noise([directions, 8, 2], seed),
            recurrent: noise([directions, 8, 2], seed + 1),
            bias: Some(noise([directions, 16], seed + 2)),
            peepholes: None,
            packed: None,
        }
    }

    fn everything() -> (Weights, State) {
        let weights = Weights { peepholes: Some(noise([2, 6], 23)), ..weights(2, 20) };
        let state = State {
            lengths: Some(int([3i32, 1])),
            hidden: Some(noise([2, 2, 2], 24)),
            cell: Some(noise([2, 2, 2], 25).mul_scalar(3.0)),
        };
        (weights, state)
    }

    #[test]
    fn the_state_begins_at_zero() {
        let weights = Weights { bias: None, ..weights(1, 10) };
        let options = Lstm::new(Direction::Forward);
        let (y, hidden, cell) = lstm(x(), weights, State::default(), &options);
        near(
            y,
            [
                [[[0.10867755f32, 0.11942516], [-0.011149986, 0.05952631]]],
                [[[0.13826886, 0.0648655], [-0.06875346, -0.14886704]]],
                [[[0.07831912, -0.00059149234], [-0.12961277, -0.23424694]]],
            ],
            1e-6,
        );
        near(hidden, [[[0.07831912f32, -0.00059149234], [-0.12961277, -0.23424694]]], 1e-6);
        near(cell, [[[0.16248725f32, -0.0010891333], [-0.49841565, -0.48710537]]], 1e-6);
    }

    #[test]
    fn both_directions_peek_at_the_cell_and_stop_at_the_end_of_each_sequence() {
        let (weights, state) = everything();
        let options = Lstm::new(Direction::Bidirectional);
        let (y, hidden, cell) = lstm(x(), weights, state, &options);
        near(
            y,
            [
                [
                    [[0.40036422f32, -0.852421], [0.07370338, 0.21214399]],
                    [[-0.15008076, -0.17002921], [-0.35077265, -0.50431114]],
                ],
                [[[0.36634964, -0.8328759], [0.0, 0.0]], [[-0.14637277, -0.12306906], [0.0, 0.0]]],
                [[[0.38592604, -0.78383434], [0.0, 0.0]], [[-0.30718273, -0.19272858], [0.0, 0.0]]],
            ],
            1e-6,
        );
        near(
            hidden,
            [
                [[0.38592604f32, -0.78383434], [0.07370338, 0.21214399]],
                [[-0.15008076, -0.17002921], [-0.35077265, -0.50431114]],
            ],
            1e-6,
        );
        near(
            cell,
            [
                [[0.45048094f32, -1.4888606], [0.09060252, 1.2142051]],
                [[-0.28019544, -1.4279504], [-0.9123233, -2.7649324]],
            ],
            1e-6,
        );
    }

    #[test]
    fn clipping_bounds_the_gates_but_not_the_cell() {
        let (weights, state) = everything();
        let options = Lstm { clip: Some(0.3), ..Lstm::new(Direction::Bidirectional) };
        let (y, _, cell) = lstm(x(), weights, state, &options);
        near(
            y,
            [
                [
                    [[0.096913345f32, -0.47305018], [-0.44653925, 0.28460127]],
                    [[-0.16901676, -0.17011176], [-0.36438552, -0.5077612]],
                ],
                [[[0.13518682, -0.35200158], [0.0, 0.0]], [[-0.26123127, -0.19084838], [0.0, 0.0]]],
                [[[0.14917618, -0.2757101], [0.0, 0.0]], [[-0.40046751, -0.21470308], [0.0, 0.0]]],
            ],
            1e-6,
        );
        near(
            cell,
            [
                [[0.26577452f32, -0.52293384], [-1.0386227, 0.8085196]],
                [[-0.33278292, -0.4233378], [-0.9748096, -1.6425941]],
            ],
            1e-6,
        );
    }

    #[test]
    fn without_steps_states_are_zero() {
        let (weights, state) = everything();
        let options = Lstm::new(Direction::Bidirectional);
        let none = State { lengths: Some(int([0i32, 0])), ..state.clone() };
        let zeros = || Tensor::<3>::zeros([2, 2, 2], &x().device()).into_data();
        let nothing = |shape: [usize; 3]| Tensor::<3>::empty(shape, &x().device());
        let (y, hidden, cell) = lstm(nothing([0, 2, 2]), weights.clone(), none, &options);
        assert_eq!(y.dims(), [0, 2, 2, 2]);
        near(hidden, zeros(), 0.0);
        near(cell, zeros(), 0.0);
        let nobody =
            State { lengths: None, hidden: Some(nothing([2, 0, 2])), cell: Some(nothing([2, 0, 2])) };
        let (y, hidden, _) = lstm(nothing([3, 0, 2]), weights.clone(), nobody, &options);
        assert_eq!((y.dims(), hidden.dims()), ([3, 2, 0, 2], [2, 0, 2]));
        if !by_flex("devices are not asked for lengths") {
            return;
        }
        let one = State { lengths: Some(int([3i32, 0])), ..state };
        let (_, hidden, cell) = lstm(x(), weights, one, &options);
        for state in [hidden, cell] {
            near(state.narrow(1, 1, 1), [[[0f32; 2]]; 2], 0.0);
        }
    }

    #[test]
    fn the_input_gate_may_forget_and_the_functions_may_differ() {
        let functions = [
            Activation::HardSigmoid { alpha: 0.25, beta: 0.5 },
            Activation::Softsign,
            Activation::ScaledTanh { alpha: 1.5, beta: 0.5 },
        ];
        let options =
            Lstm { input_forget: true, activations: [functions; 2], ..Lstm::new(Direction::Reverse) };
        let (y, _, cell) = lstm(x(), weights(1, 30), State::default(), &options);
        near(
            y,
            [
                [[[0.2840102f32, 0.05475896], [0.29942974, 0.0]]],
                [[[0.2829187, 0.06326147], [0.32713297, 0.0]]],
                [[[0.24253906, 0.020591147], [0.22868498, 0.0]]],
            ],
            1e-6,
        );
        near(cell, [[[0.60047436f32, 0.33592203], [0.5111213, 0.22750673]]], 1e-6);
    }

    #[test]
    fn a_leading_batch_exchanges_axes_and_nothing_else() {
        let (weights, state) = everything();
        let options = Lstm::new(Direction::Bidirectional);
        let (y, hidden, cell) = lstm(x(), weights.clone(), state.clone(), &options);
        let swapped = State {
            lengths: state.lengths,
            hidden: state.hidden.map(|hidden| hidden.swap_dims(0, 1)),
            cell: state.cell.map(|cell| cell.swap_dims(0, 1)),
        };
        let options = Lstm { batch_first: true, ..options };
        let (y2, hidden2, cell2) = lstm(x().swap_dims(0, 1), weights, swapped, &options);
        near(y2, y.permute([2, 0, 1, 3]).into_data(), 0.0);
        near(hidden2, hidden.swap_dims(0, 1).into_data(), 0.0);
        near(cell2, cell.swap_dims(0, 1).into_data(), 0.0);
    }

    #[test]
    fn half_precision_stays() {
        let half = |x: Tensor<3>| x.cast(burn::tensor::DType::F16);
        let (weights, _) = everything();
        let narrow = Weights {
            input: half(weights.input.clone()),
            recurrent: half(weights.recurrent.clone()),
            bias: weights.bias.clone().map(|bias| bias.cast(burn::tensor::DType::F16)),
            peepholes: None,
            packed: None,
        };
        let wide = Weights { peepholes: None, ..weights };
        let options = Lstm::new(Direction::Bidirectional);
        let (y, _, _) = lstm(half(x()), narrow, State::default(), &options);
        let (expected, _, _) = lstm(x(), wide, State::default(), &options);
        near(y, expected.cast(burn::tensor::DType::F16).into_data(), 2e-3);
    }
}
