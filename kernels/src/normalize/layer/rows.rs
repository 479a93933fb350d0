//! Rows normalized one after the other.

use burn::tensor::{DType, Tensor};

use crate::cpu::{Sum, by_rows, dispatched, in_place, is_plain};

/// Elements that are summed side by side. Shorter rows take the way of primitives.
const LANES: usize = 8;

/// What rows are normalized by.
pub struct Factors {
    /// One element for each of a row.
    pub scale: Tensor<1>,
    pub bias: Option<Tensor<1>>,
    /// Whether the mean is taken away.
    pub centered: bool,
    pub epsilon: f32,
}

/// Rows by their root of the mean square, or through `other` where they do not lie in this process.
///
/// Single precision has the bits of ONNX Runtime where eight divides the length: the mean is summed
/// in double precision, the squares in eight lanes.
pub fn normalized_rows(
    x: Tensor<2>,
    factors: Factors,
    other: impl FnOnce(Tensor<2>, Factors) -> Tensor<2>,
) -> Tensor<2> {
    let [_, length] = x.dims();
    if length < LANES || x.dtype() != DType::F32 || !is_plain(&x.device()) {
        return other(x, factors);
    }
    let Factors {
        scale,
        bias,
        centered,
        epsilon,
    } = factors;
    let slice = |factor: Tensor<1>| -> Vec<f32> { factor.into_data().iter().collect() };
    let (scale, bias) = (slice(scale), bias.map(slice));
    let run = |elements: &mut [f32]| {
        by_rows(elements, length, |rows| {
            normalize(rows, &scale, bias.as_deref(), centered, epsilon);
        });
    };
    in_place(x, run, |x| x)
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

#[cfg(test)]
mod tests {
    use burn::tensor::module;

    use super::*;
    use crate::testing::{near, noise};

    #[test]
    fn every_length_agrees_with_primitives() {
        for length in [7, 8, 9, 16, 100, 40_000] {
            let x = noise::<2>([5, length], length as u64)
                .mul_scalar(3.0)
                .add_scalar(1.0);
            let (scale, bias) = (noise::<1>([length], 2), noise::<1>([length], 3));
            for bias in [None, Some(bias)] {
                for x in [x.clone(), x.clone().transpose().clone().transpose()] {
                    let expected = module::layer_norm(x.clone(), scale.clone(), bias.clone(), 1e-3);
                    let factors = Factors {
                        scale: scale.clone(),
                        bias: bias.clone(),
                        centered: true,
                        epsilon: 1e-3,
                    };
                    let other = |rows, Factors { scale, bias, .. }| {
                        module::layer_norm(rows, scale, bias, 1e-3)
                    };
                    near(
                        normalized_rows(x, factors, other),
                        expected.into_data(),
                        1e-5,
                    );
                }
            }
            let root = x.clone().square().mean_dim(1).add_scalar(1e-3).sqrt();
            let expected = x.clone() / root * scale.clone().unsqueeze();
            let factors = Factors {
                scale,
                bias: None,
                centered: false,
                epsilon: 1e-3,
            };
            let other = |_, _| expected.clone();
            near(
                normalized_rows(x, factors, other),
                expected.clone().into_data(),
                1e-5,
            );
        }
    }
}
