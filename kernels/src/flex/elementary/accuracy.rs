//! Activations compared with double precision, for every float.
//!
//! Ordinary runs test every 4099th bit pattern, for functions of rows every 65,537th, and those around bounds. All 2^32 take
//! minutes per function:
//!
//! ```sh
//! EVERY=1 cargo test --release -p onnx-embed-kernels --lib flex::elementary::accuracy -- --nocapture
//! ```

use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

use super::{activate, logarithm, trigonometric};
use crate::flex::simd::{InstructionSet, with_each_set};
use crate::flex::softmax::log_softmax_rows;
use crate::spec::epilogue::Activation;

/// Maximum error, in units in the last place.
const BOUND: f64 = 4.0;

/// The same for functions that are computed in double precision.
const ROUNDED_BOUND: f64 = 0.51;

/// Stride of the tested bit patterns in ordinary runs, for elementwise functions.
const STEP: usize = 4099;

/// The same for functions of rows, which take ten times as long.
const ROW_STEP: usize = 65_537;

/// Number of floats per call.
const PART: usize = 1 << 14;

/// Floats at which a function changes its formula, or saturates; adjacent floats are tested too.
const TURNS: [f32; 26] = [
    0.0,
    f32::MIN_POSITIVE,
    1e-40,
    1e-30,
    0.25,
    0.5,
    std::f32::consts::FRAC_1_SQRT_2,
    1.0,
    std::f32::consts::FRAC_PI_2,
    2.0,
    4.0,
    9.02,
    10.0,
    11.68,
    13.0,
    14.5,
    16.27,
    18.0,
    40.0,
    87.34,
    88.73,
    103.98,
    1_048_576.0,
    1e10,
    1e38,
    f32::INFINITY,
];

#[test]
fn sigmoid_of_every_float() {
    of_activation(Activation::Sigmoid, sigmoid);
}

#[test]
fn tanh_of_every_float() {
    of_activation(Activation::Tanh, f64::tanh);
}

#[test]
fn gelu_of_every_float() {
    // At -infinity the definition is 0 times infinity, so NaN, as in ONNX Runtime.
    of_activation(Activation::Gelu, |x| 0.5 * x * erfc(-x / SQRT_2));
}

#[test]
fn gelu_tanh_of_every_float() {
    let slope = 2.0 * (2.0 / PI).sqrt();
    of_activation(Activation::GeluTanh, |x| x * sigmoid(slope * (x + 0.044715 * x * x * x)));
}

#[test]
fn softplus_of_every_float() {
    of_activation(Activation::Softplus, softplus);
}

#[test]
fn logarithm_of_every_float() {
    rounded("Log", f64::ln, logarithm::logarithms);
}

#[test]
fn logarithm_of_the_next_of_every_float() {
    rounded("Log1p", f64::ln_1p, logarithm::logarithms_of_next);
}

#[test]
fn sine_of_every_float() {
    rounded("Sin", f64::sin, trigonometric::sines);
}

#[test]
fn cosine_of_every_float() {
    rounded("Cos", f64::cos, trigonometric::cosines);
}

#[test]
fn tangent_of_every_float() {
    rounded("Tan", f64::tan, trigonometric::tangents);
}

#[test]
fn signs_of_zero_stay_and_poles_are_infinite() {
    with_each_set(|set| {
        let of = |run: fn(&mut [f32]), x: f32| {
            let mut x = [x];
            run(&mut x);
            x[0]
        };
        for run in [logarithm::logarithms_of_next, trigonometric::sines, trigonometric::tangents] {
            for zero in [0.0f32, -0.0] {
                assert_eq!(of(run, zero).to_bits(), zero.to_bits(), "{set:?}");
            }
        }
        for zero in [0.0, -0.0] {
            assert_eq!(of(logarithm::logarithms, zero), f32::NEG_INFINITY, "{set:?}");
        }
        assert_eq!(of(logarithm::logarithms_of_next, -1.0), f32::NEG_INFINITY, "{set:?}");
    });
}

#[test]
fn log_softmax_of_every_float_and_zero() {
    // Infinity minus infinity is NaN.
    compare(
        "LogSoftmax, first",
        (ROW_STEP, BOUND),
        |x| {
            if x == f64::INFINITY { f64::NAN } else { -softplus(-x) }
        },
        |elements| of_rows(elements, 0),
    );
    compare(
        "LogSoftmax, second",
        (ROW_STEP, BOUND),
        |x| {
            if x == f64::INFINITY { f64::NAN } else { -softplus(x) }
        },
        |elements| of_rows(elements, 1),
    );
}

#[test]
fn log_softmax_keeps_what_differences_lose() {
    with_each_set(|set| {
        let mut row = [80.1f32, 0.3];
        log_softmax_rows(&mut row, 2);
        let difference = f64::from(0.3f32) - f64::from(80.1f32);
        let exact = [-difference.exp().ln_1p(), difference];
        for (found, exact) in row.iter().zip(exact) {
            let error = units(*found, exact);
            assert!(error <= BOUND, "{set:?}: {found:e}, not {exact:e}");
        }
        // Ten equal elements, and some that are much less.
        let mut row = [[2.0f32; 10], [-30.0; 10]].concat();
        log_softmax_rows(&mut row, 20);
        let exact = -(9.0 + 10.0 * (-32f64).exp()).ln_1p();
        assert!(units(row[0], exact) <= BOUND, "{set:?}: {}", row[0]);
        assert!(units(row[19], exact - 32.0) <= BOUND, "{set:?}: {}", row[19]);
    });
}

