//! Rows normalized one after the other.
//!
//! Single precision has the bits of ONNX Runtime where eight divides the length: the mean is summed
//! in double precision, the squares in eight lanes.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::ModuleOps};
use burn::tensor::DType;

use super::{
    instructions::{Sum, dispatched},
    rows::{by_rows, in_place},
};
use crate::backend::primitives;

/// Elements that are summed side by side. Shorter rows take the way of primitives.
const LANES: usize = 8;

pub fn layer_norm(
    rows: FlexTensor,
    scale: FlexTensor,
    bias: Option<FlexTensor>,
    epsilon: f32,
) -> FlexTensor {
    if !is_possible(&rows) {
        return <Flex as ModuleOps<Flex>>::layer_norm(rows, scale, bias, f64::from(epsilon));
    }
    normalized(rows, scale, bias, true, epsilon)
}

pub fn rms_norm(rows: FlexTensor, scale: FlexTensor, epsilon: f32) -> FlexTensor {
    if !is_possible(&rows) {
        return primitives::rms_norm::<Flex>(rows, scale, epsilon);
    }
    normalized(rows, scale, None, false, epsilon)
}

fn is_possible(rows: &FlexTensor) -> bool {
    rows.dtype() == DType::F32 && rows.shape()[1] >= LANES
}

fn normalized(
    rows: FlexTensor,
    scale: FlexTensor,
    bias: Option<FlexTensor>,
    centered: bool,
    epsilon: f32,
) -> FlexTensor {
    let length = rows.shape()[1];
    let values = |factor: FlexTensor| -> Vec<f32> { factor.into_data().iter().collect() };
    let (scale, bias) = (values(scale), bias.map(values));
    let run = |elements: &mut [f32]| {
        by_rows(elements, length, |rows| {
            normalize(rows, &scale, bias.as_deref(), centered, epsilon);
        });
    };
    in_place(rows, run, |rows| rows)
}

dispatched! {
    fn normalize(rows: &mut [f32], scale: &[f32], bias: Option<&[f32]>, centered: bool, epsilon: f32) = normalize_of;
}

#[inline(always)]
fn normalize_of<S: Sum>(
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
                    *x = S::of(*x * inverse, *scale, *bias);
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
fn squares<S: Sum>(row: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let parts = row.chunks_exact(LANES);
    let rest = parts.remainder();
    for part in parts {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum = S::of(*x, *x, *sum);
        }
    }
    let four: [f32; LANES / 2] = std::array::from_fn(|at| sums[at] + sums[at + LANES / 2]);
    let total = (four[0] + four[2]) + (four[1] + four[3]);
    rest.iter().fold(total, |total, x| S::of(*x, *x, total))
}
