//! Iteration over time by primitives, shared by all recurrent operators.

use alloc::{vec, vec::Vec};
use burn::tensor::{Bool, Int, Tensor};

use super::operands::zero_if_empty;
use super::{Direction, Matrices, Matrix, Weights};
use crate::shape::WithShape;
use crate::{
    shape::{arrange::reverse_sequence, expand::to_shape},
    widen::widened,
};

/// The input sequences, and `M` initial states.
pub struct Sequence<const M: usize> {
    pub x: Tensor<3>,
    pub lengths: Option<Tensor<1, Int>>,
    pub initial: [Option<Tensor<3>>; M],
    pub direction: Direction,
    pub batch_first: bool,
    /// [`Lstm::last_alone`](super::Lstm::last_alone)
    pub last_alone: bool,
}

/// Weights of one direction.
pub struct Pass<M = Tensor<2>> {
    /// Index of the direction in the weights.
    pub index: usize,
    pub recurrent: M,
    /// Biases that the step adds, see [`Separate`].
    pub bias: Option<Tensor<2>>,
    pub peepholes: Option<Tensor<2>>,
    input: M,
    input_bias: Option<Tensor<2>>,
}

/// Biases that a step adds itself.
#[derive(Clone, Copy, Debug)]
pub enum Separate {
    Nothing,
    /// The last columns of the recurrent bias.
    Recurrent(usize),
    /// The sum of both biases.
    Both,
}

impl<const M: usize> Sequence<M> {
    /// Applies `step` to the projected input of every time and the states before it; the first state is the output.
    ///
    /// The projected input includes the biases that the step does not add.
    pub fn walk<W: Matrices>(
        self,
        weights: Weights<W>,
        separate: Separate,
        step: impl Fn(&Pass<W::Matrix>, Tensor<2>, [Tensor<2>; M]) -> [Tensor<2>; M],
    ) -> (Tensor<4>, [Tensor<3>; M]) {
        let dtype = self.x.dtype();
        let [_, hidden, _] = weights.recurrent.sizes();
        let x = self.time_first(widened(self.x.clone()));
        let [times, batch, _] = x.dims();
        let x = match &self.lengths {
            // Steps after the end of every sequence do not affect quantization ranges, which always include 0.
            Some(lengths) if W::SPANS => {
                let ended = active_steps(lengths.clone().max(), times, 1).bool_not();
                let shape = x.dims();
                x.mask_fill(to_shape(ended, shape), 0.0)
            }
            _ => x,
        };
        let initial = self.initial.clone();
        let initial = initial.map(|state| state.map(|state| self.time_first(widened(state))));
        let active = self.lengths.clone();
        let active = active.map(|lengths| active_steps(lengths, times, hidden));
        // Rows that count as zeros after the first step in the range of quantized states.
        let gone = self.lengths.clone().filter(|_| W::SPANS).map(|lengths| {
            let never = lengths.lower_equal_scalar(0).with_shape([batch, 1]);
            to_shape(never, [batch, hidden])
        });

        let (mut outputs, mut lasts) = (Vec::new(), Vec::new());
        for (index, reversed) in self.direction.passes() {
            let pass = Pass::new(&weights, index, separate);
            // A reversed sequence starts at its own end.
            let turned = self.lengths.as_ref().filter(|_| reversed);
            let turn = |x: Tensor<3>| match turned {
                Some(lengths) => reverse_sequence(x, lengths.clone(), 1, 0),
                None => x,
            };
            let reversed = reversed && turned.is_none();
            let projected = turn(pass.project(x.clone()));
            let mut states = initial.each_ref().map(|state| match state {
                Some(state) => of_direction(state, index),
                None => Tensor::zeros([batch, hidden], (&x.device(), x.dtype())),
            });
            let mut output = Vec::with_capacity(times);
            for step_number in 0..times {
                let time = if reversed { times - 1 - step_number } else { step_number };
                let input = projected.clone().narrow(0, time, 1).squeeze_dim(0);
                let now = active
                    .as_ref()
                    .map(|active| -> Tensor<2, Bool> { active.clone().narrow(0, time, 1).squeeze_dim(0) });
                let mut shown = states.clone();
                if let (Some(never), Some(now)) = (&gone, &now)
                    && step_number > 0
                {
                    let gone = match self.last_alone {
                        true => never.clone(),
                        false => now.clone().bool_not(),
                    };
                    shown[0] = shown[0].clone().mask_fill(gone, 0.0);
                }
                let next = step(&pass, input, shown);
                match now {
                    None => {
                        output.push(next[0].clone());
                        states = next;
                    }
                    Some(now) => {
                        output.push(next[0].clone().mask_fill(now.clone().bool_not(), 0.0));
                        let mut next = next.into_iter();
                        states = states.map(|old| match next.next() {
                            Some(new) => old.mask_where(now.clone(), new),
                            None => old,
                        });
                    }
                }
            }
            if reversed {
                output.reverse();
            }
            outputs.push(turn(Tensor::stack::<3>(output, 0)));
            lasts.push(states);
        }

        let y = Tensor::stack::<4>(outputs, 1).cast(dtype);
        let y = if self.batch_first { y.permute([2, 0, 1, 3]) } else { y };
        let last = core::array::from_fn(|state| {
            let directions = lasts.iter().map(|states| states[state].clone()).collect();
            let last = self.time_first(Tensor::stack::<3>(directions, 0).cast(dtype));
            zero_if_empty(last, &self.lengths, self.batch_first)
        });
        (y, last)
    }

