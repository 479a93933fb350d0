//! Products with packed weights compared with dequantized ones.

use burn::tensor::{Tensor, TensorData};

use crate::product::matmul::linear;
use crate::quantize::{BitData, BitMatrix, Blocks, Coded, in_bytes, matmul_coded};
use crate::testing::{device, near, noise, on_each, with_launches, with_reads};

/// Returns a matrix of pseudorandom codes, with zero points of each kind.
fn matrix(blocks: Blocks, zeros: usize) -> BitMatrix {
    let Blocks { inputs, outputs, bits, size } = blocks;
    let count = outputs * inputs.div_ceil(size);
    let codes = (0..count * size * bits / 8).map(|at| (at * 83 + at / 7 * 29) as u8);
    let codes: Vec<u8> = codes.collect();
    let scales: Vec<f32> = (0..count).map(|at| 0.01 + at as f32 % 7.0 * 0.02).collect();
    let zeros = match zeros {
        0 => None,
        1 => {
            let row = (inputs.div_ceil(size) * bits).div_ceil(8);
            let bytes: Vec<u8> = (0..outputs * row).map(|at| (at * 57) as u8).collect();
            Some(TensorData::from(bytes.as_slice()))
        }
        _ => {
            let floats: Vec<f32> = (0..count).map(|at| at as f32 % 5.0 + 0.5).collect();
            Some(TensorData::from(floats.as_slice()))
        }
    };
    let data = BitData {
        codes: TensorData::from(codes.as_slice()),
        scales: TensorData::from(scales.as_slice()),
        zeros,
        groups: None,
    };
    BitMatrix::new(blocks, data)
}

#[test]
fn products_of_every_size() {
    on_each(|| {
        for (inputs, outputs, bits, size) in [
            (32, 16, 4, 32),
            (70, 37, 4, 16),
            (64, 5, 8, 32),
            (100, 33, 2, 16),
            (1, 1, 4, 8),
            // At eight rows, each cube no longer quantizes them itself.
            (300, 20, 4, 32),
        ] {
            let blocks = Blocks { inputs, outputs, bits, size };
            for zeros in 0..3 {
                let matrix = matrix(blocks, zeros);
                let Some(coded) = Coded::new(&matrix, &device()) else {
                    continue;
                };
                for (rows, bias) in [(1, true), (3, false), (8, true), (9, true), (40, false)] {
                    let x = noise::<2>([inputs, rows], 1).transpose();
                    let bias = bias.then(|| noise::<1>([outputs], 2));
                    let floats = matrix.floats(&device());
                    let expected = linear(x.clone(), floats, bias.clone()).into_data();
                    let y = matmul_coded(x.clone(), &matrix, &coded, bias);
                    near(y, expected, 1e-4);
                    if zeros < 2 {
                        let matrix = matrix.clone().in_bytes();
                        let rounded = in_bytes(x.clone(), size);
                        let expected = linear(rounded, matrix.floats(&device()), None);
                        let y = matmul_coded(x, &matrix, &coded, None::<Tensor<1>>);
                        near(y, expected.into_data(), 1e-4);
                    }
                }
            }
        }
    });
}

#[test]
fn a_row_is_one_launch_and_no_rows_are_none() {
    on_each(|| {
        let blocks = Blocks { inputs: 64, outputs: 20, bits: 4, size: 32 };
        let matrix = matrix(blocks, 0);
        if let Some(coded) = Coded::new(&matrix, &device()) {
            let x = noise::<3>([1, 1, 64], 1);
            for matrix in [matrix.clone(), matrix.clone().in_bytes()] {
                let run = || matmul_coded(x.clone(), &matrix, &coded, None).into_data();
                with_reads(0, || with_launches(1, run));
            }
            let none = noise::<2>([0, 64], 1);
            assert_eq!(matmul_coded(none, &matrix, &coded, None).dims(), [0, 20]);
        }
    });
}
