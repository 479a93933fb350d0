//! GRU: update, reset and hidden gates.

use burn::tensor::Tensor;

use super::{
    Cell, Gru, Operands, State, Weights,
    sequence::{Pass, Separate, Sequence, clipped, part},
};
use crate::product::matmul::product;

/// Computes the outputs of `[times, batch, input]` at all times, `[times, directions, batch, hidden]`, and
/// the last one, `[directions, batch, hidden]`.
#[inline(never)]
pub fn gru(x: Tensor<3>, weights: Weights, state: State, options: &Gru) -> (Tensor<4>, Tensor<3>) {
    let operands = Operands::of(&x, &weights, &state);
    if let Some((y, hidden, _)) = operands.call(Cell::Gru(*options)) {
        return (y, hidden);
    }
    let width = weights.recurrent.dims()[2];
    let sequence = Sequence {
        x,
        lengths: state.lengths,
        initial: [state.hidden],
        direction: options.direction,
        batch_first: options.batch_first,
        last_alone: false,
    };
    let separate = if options.linear_before_reset { Separate::Recurrent(width) } else { Separate::Nothing };
    let (y, [hidden]) =
        sequence.walk(weights, separate, |pass, input, [hidden]| [options.step(pass, input, hidden)]);
    (y, hidden)
}

impl Gru {
    fn step(&self, pass: &Pass, input: Tensor<2>, hidden: Tensor<2>) -> Tensor<2> {
        let [gates, candidate] = self.activations[pass.index];
        let width = hidden.dims()[1];
        let open = |linear| gates.apply(clipped(linear, self.clip));
        let input_gates = input.clone().narrow(1, 0, 2 * width);
        let input_candidate = part(&input, 2, 3);
        let (both, linear) = if self.linear_before_reset {
            let recurrent = product(hidden.clone(), pass.recurrent.clone());
            let both = open(input_gates + recurrent.clone().narrow(1, 0, 2 * width));
            let recurrent = part(&recurrent, 2, 3);
            let recurrent = match &pass.bias {
                Some(bias) => recurrent + bias.clone(),
                None => recurrent,
            };
            let reset = part(&both, 1, 2);
            (both, reset * recurrent)
        } else {
            let gate_weights = pass.recurrent.clone().narrow(1, 0, 2 * width);
            let both = open(input_gates + product(hidden.clone(), gate_weights));
            let reset = part(&both, 1, 2);
            (both, product(reset * hidden.clone(), part(&pass.recurrent, 2, 3)))
        };
        let candidate = candidate.apply(clipped(input_candidate + linear, self.clip));
        let update = part(&both, 0, 2);
        candidate.clone() + update * (hidden - candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::recurrent::{Activation, Direction};
    use crate::testing::{int, near, noise};

    // Expected values are those of ONNX Runtime.

    fn x() -> Tensor<3> {
        noise([3, 2, 2], 1)
    }

    fn weights() -> Weights {
        Weights {
            input: noise([2, 6, 2], 40),
            recurrent: noise([2, 6, 2], 41),
            bias: Some(noise([2, 12], 42)),
            peepholes: None,
            packed: None,
        }
    }

    fn everything(linear_before_reset: bool) -> (Tensor<4>, Tensor<3>) {
        let state = State { lengths: Some(int([3i32, 1])), hidden: Some(noise([2, 2, 2], 43)), cell: None };
        let gates = Activation::HardSigmoid { alpha: 0.2, beta: 0.5 };
        let options = Gru {
            linear_before_reset,
            clip: Some(0.4),
            activations: [[Activation::Sigmoid, Activation::Tanh], [gates, Activation::Relu]],
            ..Gru::new(Direction::Bidirectional)
        };
        gru(x(), weights(), state, &options)
    }

    fn plain(linear_before_reset: bool) -> (Tensor<4>, Tensor<3>) {
        let all = weights();
        let weights = Weights {
            input: all.input.narrow(0, 0, 1),
            recurrent: all.recurrent.narrow(0, 0, 1),
            bias: None,
            peepholes: None,
            packed: None,
        };
        let options = Gru { linear_before_reset, ..Gru::new(Direction::Forward) };
        gru(x(), weights, State::default(), &options)
    }

    #[test]
    fn the_state_resets_before_the_multiplication() {
        let (y, hidden) = plain(false);
        near(
            y,
            [
                [[[-0.1888521f32, -0.050029114], [0.28157365, -0.21663709]]],
                [[[-0.2974079, 0.15041377], [0.28780204, 0.12281302]]],
                [[[-0.18960749, 0.18699765], [0.46320492, 0.09243887]]],
            ],
            1e-6,
        );
        near(hidden, [[[-0.18960749f32, 0.18699765], [0.46320492, 0.09243887]]], 1e-6);
    }

    #[test]
    fn the_state_resets_after_the_multiplication() {
        let (y, _) = plain(true);
        near(
            y,
            [
                [[[-0.1888521f32, -0.050029114], [0.28157365, -0.21663709]]],
                [[[-0.29888847, 0.15175645], [0.31972468, 0.12964436]]],
                [[[-0.19212942, 0.18719551], [0.46576065, 0.103814036]]],
            ],
            1e-6,
        );
    }

    #[test]
    fn every_option_holds_together() {
        let (y, hidden) = everything(false);
        near(
            y,
            [
                [
                    [[-0.134885f32, -0.3135081], [0.4456222, 0.09596357]],
                    [[-0.0782918, 0.04065315], [-0.4762559, 0.25691321]],
                ],
                [[[0.07172425, -0.34497505], [0.0, 0.0]], [[-0.15652606, 0.09679322], [0.0, 0.0]]],
                [[[0.19541866, -0.3606922], [0.0, 0.0]], [[-0.32244772, -0.09865794], [0.0, 0.0]]],
            ],
            1e-6,
        );
        near(
            hidden,
            [
                [[0.19541866f32, -0.3606922], [0.4456222, 0.09596357]],
                [[-0.0782918, 0.04065315], [-0.4762559, 0.25691321]],
            ],
            1e-6,
        );
    }

    #[test]
    fn every_option_holds_together_after_the_multiplication() {
        let (y, hidden) = everything(true);
        near(
            y,
            [
                [
                    [[-0.134885f32, -0.3135081], [0.4456222, 0.09596357]],
                    [[-0.0786722, 0.04786328], [-0.3981633, 0.25691321]],
                ],
                [[[0.07172425, -0.25858533], [0.0, 0.0]], [[-0.15652606, 0.11396019], [0.0, 0.0]]],
                [[[0.19541866, -0.3150671], [0.0, 0.0]], [[-0.32244772, -0.09865794], [0.0, 0.0]]],
            ],
            1e-6,
        );
        near(
            hidden,
            [
                [[0.19541866f32, -0.3150671], [0.4456222, 0.09596357]],
                [[-0.0786722, 0.04786328], [-0.3981633, 0.25691321]],
            ],
            1e-6,
        );
    }
}
