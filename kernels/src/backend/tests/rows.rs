//! Softmax and norms.

use burn::backend::Dispatch;
use burn::tensor::{Tensor, TensorData};

use super::{Operand, call, primitives, with_each_instruction_set};
use crate::quantize::in_bytes;
use crate::testing::{float, near, noise, on_each};

#[test]
fn softmax_along_each_axis() {
    on_each(|| {
        let x = noise::<3>([3, 40, 2], 1).mul_scalar(4.0);
        let long = noise::<3>([2, 3, 777], 2).mul_scalar(4.0);
        for x in [x.clone(), long, x.permute([2, 0, 1])] {
            for axis in 0..3 {
                agree!(softmax<3>(x; axis));
                agree!(log_softmax<3>(x; axis));
            }
        }
        let empty = crate::normalize::softmax::softmax(noise::<3>([2, 0, 3], 3), 1);
        assert_eq!(empty.dims(), [2, 0, 3]);
        let infinite = float::<2>([[f32::NEG_INFINITY, 1.0], [f32::NEG_INFINITY; 2], [f32::NAN, 0.0]]);
        let expected = [[0f32, 1.0], [f32::NAN; 2], [f32::NAN; 2]];
        near(crate::normalize::softmax::softmax(infinite, 1), expected, 0.0);
    });
}

#[test]
fn norms_of_rows() {
    on_each(|| {
        for length in [1, 3, 8, 21, 300] {
            let (x, scale) = (noise::<2>([5, length], 1), noise::<1>([length], 2));
            let permuted = noise::<2>([length, 5], 3).transpose();
            for x in [x, permuted] {
                for bias in [None, Some(noise::<1>([length], 3))] {
                    agree!(layer_norm<2>(x, scale, bias; 1e-3f32));
                }
                agree!(rms_norm<2>(x, scale; 1e-3f32));
            }
        }
    });
}

#[test]
fn norms_of_groups() {
    on_each(|| {
        for (channels, groups, elements) in [(6, 1, 5), (6, 3, 49), (4, 4, 130)] {
            let x = noise::<3>([2, channels, elements], 1);
            let (scale, bias) = (noise::<1>([channels], 2), noise::<1>([channels], 3));
            agree!(group_norm<3>(x, scale, bias; groups, 1e-3f32));
        }
    });
}

#[test]
fn blocks_of_rows_that_are_rounded() {
    on_each(|| {
        for (rows, inputs, size) in [(1, 1, 32), (3, 64, 32), (5, 70, 16), (2, 9, 4)] {
            let zeros = noise::<2>([1, inputs], 2).mul_scalar(0.0);
            let x = noise::<2>([rows, inputs], 1).mul_scalar(3.0);
            let x = Tensor::cat(vec![x, zeros], 0);
            for x in [x.clone(), x.transpose()] {
                let values: Vec<f64> = x.clone().into_data().iter().collect();
                let dims = x.dims();
                let mut expected = Vec::new();
                for row in values.chunks(dims[1]) {
                    for block in row.chunks(size) {
                        let largest = block.iter().fold(0f64, |most, x| most.max(x.abs()));
                        let step = largest / 127.0;
                        expected.extend(block.iter().map(|x| match largest {
                            0.0 => 0.0,
                            _ => ((x / step).round_ties_even() * step) as f32,
                        }));
                    }
                }
                near(in_bytes(x, size), TensorData::new(expected, dims), 1e-6);
            }
        }
    });
}