    /// Swaps the batch and the time axis if the batch is first.
    fn time_first(&self, x: Tensor<3>) -> Tensor<3> {
        if self.batch_first { x.swap_dims(0, 1) } else { x }
    }
}

impl Direction {
    /// Returns the index of each direction in the weights, and whether it is reversed.
    pub(crate) fn passes(self) -> Vec<(usize, bool)> {
        match self {
            Self::Forward => vec![(0, false)],
            Self::Reverse => vec![(0, true)],
            Self::Bidirectional => vec![(0, false), (1, true)],
        }
    }
}

impl<M: Matrix> Pass<M> {
    fn new(weights: &Weights<impl Matrices<Matrix = M>>, index: usize, separate: Separate) -> Self {
        let row = |bias: &Tensor<2>| widened(bias.clone().narrow(0, index, 1));
        let [_, _, columns] = weights.input.sizes();
        let (input_bias, bias) = match weights.bias.as_ref().map(row) {
            None => (None, None),
            Some(both) => {
                let ours = both.clone().narrow(1, 0, columns);
                let recurrent = both.narrow(1, columns, columns);
                match separate {
                    Separate::Nothing => (Some(ours + recurrent), None),
                    Separate::Both => (None, Some(ours + recurrent)),
                    Separate::Recurrent(width) => {
                        let joint = columns - width;
                        let [sum, other] = [&ours, &recurrent].map(|bias| bias.clone().narrow(1, 0, joint));
                        let rest = ours.narrow(1, joint, width);
                        (
                            Some(Tensor::cat(vec![sum + other, rest], 1)),
                            Some(recurrent.narrow(1, joint, width)),
                        )
                    }
                }
            }
        };
        Self {
            index,
            recurrent: weights.recurrent.of(index),
            bias,
            peepholes: weights.peepholes.as_ref().map(row),
            input: weights.input.of(index),
            input_bias,
        }
    }

    fn project(&self, x: Tensor<3>) -> Tensor<3> {
        let [times, batch, features] = x.dims();
        let rows = self.input.product(x.with_shape([times * batch, features]));
        let rows = match &self.input_bias {
            Some(bias) => rows + bias.clone(),
            None => rows,
        };
        let columns = rows.dims()[1];
        rows.with_shape([times, batch, columns])
    }
}

/// Returns the `index`-th of `count` equal parts of the columns.
pub fn part(x: &Tensor<2>, index: usize, count: usize) -> Tensor<2> {
    let width = x.dims()[1] / count;
    x.clone().narrow(1, index * width, width)
}

/// Clamps the input of an activation function.
pub fn clipped(x: Tensor<2>, clip: Option<f32>) -> Tensor<2> {
    match clip {
        Some(clip) => x.clamp(-clip, clip),
        None => x,
    }
}

fn of_direction(x: &Tensor<3>, index: usize) -> Tensor<2> {
    x.clone().narrow(0, index, 1).squeeze_dim(0)
}

/// Returns `[times, batch, hidden]`: true until the end of each sequence.
fn active_steps(lengths: Tensor<1, Int>, times: usize, hidden: usize) -> Tensor<3, Bool> {
    let batch = lengths.dims()[0];
    let options = (&lengths.device(), lengths.dtype());
    let shape = [times, batch];
    let rows = Tensor::<1, Int>::arange(0..times as i64, options).with_shape([times, 1]);
    let lengths = to_shape(lengths.with_shape([1, batch]), shape);
    let active = lengths.greater(to_shape(rows, shape));
    to_shape(active.with_shape([times, batch, 1]), [times, batch, hidden])
}
