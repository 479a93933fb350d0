//! Transforms compared with their definition.

use std::f64::consts::TAU;

use super::*;

/// Returns the transform by its definition, in f64.
fn defined(rows: &Rows<'_, f32>, row: usize, options: &Dft) -> Vec<f64> {
    let length = options.length;
    let number = |at: usize| {
        if !(options.inverse && options.onesided) {
            return rows.number(rows.start(row), at);
        }
        let mirrored = at > length / 2;
        let number = rows.number(rows.start(row), if mirrored { length - at } else { at });
        if at == 0 || 2 * at == length {
            Complex::new(number.re, 0.0)
        } else if mirrored {
            number.conj()
        } else {
            number
        }
    };
    let mut out = Vec::new();
    for output in 0..options.outputs() {
        let sum: Complex<f64> = (0..length)
            .map(|at| {
                let angle = TAU * ((at * output) % length) as f64 / length as f64;
                let angle = if options.inverse { angle } else { -angle };
                number(at) * Complex::from_polar(1.0, angle)
            })
            .sum();
        let sum = if options.inverse { sum / length as f64 } else { sum };
        out.extend([sum.re, sum.im].iter().take(options.parts()));
    }
    out
}

fn values(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn every_length_agrees_with_the_definition() {
    for length in [1, 2, 3, 4, 7, 12, 31, 64, 97] {
        for (inverse, onesided) in [(false, false), (false, true), (true, false), (true, true)] {
            for complex in [false, true] {
                for size in [length, length / 2 + 1, length + 3] {
                    check(Dft { length, inverse, onesided }, complex, size);
                }
            }
        }
    }
}

/// The maximum error is one rounding of the largest value.
fn check(options: Dft, complex: bool, size: usize) {
    let step = size * if complex { 2 } else { 1 };
    for count in [1, 2, 3] {
        let (values, window) = (values(count * step), values(size));
        for window in [None, Some(&*window)] {
            let rows = Rows {
                values: &values,
                signal: size,
                frames: Frames { count: 1, step: 0, size },
                complex,
                window,
            };
            let one = options.outputs() * options.parts();
            let mut out = vec![f32::NAN; count * one];
            transform(rows, &options, &mut out);
            for (row, out) in out.chunks(one).enumerate() {
                let expected = defined(&rows, row, &options);
                let largest = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
                for (value, expected) in out.iter().zip(expected) {
                    let error = (f64::from(*value) - expected).abs();
                    assert!(error <= largest * 6e-8 + 1e-14, "{options:?} {size}: {value} {expected}");
                }
            }
        }
    }
}

#[test]
fn many_rows_are_shared_among_threads() {
    let options = Dft { onesided: true, ..Dft::new(480) };
    let values = values(16 * 999 + 480);
    let rows = Rows {
        values: &values,
        signal: values.len(),
        frames: Frames { count: 1000, step: 16, size: 480 },
        complex: false,
        window: None,
    };
    let one = options.outputs() * options.parts();
    let mut out = vec![f32::NAN; 1000 * one];
    transform(rows, &options, &mut out);
    for row in [0, 1, 499, 998, 999] {
        let expected = defined(&rows, row, &options);
        let out = &out[row * one..(row + 1) * one];
        for (value, expected) in out.iter().zip(expected) {
            assert!((f64::from(*value) - expected).abs() < 5e-6);
        }
    }
}
