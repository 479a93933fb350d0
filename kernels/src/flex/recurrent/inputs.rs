//! Inputs at all times as rows of one matrix.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};

use super::levels::quantize;
use crate::{
    backend::Given,
    flex::{
        view::{Matrix, View},
        widened,
    },
};

/// `[times, batch, features]`, or batch-first, as a matrix that is read in place.
pub struct Inputs {
    view: View,
    rows: usize,
    features: usize,
    row_step: usize,
    steps: [usize; 2],
    /// Scale of inputs that are quantized to 8 bits.
    scale: f32,
}

impl Inputs {
    /// Returns `None` if the dtype is neither f32 nor of half precision.
    pub fn of(x: &FlexTensor, batch_first: bool) -> Option<Self> {
        let x = widened(x.clone());
        let view = View::of(&x)?;
        let (_, [first, second, ..]) = view.spatial();
        let shape = x.shape();
        let sizes = [shape[0], shape[1]];
        // Rows in the order of the first two axes, or of the second and the first.
        let (view, row_step, steps) = if sizes[1] == 1 || first == second * sizes[1] {
            let step = if sizes[1] == 1 { first } else { second };
            (view, step, [sizes[1], 1])
        } else if sizes[0] == 1 || second == first * sizes[0] {
            let step = if sizes[0] == 1 { second } else { first };
            (view, step, [1, sizes[0]])
        } else {
            (View::of(&x.to_contiguous())?, shape[2], [sizes[1], 1])
        };
        let [first, second] = steps;
        Some(Self {
            view,
            rows: sizes[0] * sizes[1],
            features: shape[2],
            row_step,
            steps: if batch_first { [second, first] } else { [first, second] },
            scale: 1.0,
        })
    }

    /// Quantizes the inputs to 8 bits over their range up to the end of the longest sequence.
    pub fn quantized(x: &FlexTensor, batch_first: bool, lengths: Option<&[usize]>) -> Option<Self> {
        let mut x = widened(x.clone()).to_contiguous();
        let shape = x.shape();
        let (times, batch, features) =
            if batch_first { (shape[1], shape[0], shape[2]) } else { (shape[0], shape[1], shape[2]) };
        let inputs = Self::of(&x, batch_first)?;
        let steps = inputs.steps;
        drop(inputs);
        let longest = lengths.and_then(|lengths| lengths.iter().max());
        let longest = longest.map_or(times, |longest| times.min(*longest));
        let values = x.storage_mut::<f32>();
        for time in longest..times {
            for sequence in 0..batch {
                // Steps after the end of every sequence do not affect the range, which always includes 0.
                let row = time * steps[0] + sequence * steps[1];
                values[row * features..][..features].fill(0.0);
            }
        }
        let scale = quantize(values);
        Some(Self { scale, ..Self::of(&x, batch_first)? })
    }

    pub fn scale(&self) -> f32 {
        self.scale
    }

    pub fn matrix(&self) -> Matrix<'_> {
        let (values, [.., column_step]) = self.view.spatial();
        Matrix { values, rows: self.rows, columns: self.features, row_step: self.row_step, column_step }
    }

    /// Returns the number of rows to the next time, and to the next sequence.
    pub fn steps(&self) -> [usize; 2] {
        self.steps
    }
}

/// Returns the number of steps of each sequence, `None` if one is negative.
pub fn lengths(operand: &Given<Flex>) -> Option<Vec<usize>> {
    let Given::Int(tensor) = operand else {
        return None;
    };
    let lengths = tensor.clone().into_data();
    let lengths = lengths.iter::<i64>();
    Some(lengths.map(|length| usize::try_from(length).unwrap_or(0)).collect())
}