/// Returns one of the two results for rows of each element and 0.
fn of_rows(elements: &mut [f32], at: usize) {
    let mut rows: Vec<f32> = elements.iter().flat_map(|&x| [x, 0.0]).collect();
    log_softmax_rows(&mut rows, 2);
    for (element, row) in elements.iter_mut().zip(rows.chunks_exact(2)) {
        *element = row[at];
    }
}

fn of_activation(activation: Activation, exact: impl Fn(f64) -> f64) {
    compare(&format!("{activation:?}"), (STEP, BOUND), exact, |elements| {
        activate(elements, activation);
    });
}

fn rounded(name: &str, exact: impl Fn(f64) -> f64, run: impl Fn(&mut [f32])) {
    compare(name, (STEP, ROUNDED_BOUND), exact, |elements| {
        let each: Vec<f32> = elements
            .iter()
            .map(|x| {
                let mut x = [*x];
                run(&mut x);
                x[0]
            })
            .collect();
        run(elements);
        // Bits do not depend on the neighbors.
        for (one, all) in each.iter().zip(&*elements) {
            assert!(
                one.to_bits() == all.to_bits() || one.is_nan() && all.is_nan(),
                "{name}: {one:e}, {all:e}"
            );
        }
    });
}

/// Compares a function with its definition in double precision, with each instruction set.
fn compare(name: &str, (step, bound): (usize, f64), exact: impl Fn(f64) -> f64, run: impl Fn(&mut [f32])) {
    let step = std::env::var("EVERY").map_or(step, |step| step.parse().expect("a number"));
    let sets: Vec<InstructionSet> = InstructionSet::all().collect();
    let worst = vec![std::cell::Cell::new((0.0, 0.0, 0.0)); sets.len()];
    let mut bits = (0..=u32::MAX).step_by(step);
    let turns: Vec<f32> = turns().collect();
    let mut floats: Vec<f32> = turns;
    while !floats.is_empty() {
        let expected: Vec<f64> = floats.iter().map(|&x| exact(f64::from(x))).collect();
        with_each_set(|set| {
            let mut found = floats.clone();
            run(&mut found);
            let number = sets.iter().position(|other| *other == set);
            let worst = &worst[number.expect("it is one")];
            for ((x, y), exact) in floats.iter().zip(found).zip(&expected) {
                let error = units(y, *exact);
                if error > worst.get().0 {
                    worst.set((error, *x, y));
                }
            }
        });
        floats = bits.by_ref().take(PART).map(f32::from_bits).collect();
    }
    for (set, (error, x, y)) in sets.iter().zip(worst.iter().map(std::cell::Cell::get)) {
        println!("{name}, {set:?}: {error:.3} units at {x:e}");
        assert!(error <= bound, "{name}, {set:?}: {error} units, {y:e} of {x:e}");
    }
}

fn turns() -> impl Iterator<Item = f32> {
    let near = |x: f32| (-2..=2).map(move |step| f32::from_bits(x.to_bits().saturating_add_signed(step)));
    let sizes = TURNS.into_iter().flat_map(near);
    sizes.flat_map(|x| [x, -x])
}

/// Returns the distance of a result from the exact one, in units in the last place of a float; 0 if both are NaN.
fn units(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found.is_nan() && exact.is_nan() || found == nearest {
        return 0.0;
    }
    if !found.is_finite() || !nearest.is_finite() {
        return f64::INFINITY;
    }
    let exponent = (nearest.abs().to_bits() >> 23).max(1) as i32;
    (f64::from(found) - exact).abs() / f64::powi(2.0, exponent - 127 - 23)
}

fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

fn softplus(x: f64) -> f64 {
    let above = if x < 0.0 { 0.0 } else { x };
    above + (-x.abs()).exp().ln_1p()
}

/// Returns the complementary error function: 1 minus a series, or a continued fraction where that loses digits.
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x > 30.0 {
        return 0.0;
    }
    let square = x * x;
    if x < 2.0 {
        let (mut term, mut sum, mut at) = (x, x, 0.0);
        while term.abs() > 1e-18 * sum {
            at += 1.0;
            term *= -square / at;
            sum += term / (2.0 * at + 1.0);
        }
        return 1.0 - FRAC_2_SQRT_PI * sum;
    }
    let fraction = (1..=60).rev().fold(1.0, |rest, at| 1.0 + f64::from(at) / (2.0 * square) / rest);
    0.5 * FRAC_2_SQRT_PI * (-square).exp() / (x * fraction)
}

#[test]
fn the_reference_is_exact() {
    let values = [
        (0.5, 0.479_500_122_186_953_5),
        (1.9, 7.209_570_764_742_524e-3),
        (2.0, 4.677_734_981_047_266e-3),
        (5.0, 1.537_459_794_428_035e-12),
        (10.0, 2.088_487_583_762_545e-45),
        (-1.0, 1.842_700_792_949_715),
    ];
    for (x, exact) in values {
        assert!((erfc(x) / exact - 1.0).abs() < 1e-12, "{x}: {}", erfc(x));
    }
}
