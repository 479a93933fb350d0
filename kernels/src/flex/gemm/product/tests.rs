//! Products against sums in double precision.

use super::*;
use crate::flex::{memory::Buffer, simd::with_each_set};

fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as f32 / u32::MAX as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn expected(a: Matrix<'_>, b: Matrix<'_>, epilogue: ProductEpilogue<'_>) -> Vec<f32> {
    let element = |row: usize, column: usize| {
        let terms = (0..a.columns).map(|at| f64::from(a.at(row, at)) * f64::from(b.at(at, column)));
        let mut value = terms.sum::<f64>() as f32;
        value += epilogue.bias.map_or(0.0, |bias| bias[column]);
        value += epilogue.addend.map_or(0.0, |addend| addend[row * b.columns + column]);
        match epilogue.activation {
            Activation::Clip(low, high) => value.clamp(low as f32, high as f32),
            Activation::LeakyRelu(alpha) if value < 0.0 => value * alpha as f32,
            _ => value,
        }
    };
    (0..a.rows)
        .flat_map(|row| (0..b.columns).map(move |column| (row, column)))
        .map(|(row, column)| element(row, column))
        .collect()
}

#[test]
fn parts_of_a_packed_matrix() {
    with_each_set(|set| {
        let (inner, columns) = (40, 100);
        let (a, b) = (values(9 * inner, 1), values(inner * columns, 2));
        let whole = Matrix::dense(&b, columns);
        let mut right = Right::new(set, Matrix::dense(&values(7 * 50, 3), 50));
        right.pack(whole);
        for (terms, from, count) in [(0..40, 0, 100), (0..7, 0, 33), (13..30, 1, 9), (39..40, 2, 36)] {
            let first = from * set.nr();
            let a = Matrix::dense(&a[..9 * terms.len()], terms.len());
            let b = whole.rows(terms.start, terms.len()).columns(first, count);
            let y = Buffer::filled(9 * count, |out| {
                multiply_part(a, &right, terms.clone(), first..first + count, out)
            });
            for (y, expected) in y.iter().zip(expected(a, b, ProductEpilogue::NONE)) {
                assert!((y - expected).abs() < 1e-5, "{set:?} {terms:?} {first}");
            }
        }
    });
}

#[test]
fn every_size_order_and_end() {
    with_each_set(|set| {
        for (rows, inner, columns) in [
            (1, 1, 1),
            (1, 70, 100),
            (3, 7, 5),
            (5, 0, 9),
            (13, 33, 31),
            (14, 20, 32),
            (17, 57, 65),
            (40, 20, 48),
            (1700, 40, 33),
        ] {
            let (a, b) = (values(rows * inner, 1), values(inner * columns, 2));
            let (bias, addend) = (values(columns, 3), values(rows * columns, 4));
            let matrix = |values, rows, columns| Matrix { rows, ..Matrix::dense(values, columns) };
            let left = [matrix(&a, rows, inner), matrix(&a, inner, rows).transposed()];
            let right = [matrix(&b, inner, columns), matrix(&b, columns, inner).transposed()];
            for (a, b) in [(left[0], right[0]), (left[1], right[0]), (left[0], right[1])] {
                let clip = Activation::Clip(-0.1, 0.3);
                for epilogue in [
                    ProductEpilogue::NONE,
                    ProductEpilogue {
                        bias: Some(&bias),
                        activation: Activation::LeakyRelu(0.5),
                        ..ProductEpilogue::NONE
                    },
                    ProductEpilogue { bias: Some(&bias), addend: Some(&addend), activation: clip },
                ] {
                    let check = |y: Buffer| {
                        for (y, expected) in y.iter().zip(expected(a, b, epilogue)) {
                            assert!((y - expected).abs() < 1e-5, "{set:?} {rows} {inner} {columns}");
                        }
                    };
                    let packed = Right::new(set, b);
                    check(Buffer::filled(rows * columns, |out| multiply(set, a, b, epilogue, out)));
                    check(Buffer::filled(rows * columns, |out| multiply_packed(a, &packed, epilogue, out)));
                }
            }
        }
    });
}
