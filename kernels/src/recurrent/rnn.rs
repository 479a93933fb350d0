//! RNN: one gate.

use burn::tensor::Tensor;

use super::{
    Cell, Operands, Rnn, State, Weights,
    sequence::{Separate, Sequence, clipped},
};
use crate::product::matmul::product;

/// Computes the outputs of `[times, batch, input]` at all times, `[times, directions, batch, hidden]`, and
/// the last one, `[directions, batch, hidden]`.
#[inline(never)]
pub fn rnn(x: Tensor<3>, weights: Weights, state: State, options: &Rnn) -> (Tensor<4>, Tensor<3>) {
    let operands = Operands::of(&x, &weights, &state);
    if let Some((y, hidden, _)) = operands.call(Cell::Rnn(*options)) {
        return (y, hidden);
    }
    let sequence = Sequence {
        x,
        lengths: state.lengths,
        initial: [state.hidden],
        direction: options.direction,
        batch_first: options.batch_first,
        last_alone: false,
    };
    let (y, [hidden]) = sequence.walk(weights, Separate::Nothing, |pass, input, [hidden]| {
        let gate = input + product(hidden, pass.recurrent.clone());
        [options.activations[pass.index].apply(clipped(gate, options.clip))]
    });
    (y, hidden)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::recurrent::{Activation, Direction};
    use crate::testing::{int, near, noise};

    #[test]
    fn every_option_agrees_with_onnx_runtime() {
        let weights = Weights {
            input: noise([2, 2, 2], 50),
            recurrent: noise([2, 2, 2], 51),
            bias: Some(noise([2, 4], 52)),
            peepholes: None,
            packed: None,
        };
        let state = State { lengths: Some(int([3i32, 1])), hidden: Some(noise([2, 2, 2], 53)), cell: None };
        let affine = Activation::Affine { alpha: 0.5, beta: 0.25 };
        let options = Rnn {
            activations: [Activation::Tanh, affine],
            clip: Some(1.0),
            ..Rnn::new(Direction::Bidirectional)
        };
        let (y, hidden) = rnn(noise([3, 2, 2], 1), weights, state, &options);
        near(
            y,
            [
                [
                    [[0.46893775f32, 0.76159406], [-0.5475502, 0.76159406]],
                    [[-0.25, 0.75], [-0.25, 0.7221668]],
                ],
                [[[0.5582129, 0.76159406], [0.0, 0.0]], [[-0.25, 0.75], [0.0, 0.0]]],
                [[[0.32013083, 0.76159406], [0.0, 0.0]], [[-0.2372137, 0.75], [0.0, 0.0]]],
            ],
            1e-6,
        );
        near(
            hidden,
            [[[0.32013083f32, 0.76159406], [-0.5475502, 0.76159406]], [[-0.25, 0.75], [-0.25, 0.7221668]]],
            1e-6,
        );
    }
}
