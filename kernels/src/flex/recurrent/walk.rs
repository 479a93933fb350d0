//! The steps of a recurrence, with reused buffers.

use std::ops::Range;

use super::{
    gates::{Rows, gru, gru_gates, lstm, multiply, rnn},
    levels::{quantize, scale_columns},
};
use crate::flex::{
    gemm::{ProductEpilogue, Right, multiply_packed},
    memory::{RunWriter, Unwritten, Written, overwrite, repeated, zeroed},
    view::Matrix,
};
use crate::spec::recurrent::{Cell, Sizes};

/// Operands of the steps of one direction.
pub struct Walk<'a> {
    pub cell: &'a Cell,
    pub sizes: Sizes,
    /// Index of the direction in the weights.
    pub direction: usize,
    pub reversed: bool,
    /// Products of the inputs, for all directions.
    pub projected: &'a [f32],
    /// Number of input rows from one time to the next, and from one sequence to the next.
    pub steps: [usize; 2],
    /// Recurrent weights. If a GRU resets the state before the product, those of the hidden gate are separate.
    pub weights: &'a [Right],
    /// Bias of the recurrent products.
    pub bias: Option<&'a [f32]>,
    /// Bias of both products.
    pub last_bias: Option<&'a [f32]>,
    /// Scales of the columns of the weights, if weights and states are quantized to 8 bits.
    pub scales: Option<&'a [f32]>,
    pub peepholes: Option<&'a [f32]>,
    pub lengths: Option<&'a [usize]>,
    /// Initial hidden state and cell state.
    pub initial: [Option<&'a [f32]>; 2],
}

/// States of some sequences, a row each, and buffers of a step.
pub struct State {
    pub hidden: Vec<f32>,
    /// Cell state of an LSTM, or reset state of a GRU.
    pub memory: Vec<f32>,
    linear: Vec<f32>,
    /// Hidden gate of a GRU that resets the state before the product.
    candidate: Vec<f32>,
    /// Quantized hidden state.
    levels: Vec<f32>,
}

