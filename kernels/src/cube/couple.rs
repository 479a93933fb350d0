//! Probabilities of classes from those of pairs: a unit couples a row.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    blank,
    launch::{Grid, launch},
    type_of, unwritten,
};
use crate::spec::svm::{NEAREST, STEPS, TOLERANCE, coupled};

/// Number of probabilities of pairs in memory at a time; few in tests, which have few rows.
const PAIRS: usize = if cfg!(test) { 1 << 8 } else { 1 << 24 };

/// Returns the probabilities of classes. `lines` has the logarithm of the odds of the second class for each
/// row and pair.
pub fn couple(lines: CubeTensor, classes: usize) -> CubeTensor {
    let lines = into_contiguous(lines);
    let [count, pairs] = [lines.shape()[0], lines.shape()[1]];
    let y = blank(&lines, coupled(&type_of(&lines), classes));
    let block = (PAIRS / (classes * classes)).clamp(1, count);
    for first in (0..count).step_by(block) {
        let length = block.min(count - first);
        // The pairs of each class, then the gradients.
        let work = unwritten(&lines, [classes * (classes + 1) * length].into(), DType::F32);
        launch!(Grid::units(length) => couple_kernel(
            &lines, work, &y;
            first, length, pairs, classes,
        ));
    }
    y
}

/// A unit couples the probabilities of a row, in the steps of the host's `coupled`.
///
/// Units beyond `length` end. `work` has `classes * (classes + 1)` elements for each unit, `lines` `pairs`
/// for each row from `first` on, `output` `classes`; and `pairs` is `classes * (classes - 1) / 2`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn couple_kernel(
    lines: &Tensor<f32>,
    work: &mut Tensor<f32>,
    output: &mut Tensor<f32>,
    first: usize,
    length: usize,
    pairs: usize,
    classes: usize,
) {
    if ABSOLUTE_POS >= length {
        terminate!();
    }
    let unit = ABSOLUTE_POS;
    let row = first + unit;
    let (line, result) = (row * pairs, row * classes);
    let gradients = classes * classes * length + unit;
    let mut pair = 0usize;
    for a in 0..classes {
        for b in a + 1..classes {
            let odds = lines[line + pair].exp();
            let (nearest, furthest) = (comptime!(NEAREST as f32), comptime!(1.0 - NEAREST as f32));
            // The smaller probability keeps its digits.
            let one = (1f32 / (1f32 + odds)).max(nearest).min(furthest);
            let other = (1f32 / (1f32 + 1f32 / odds)).max(nearest).min(furthest);
            work[(a * classes + b) * length + unit] = one;
            work[(b * classes + a) * length + unit] = other;
            pair += 1;
        }
    }
    for a in 0..classes {
        let mut sum = 0f32;
        for b in 0..classes {
            if a != b {
                let value = work[(b * classes + a) * length + unit];
                sum += value * value;
            }
        }
        work[(a * classes + a) * length + unit] = sum;
        output[result + a] = 1f32 / f32::cast_from(classes);
    }

    let mut step = 0usize;
    while step < STEPS {
        let mut value = 0f32;
        for a in 0..classes {
            let mut sum = 0f32;
            for b in 0..classes {
                sum += form(work, a, b, classes, length, unit) * output[result + b];
            }
            work[gradients + a * length] = sum;
            value += sum * output[result + a];
        }
        let mut error = 0f32;
        for a in 0..classes {
            error = max(error, (work[gradients + a * length] - value).abs());
        }
        step += 1;
        if error < comptime!(TOLERANCE as f32) / f32::cast_from(classes) {
            step = STEPS.runtime();
        } else {
            for a in 0..classes {
                let own = form(work, a, a, classes, length, unit);
                let change = (value - work[gradients + a * length]) / own;
                let scale = 1f32 + change;
                output[result + a] += change;
                value =
                    (value + change * (change * own + 2f32 * work[gradients + a * length])) / scale / scale;
                for b in 0..classes {
                    let term = change * form(work, a, b, classes, length, unit);
                    let gradient = work[gradients + b * length];
                    work[gradients + b * length] = (gradient + term) / scale;
                    output[result + b] /= scale;
                }
            }
        }
    }
}

/// Returns an element of the quadratic form, whose diagonal is in `work`.
#[cube]
fn form(work: &mut Tensor<f32>, a: usize, b: usize, classes: usize, length: usize, unit: usize) -> f32 {
    let mut value = work[(a * classes + b) * length + unit];
    if a != b {
        value = -value * work[(b * classes + a) * length + unit];
    }
    value
}
