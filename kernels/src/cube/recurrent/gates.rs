//! The gates of one hidden value, after the products of a step.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use cubecl::prelude::*;

use super::plan::{Function, Kind, Plan, Shape};
use crate::cube::epilogue::tanh;

/// The biases of all gates, of the input or of the recurrence.
#[cube]
pub fn biases<T: Float>(
    constants: &Tensor<T>,
    direction: usize,
    place: usize,
    #[comptime] of_recurrence: bool,
    #[comptime] plan: Plan,
) -> Array<f32> {
    let first = comptime!(if of_recurrence { plan.columns() } else { 0 });
    let mut biases = Array::<f32>::new(comptime!(plan.gates));
    #[unroll]
    for gate in 0..plan.gates {
        biases[gate] = 0f32;
        if comptime!(plan.has_bias) {
            let at = direction * comptime!(plan.constants()) + first + gate * plan.hidden;
            biases[gate] = f32::cast_from(constants[at + place]);
        }
    }
    biases
}

/// Multiplies the sums of quantized values by their scales, and adds the biases.
#[cube]
pub fn scaled<T: Float>(
    linear: &mut Array<f32>,
    bias: &Array<f32>,
    constants: &Tensor<T>,
    scale: f32,
    direction: usize,
    place: usize,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for gate in 0..plan.gates {
        let first = comptime!(plan.scales() + gate * plan.hidden);
        let at = direction * comptime!(plan.constants()) + first + place;
        linear[gate] = linear[gate] * (scale * f32::cast_from(constants[at])) + bias[gate];
    }
}

/// The peepholes of the input, output and forget gates.
#[cube]
pub fn peepholes<T: Float>(
    constants: &Tensor<T>,
    direction: usize,
    place: usize,
    #[comptime] plan: Plan,
) -> Array<f32> {
    let mut peepholes = Array::<f32>::new(3usize);
    #[unroll]
    for gate in 0..3 {
        peepholes[gate] = 0f32;
        if comptime!(plan.has_peepholes) {
            let first = comptime!(plan.constants() - (3 - gate) * plan.hidden);
            let at = direction * comptime!(plan.constants()) + first;
            peepholes[gate] = f32::cast_from(constants[at + place]);
        }
    }
    peepholes
}

/// The state of a GRU that its reset gate lets through.
#[cube]
pub fn reset(
    input: &Array<f32>,
    linear: &Array<f32>,
    state: f32,
    direction: usize,
    #[comptime] plan: Plan,
) -> f32 {
    opened(input[1] + linear[1], direction, 1usize, plan) * state
}

/// Advances the state and the memory by a step, from the products of its gates with inputs and states.
#[cube]
pub fn advance(
    input: &Array<f32>,
    linear: &Array<f32>,
    peepholes: &Array<f32>,
    states: &mut Array<f32>,
    direction: usize,
    #[comptime] plan: Plan,
) {
    if comptime!(plan.kind == Kind::Rnn) {
        states[0] = opened(input[0] + linear[0], direction, 0usize, plan);
    } else if comptime!(plan.is_lstm()) {
        let before = states[1];
        let entering = input[0] + linear[0] + seen(peepholes, before, 0usize, plan);
        let entering = opened(entering, direction, 0usize, plan);
        let mut kept = 1f32 - entering;
        if comptime!(plan.kind == Kind::Lstm) {
            let forget = input[2] + linear[2] + seen(peepholes, before, 2usize, plan);
            kept = opened(forget, direction, 0usize, plan);
        }
        let candidate = opened(input[3] + linear[3], direction, 1usize, plan);
        let memory = kept * before + entering * candidate;
        let output = input[1] + linear[1] + seen(peepholes, memory, 1usize, plan);
        let output = opened(output, direction, 0usize, plan);
        states[0] = output * activated(memory, direction, 2usize, plan);
        states[1] = memory;
    } else {
        let update = opened(input[0] + linear[0], direction, 0usize, plan);
        let mut product = linear[2];
        if comptime!(plan.kind == Kind::GruResetLast) {
            product = reset(input, linear, product, direction, plan);
        }
        let candidate = opened(input[2] + product, direction, 2usize, plan);
        states[0] = candidate + update * (states[0] - candidate);
    }
}

/// Returns the addend of a gate from the memory.
#[cube]
fn seen(peepholes: &Array<f32>, memory: f32, #[comptime] gate: usize, #[comptime] plan: Plan) -> f32 {
    if comptime!(plan.has_peepholes) { peepholes[gate] * memory } else { 0f32.runtime() }
}

/// Returns an activation function of the clipped value.
#[cube]
fn opened(x: f32, direction: usize, #[comptime] gate: usize, #[comptime] plan: Plan) -> f32 {
    let mut x = x;
    if comptime!(plan.clip.is_some()) {
        let clip = comptime!(f32::from_bits(plan.clip.unwrap_or(0)));
        x = clamp(x, comptime!(-clip).runtime(), clip.runtime());
    }
    activated(x, direction, gate, plan)
}

#[cube]
fn activated(x: f32, direction: usize, #[comptime] gate: usize, #[comptime] plan: Plan) -> f32 {
    let of_first = comptime!(plan.functions[0][gate]);
    let of_second = comptime!(plan.functions[1][gate]);
    let mut y = applied(x, of_first);
    if comptime!(plan.directions == 2 && of_first != of_second) {
        if direction == 1 {
            y = applied(x, of_second);
        }
    }
    y
}

#[cube]
fn applied(x: f32, #[comptime] function: Function) -> f32 {
    let alpha = comptime!(f32::from_bits(function.alpha)).runtime();
    let beta = comptime!(f32::from_bits(function.beta)).runtime();
    match comptime!(function.shape) {
        Shape::Affine => alpha * x + beta,
        Shape::Elu => select(x < 0f32, alpha * (x.exp() - 1f32), x),
        Shape::HardSigmoid => clamp(alpha * x + beta, 0f32, 1f32),
        Shape::LeakyRelu => select(x < 0f32, alpha * x, x),
        Shape::Relu => max(x, 0f32),
        Shape::ScaledTanh => alpha * tanh::<f32>(beta * x),
        Shape::Sigmoid => 1f32 / (1f32 + (-x).exp()),
        // No exponent above 0, so nothing overflows.
        Shape::Softplus => max(x, 0f32) + (-x.abs()).exp().log1p(),
        Shape::Softsign => x / (1f32 + x.abs()),
        Shape::Tanh => tanh::<f32>(x),
        Shape::ThresholdedRelu => select(x < alpha, 0f32, x),
    }
}