impl Walk<'_> {
    /// Writes the outputs of some sequences of the batch, and returns their final states.
    ///
    /// `out` has a row for each time, with the sequences one after another, or, if the batch is the first
    /// axis, for each sequence and time.
    pub fn run<'a>(&self, sequences: Range<usize>, out: Unwritten<'a>) -> (State, Written<'a>) {
        let width = self.sizes.hidden;
        let mut out = RunWriter::new(out, width);
        let mut state = self.state(sequences.clone());
        for step in 0..self.sizes.times {
            self.step(step, sequences.clone(), &mut state);
            for (at, hidden) in state.hidden.chunks_exact(width).enumerate() {
                let sequence = sequences.start + at;
                let time = self.time(step, sequence);
                let (row, run) =
                    if self.cell.batch_first() { (at * self.sizes.times + time, 0) } else { (time, at) };
                out.write(row, run, |out| {
                    if self.is_active(step, sequence) { out.write_copy_of_slice(hidden) } else { zeroed(out) }
                });
            }
        }
        (state, out.finish())
    }

    fn step(&self, step: usize, sequences: Range<usize>, state: &mut State) {
        let (width, first) = (self.sizes.hidden, &self.weights[0]);
        match self.scales {
            None => product(&state.hidden, width, first, self.bias, &mut state.linear),
            Some(scales) => {
                state.levels.copy_from_slice(&state.hidden);
                let rows = state.levels.chunks_exact_mut(width);
                for (row, sequence) in rows.zip(sequences.clone()) {
                    if step > 0 && self.is_gone(step, sequence) {
                        row.fill(0.0);
                    }
                }
                let scale = quantize(&mut state.levels);
                product(&state.levels, width, first, None, &mut state.linear);
                for row in state.linear.chunks_exact_mut(scales.len()) {
                    scale_columns(row, scale, scales);
                }
            }
        }
        if let Cell::Gru(options) = self.cell
            && let Some(last) = self.weights.get(1)
        {
            let rows = rows_of(&mut state.linear, &mut state.hidden, &mut state.memory, width);
            for (at, (linear, hidden, reset)) in rows.enumerate() {
                let mut rows = self.rows(step, sequences.start + at, linear, hidden);
                gru_gates(&mut rows, options);
                reset.copy_from_slice(rows.hidden);
                multiply(reset, &rows.linear[width..]);
            }
            product(&state.memory, width, last, None, &mut state.candidate);
        }
        let mut candidates = state.candidate.chunks_exact_mut(width);
        let rows = rows_of(&mut state.linear, &mut state.hidden, &mut state.memory, width);
        for (sequence, (linear, hidden, memory)) in sequences.zip(rows) {
            let candidate = candidates.next();
            if !self.is_active(step, sequence) {
                continue;
            }
            match (self.cell, candidate) {
                (Cell::Rnn(options), _) => {
                    rnn(self.rows(step, sequence, linear, hidden), options);
                }
                (Cell::Lstm(options), _) => {
                    let rows = self.rows(step, sequence, linear, hidden);
                    lstm(rows, memory, self.peepholes, options);
                }
                (Cell::Gru(options), Some(candidate)) => {
                    let rows = self.rows(step, sequence, linear, hidden);
                    gru(rows, candidate, options);
                }
                (Cell::Gru(options), None) => {
                    let (linear, candidate) = linear.split_at_mut(2 * width);
                    let mut rows = self.rows(step, sequence, linear, hidden);
                    gru_gates(&mut rows, options);
                    multiply(candidate, &rows.linear[width..]);
                    gru(rows, candidate, options);
                }
            }
        }
    }

    fn rows<'a>(
        &'a self,
        step: usize,
        sequence: usize,
        linear: &'a mut [f32],
        hidden: &'a mut [f32],
    ) -> Rows<'a> {
        Rows {
            direction: self.direction,
            linear,
            projected: self.projected_row(self.time(step, sequence), sequence),
            bias: self.last_bias,
            hidden,
        }
    }

    /// Returns the state before the first step.
    pub fn state(&self, sequences: Range<usize>) -> State {
        let (count, width) = (sequences.len(), self.sizes.hidden);
        let [hidden, memory] = self.initial.map(|initial| {
            let mut rows = repeated(count * width, 0.0);
            if let Some(initial) = initial {
                for (row, at) in rows.chunks_exact_mut(width).zip(sequences.clone()) {
                    row.copy_from_slice(&initial[self.state_row(at) * width..][..width]);
                }
            }
            rows
        });
        State {
            hidden,
            memory,
            linear: repeated(count * self.weights[0].columns, 0.0),
            candidate: repeated(count * self.weights.get(1).map_or(0, |last| last.columns), 0.0),
            levels: vec![0.0; if self.scales.is_some() { count * width } else { 0 }],
        }
    }

    /// Returns the number of steps of a sequence.
    fn length(&self, sequence: usize) -> usize {
        let times = self.sizes.times;
        self.lengths.map_or(times, |lengths| lengths[sequence].min(times))
    }

    /// Returns the time of a step. A reversed sequence starts at its own end.
    fn time(&self, step: usize, sequence: usize) -> usize {
        match self.length(sequence).checked_sub(step + 1) {
            Some(time) if self.reversed => time,
            _ => step,
        }
    }

    fn is_active(&self, step: usize, sequence: usize) -> bool {
        step < self.length(sequence)
    }

    /// Returns `true` if the state of a sequence counts as 0 in the range of all states.
    fn is_gone(&self, step: usize, sequence: usize) -> bool {
        let keeps_last = matches!(self.cell, Cell::Lstm(options) if options.last_alone);
        let length = self.length(sequence);
        step >= length && (length == 0 || !keeps_last)
    }

    fn projected_row(&self, time: usize, sequence: usize) -> &[f32] {
        let width = self.sizes.gates * self.sizes.hidden;
        let row = time * self.steps[0] + sequence * self.steps[1];
        &self.projected[(row * self.sizes.directions + self.direction) * width..][..width]
    }

    /// Returns the row of a sequence in the states.
    pub fn state_row(&self, sequence: usize) -> usize {
        if self.cell.batch_first() {
            sequence * self.sizes.directions + self.direction
        } else {
            self.direction * self.sizes.batch + sequence
        }
    }
}

/// Splits accumulators, hidden states and cell states into rows, sequence by sequence.
fn rows_of<'a>(
    linear: &'a mut [f32],
    hidden: &'a mut [f32],
    memory: &'a mut [f32],
    width: usize,
) -> impl Iterator<Item = (&'a mut [f32], &'a mut [f32], &'a mut [f32])> {
    let count = hidden.len() / width;
    let linear_width = linear.len() / count.max(1);
    let states = hidden.chunks_exact_mut(width).zip(memory.chunks_exact_mut(width));
    let linear = linear.chunks_exact_mut(linear_width.max(1));
    linear.zip(states).map(|(linear, (hidden, memory))| (linear, hidden, memory))
}

/// Writes rows times packed weights.
fn product(rows: &[f32], width: usize, weights: &Right, bias: Option<&[f32]>, out: &mut [f32]) {
    let end = ProductEpilogue { bias, ..ProductEpilogue::NONE };
    overwrite(out, |out| multiply_packed(Matrix::dense(rows, width), weights, end, out));
}
