//! Normalization of rows.
//!
//! Results in f32 equal those of ONNX Runtime bit by bit if the length is a multiple of 8: the mean is accumulated in f64, the
//! squares in eight lanes.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor};
use burn::tensor::DType;

use super::{
    rows::in_place,
    simd::{MulAdd, compiled_per_set},
    view::Dense,
};
use crate::backend::{Given, primitives};
use crate::deterministic;

/// Number of elements that are accumulated in parallel. Shorter rows are computed by primitives.
const LANES: usize = 8;

/// Number of elements that are accumulated in f32.
const BLOCK: usize = 1024;

pub fn layer_norm(rows: FlexTensor, scale: FlexTensor, bias: Option<FlexTensor>, epsilon: f32) -> FlexTensor {
    if !is_possible(&rows) {
        let bias = bias.map_or(Given::Missing, Given::Float);
        return primitives::layer_norm::<Flex>(rows, scale, bias, epsilon);
    }
    normalized(rows, scale, bias, true, epsilon)
}

pub fn rms_norm(rows: FlexTensor, scale: FlexTensor, epsilon: f32) -> FlexTensor {
    if !is_possible(&rows) {
        return primitives::rms_norm::<Flex>(rows, scale, epsilon);
    }
    normalized(rows, scale, None, false, epsilon)
}

pub fn group_norm(
    x: FlexTensor,
    scale: FlexTensor,
    bias: FlexTensor,
    groups: usize,
    epsilon: f32,
) -> FlexTensor {
    if x.dtype() != DType::F32 {
        return primitives::group_norm::<Flex>(x, scale, bias, groups, epsilon);
    }
    let shape = x.shape();
    let channels = shape[1] / groups;
    let [scale, bias] = [scale, bias].map(|values| Dense::new(&values));
    let (scale, bias) = (scale.values(), bias.values());
    let length = channels * shape[2];
    in_place(x, length, |at, part| {
        for (group, elements) in part.chunks_mut(length).enumerate() {
            let first = (at / length + group) % groups * channels;
            let own = first..first + channels;
            standardize(elements, &scale[own.clone()], &bias[own], epsilon);
        }
    })
}

fn is_possible(rows: &FlexTensor) -> bool {
    let length = rows.shape()[1];
    rows.dtype() == DType::F32 && (length >= LANES || deterministic::is_on() && length > 0)
}

fn normalized(
    rows: FlexTensor,
    scale: FlexTensor,
    bias: Option<FlexTensor>,
    centered: bool,
    epsilon: f32,
) -> FlexTensor {
    let length = rows.shape()[1];
    let (scale, bias) = (Dense::new(&scale), bias.map(|bias| Dense::new(&bias)));
    let (scale, bias) = (scale.values(), bias.as_ref().map(Dense::values));
    in_place(rows, length, |_, rows| {
        normalize(rows, scale, bias, centered, epsilon);
    })
}

compiled_per_set! {
    fn standardize(group: &mut [f32], scale: &[f32], bias: &[f32], epsilon: f32) = standardize_of;
    fn normalize(rows: &mut [f32], scale: &[f32], bias: Option<&[f32]>, centered: bool, epsilon: f32) = normalize_of;
}

#[inline(always)]
fn normalize_of<S: MulAdd>(
    rows: &mut [f32],
    scale: &[f32],
    bias: Option<&[f32]>,
    centered: bool,
    epsilon: f32,
) {
    for row in rows.chunks_exact_mut(scale.len()) {
        if centered {
            let mean = mean(row);
            for x in row.iter_mut() {
                *x -= mean;
            }
        }
        let inverse = 1.0 / (squares::<S>(row) / row.len() as f32 + epsilon).sqrt();
        match bias {
            Some(bias) => {
                for ((x, scale), bias) in row.iter_mut().zip(scale).zip(bias) {
                    *x = S::mul_add(*x * inverse, *scale, *bias);
                }
            }
            None => {
                for (x, scale) in row.iter_mut().zip(scale) {
                    *x = *x * inverse * scale;
                }
            }
        }
    }
}

#[inline(always)]
fn mean(row: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let parts = row.chunks_exact(LANES);
    let rest: f64 = parts.remainder().iter().map(|x| f64::from(*x)).sum();
    for part in parts {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += f64::from(*x);
        }
    }
    let total: f64 = sums.iter().sum::<f64>() + rest;
    (total / row.len() as f64) as f32
}

#[inline(always)]
fn squares<S: MulAdd>(row: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let parts = row.chunks_exact(LANES);
    let rest = parts.remainder();
    for part in parts {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum = S::mul_add(*x, *x, *sum);
        }
    }
    let four: [f32; LANES / 2] = std::array::from_fn(|at| sums[at] + sums[at + LANES / 2]);
    let total = (four[0] + four[2]) + (four[1] + four[3]);
    rest.iter().fold(total, |total, x| S::mul_add(*x, *x, total))
}

/// Normalizes the channels of a group, which share mean and variance.
#[inline(always)]
fn standardize_of<S: MulAdd>(group: &mut [f32], scale: &[f32], bias: &[f32], epsilon: f32) {
    let (length, plane) = (group.len() as f64, group.len() / scale.len());
    let mean = (total(group, |x, sum| sum + x) / length) as f32;
    let squares = total(group, |x, sum| S::mul_add(x - mean, x - mean, sum));
    let inverse = 1.0 / ((squares / length) as f32 + epsilon).sqrt();
    for ((channel, scale), bias) in group.chunks_exact_mut(plane).zip(scale).zip(bias) {
        let factor = inverse * scale;
        for x in channel {
            *x = S::mul_add(*x - mean, factor, *bias);
        }
    }
}

/// Returns the sum of a function of all elements, accumulated in f32 within blocks and in f64 across them.
#[inline(always)]
fn total(values: &[f32], add: impl Fn(f32, f32) -> f32) -> f64 {
    let mut total = 0.0;
    for block in values.chunks(BLOCK) {
        let mut sums = [0.0; 4 * LANES];
        let (parts, rest) = block.as_chunks::<{ 4 * LANES }>();
        for part in parts {
            for (sum, x) in sums.iter_mut().zip(part) {
                *sum = add(*x, *sum);
            }
        }
        for (sum, x) in sums.iter_mut().zip(rest) {
            *sum = add(*x, *sum);
        }
        total += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
    }
    total
}
