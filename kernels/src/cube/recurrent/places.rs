//! Offsets of elements of sequences.

// Conditions on compile-time values select code.
#![allow(clippy::collapsible_if)]

use cubecl::prelude::*;

use super::plan::Plan;

/// Returns the time of a step.
#[cube]
pub fn time_of(step: usize, direction: usize, times: usize, #[comptime] plan: Plan) -> usize {
    let mut time = step;
    if comptime!(plan.is_reversed) {
        time = times - 1 - step;
    } else if comptime!(plan.directions == 2) {
        if direction == 1 {
            time = times - 1 - step;
        }
    }
    time
}

/// Returns the offset of the state of a sequence.
#[cube]
pub fn state_place(direction: usize, sequence: usize, batch: usize, #[comptime] plan: Plan) -> usize {
    if comptime!(plan.batch_first) {
        (sequence * plan.directions + direction) * plan.hidden
    } else {
        (direction * batch + sequence) * plan.hidden
    }
}

/// Returns the offset of the output of a sequence at a time.
#[cube]
pub fn output_place(
    direction: usize,
    sequence: usize,
    time: usize,
    times: usize,
    batch: usize,
    #[comptime] plan: Plan,
) -> usize {
    if comptime!(plan.batch_first) {
        ((sequence * times + time) * plan.directions + direction) * plan.hidden
    } else {
        ((time * plan.directions + direction) * batch + sequence) * plan.hidden
    }
}

/// Returns the offset of the products of the input of a sequence at a time.
#[cube]
pub fn input_place(
    direction: usize,
    sequence: usize,
    time: usize,
    times: usize,
    batch: usize,
    #[comptime] plan: Plan,
) -> usize {
    let mut row = time * batch + sequence;
    if comptime!(plan.batch_first) {
        row = sequence * times + time;
    }
    (row * plan.directions + direction) * comptime!(plan.columns())
}

/// Returns `true` if a sequence has a time.
#[cube]
pub fn has_time(lengths: &Tensor<i32>, sequence: usize, time: usize, #[comptime] plan: Plan) -> bool {
    if comptime!(plan.has_lengths) { (time as i32) < lengths[sequence] } else { true.runtime() }
}
