//! Gates of one sequence at one step.

use crate::flex::{
    elementary::activate,
    simd::{MulAdd, compiled_per_set},
};
use crate::spec::epilogue::Activation as Elementwise;
use crate::spec::recurrent::{Activation, Gru, Lstm, Rnn};

/// The rows of one sequence in one direction.
pub struct Rows<'a> {
    /// Index of the direction in the weights.
    pub direction: usize,
    /// Products of a step with the recurrent weights. Overwritten.
    pub linear: &'a mut [f32],
    /// Products of the input of the step, with biases.
    pub projected: &'a [f32],
    /// Bias that is added to the gates of an LSTM after both products.
    pub bias: Option<&'a [f32]>,
    pub hidden: &'a mut [f32],
}

/// The single gate of an RNN.
pub fn rnn(rows: Rows<'_>, options: &Rnn) {
    add(rows.linear, rows.projected);
    let activation = options.activations[rows.direction];
    open(rows.linear, activation, options.clip);
    rows.hidden.copy_from_slice(rows.linear);
}

/// Update and reset gates of a GRU, which come first.
pub fn gru_gates(rows: &mut Rows<'_>, options: &Gru) {
    let both = 2 * rows.hidden.len();
    let linear = &mut rows.linear[..both];
    add(linear, &rows.projected[..both]);
    open(linear, options.activations[rows.direction][0], options.clip);
}

/// Hidden gate and new state of a GRU, from activated gates and products with the reset state.
pub fn gru(rows: Rows<'_>, candidate: &mut [f32], options: &Gru) {
    let width = rows.hidden.len();
    add(candidate, &rows.projected[2 * width..]);
    open(candidate, options.activations[rows.direction][1], options.clip);
    blend(rows.hidden, &rows.linear[..width], candidate);
}

/// Input, output, forget and cell gates of an LSTM, in this order.
pub fn lstm(rows: Rows<'_>, memory: &mut [f32], peepholes: Option<&[f32]>, options: &Lstm) {
    let width = memory.len();
    let [gate, candidate, output] = options.activations[rows.direction];
    add(rows.linear, rows.projected);
    if let Some(bias) = rows.bias {
        add(rows.linear, bias);
    }
    let (gates, cell) = rows.linear.split_at_mut(3 * width);
    open(cell, candidate, options.clip);
    let (input, rest) = gates.split_at_mut(width);
    match peepholes {
        None => {
            open(input, gate, options.clip);
            open(rest, gate, options.clip);
            let (_, forget) = rest.split_at(width);
            remember(memory, [input, forget, cell], options.input_forget);
        }
        Some(peepholes) => {
            let (out, forget) = rest.split_at_mut(width);
            let peephole = |gate: usize| &peepholes[gate * width..][..width];
            add_product(input, peephole(0), memory);
            add_product(forget, peephole(2), memory);
            open(input, gate, options.clip);
            open(forget, gate, options.clip);
            remember(memory, [input, forget, cell], options.input_forget);
            add_product(out, peephole(1), memory);
            open(out, gate, options.clip);
        }
    }
    rows.hidden.copy_from_slice(memory);
    open(rows.hidden, output, None);
    multiply(rows.hidden, &gates[width..2 * width]);
}

/// Applies an activation function, after clipping if there is a clip.
fn open(x: &mut [f32], activation: Activation, clip: Option<f32>) {
    if let Some(clip) = clip {
        let clip = f64::from(clip);
        activate(x, Elementwise::Clip(-clip, clip));
    }
    let wide = f64::from;
    let elementwise = match activation {
        Activation::Affine { alpha, beta } => return scale(x, alpha, beta),
        Activation::ScaledTanh { alpha, beta } => {
            scale(x, beta, 0.0);
            activate(x, Elementwise::Tanh);
            return scale(x, alpha, 0.0);
        }
        Activation::ThresholdedRelu { alpha } => return threshold(x, alpha),
        Activation::Elu { alpha } => Elementwise::Elu(wide(alpha)),
        Activation::HardSigmoid { alpha, beta } => Elementwise::HardSigmoid(wide(alpha), wide(beta)),
        Activation::LeakyRelu { alpha } => Elementwise::LeakyRelu(wide(alpha)),
        Activation::Relu => Elementwise::Relu,
        Activation::Sigmoid => Elementwise::Sigmoid,
        Activation::Softplus => Elementwise::Softplus,
        Activation::Softsign => Elementwise::Softsign,
        Activation::Tanh => Elementwise::Tanh,
    };
    activate(x, elementwise);
}

compiled_per_set! {
    fn add(to: &mut [f32], x: &[f32]) = add_of;
    /// Adds `a * b`.
    fn add_product(to: &mut [f32], a: &[f32], b: &[f32]) = add_product_of;
    /// Multiplies by `x`.
    pub fn multiply(to: &mut [f32], x: &[f32]) = multiply_of;
    /// Computes `alpha * x + beta`.
    fn scale(x: &mut [f32], alpha: f32, beta: f32) = scale_of;
    /// Sets elements below a number to 0.
    fn threshold(x: &mut [f32], alpha: f32) = threshold_of;
    /// Computes the new state of a GRU.
    fn blend(hidden: &mut [f32], update: &[f32], candidate: &[f32]) = blend_of;
    /// Computes the new cell state of an LSTM from its input, forget and cell gates.
    fn remember(memory: &mut [f32], gates: [&[f32]; 3], input_forget: bool) = remember_of;
}

#[inline(always)]
fn add_of<S: MulAdd>(to: &mut [f32], x: &[f32]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += x;
    }
}

#[inline(always)]
fn add_product_of<S: MulAdd>(to: &mut [f32], a: &[f32], b: &[f32]) {
    for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
        *to = S::mul_add(*a, *b, *to);
    }
}

#[inline(always)]
fn multiply_of<S: MulAdd>(to: &mut [f32], x: &[f32]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to *= x;
    }
}

#[inline(always)]
fn scale_of<S: MulAdd>(x: &mut [f32], alpha: f32, beta: f32) {
    for x in x {
        *x = S::mul_add(*x, alpha, beta);
    }
}

#[inline(always)]
fn threshold_of<S: MulAdd>(x: &mut [f32], alpha: f32) {
    for x in x {
        *x = if *x < alpha { 0.0 } else { *x };
    }
}

#[inline(always)]
fn blend_of<S: MulAdd>(hidden: &mut [f32], update: &[f32], candidate: &[f32]) {
    for ((hidden, update), candidate) in hidden.iter_mut().zip(update).zip(candidate) {
        *hidden = S::mul_add(*update, *hidden - candidate, *candidate);
    }
}

#[inline(always)]
fn remember_of<S: MulAdd>(memory: &mut [f32], gates: [&[f32]; 3], input_forget: bool) {
    let [input, forget, cell] = gates;
    if input_forget {
        for ((memory, input), cell) in memory.iter_mut().zip(input).zip(cell) {
            *memory = S::mul_add(1.0 - input, *memory, input * cell);
        }
    } else {
        let gates = input.iter().zip(forget).zip(cell);
        for (memory, ((input, forget), cell)) in memory.iter_mut().zip(gates) {
            *memory = S::mul_add(*forget, *memory, input * cell);
        }
    }
}
