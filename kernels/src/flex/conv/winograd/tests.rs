//! Squares of both sizes, compared with direct sums in double precision.

use std::cell::Cell;

use burn::tensor::{DType, Tensor, TensorData, module, ops::ConvOptions};

use super::*;
use crate::flex::{
    conv::{filters::Filters, geometry::Geometry},
    plan::{ConvSizes, Machine},
    simd::with_each_set,
    view::Matrix,
};
use crate::spec::epilogue::Activation;
use crate::testing::noise;

struct Case {
    channels: [usize; 2],
    groups: usize,
    batches: usize,
    size: [usize; 2],
    pads: [(usize, usize); 2],
    threads: fn() -> usize,
}

const PLAIN: Case =
    Case { channels: [3, 5], groups: 1, batches: 1, size: [9, 11], pads: [(1, 1); 2], threads: || 1 };

impl Case {
    /// Computes the convolution with squares of both sizes. `check` gets the results and those of direct sums in double
    /// precision.
    fn run(&self, x: &[f32], weight: &[f32], activation: Activation, check: impl Fn(Option<&[f32]>, &[f64])) {
        let Self { channels: [inputs, outputs], groups, batches, size, pads, threads } = *self;
        let options = ConvOptions::new_with_padding([1; 2], pads, [1; 2], groups);
        let inputs = inputs / groups;
        let tensor = |values: &[f32], shape: [usize; 4]| {
            Tensor::<4>::from_data(TensorData::new(values.to_vec(), shape), &Default::default())
                .cast(DType::F64)
        };
        let bias: Vec<f32> = noise::<1>([outputs], 3).into_data().try_to_vec().unwrap();
        let wide = module::conv2d(
            tensor(x, [batches, inputs * groups, size[0], size[1]]),
            tensor(weight, [outputs, inputs, 3, 3]),
            None,
            options.clone(),
        );
        let wide = wide + tensor(&bias, [1, outputs, 1, 1]);
        let residual: Vec<f32> = noise::<4>(wide.dims(), 4).into_data().try_to_vec().unwrap();
        let wide = wide.clone() + tensor(&residual, wide.dims());
        let mut expected: Vec<f64> = wide.into_data().try_to_vec().unwrap();
        if activation == Activation::Relu {
            expected.iter_mut().for_each(|value| *value = value.max(0.0));
        }
        let geometry = Geometry::new(&size, &[3, 3], &options);
        with_each_set(|set| {
            let filters = Filters::new(set, Matrix::dense(weight, inputs * 9), groups);
            let sizes = ConvSizes {
                geometry,
                batches,
                groups,
                inputs,
                outputs: outputs / groups,
                panel_rows: filters.panel_rows,
            };
            let plane = size[0] * size[1];
            let convolution = Convolution {
                geometry,
                batches,
                filters: &filters,
                values: x,
                steps: [inputs * groups * plane, plane, plane, size[1], 1],
                bias: Some(&bias),
                residual: Some(&residual),
                activation,
            };
            let machine = Machine { threads, ..Machine::of_floats(set) };
            for square in [Square::Two, Square::Four] {
                let plan = WinogradPlan::with(square, sizes, &machine);
                let y = convolution.by_squares(&plan);
                check(y.as_deref(), &expected);
            }
        });
    }

    fn operands(&self) -> [Vec<f32>; 2] {
        let Self { channels: [inputs, outputs], groups, batches, size, .. } = *self;
        let x = noise::<4>([batches, inputs, size[0], size[1]], 1);
        let weight = noise::<4>([outputs, inputs / groups, 3, 3], 2);
        [x, weight].map(|tensor| tensor.into_data().try_to_vec().unwrap())
    }
}

fn error(found: Option<&[f32]>, expected: &[f64]) -> f64 {
    let found = found.expect("all results are finite");
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let differences = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
    differences.fold(0.0, f64::max) / largest
}

#[test]
fn squares_are_the_sums_of_all_taps() {
    let cases = [
        PLAIN,
        Case { channels: [4, 17], size: [8, 33], batches: 2, ..PLAIN },
        Case { channels: [1, 1], size: [1, 1], ..PLAIN },
        Case { channels: [2, 3], size: [3, 3], pads: [(0, 0); 2], ..PLAIN },
        Case { channels: [2, 29], size: [4, 70], pads: [(2, 0), (0, 3)], ..PLAIN },
        Case { channels: [8, 6], groups: 2, size: [21, 18], batches: 2, ..PLAIN },
        Case { channels: [3, 2], size: [4, 5], pads: [(9, 2), (0, 8)], ..PLAIN },
        Case { channels: [40, 30], size: [30, 31], threads: || 3, ..PLAIN },
        Case { channels: [300, 20], size: [7, 7], threads: || 2, ..PLAIN },
    ];
    for case in cases {
        let [x, weight] = case.operands();
        for activation in [Activation::Identity, Activation::Relu] {
            case.run(&x, &weight, activation, |found, expected| {
                assert!(error(found, expected) < 1e-5);
            });
        }
    }
}

#[test]
fn errors_of_many_channels_are_small() {
    let case = Case { channels: [256, 16], size: [14, 14], ..PLAIN };
    let [x, weight] = case.operands();
    case.run(&x, &weight, Activation::Identity, |found, expected| {
        assert!(error(found, expected) < 1e-5);
    });
}

#[test]
fn numbers_that_are_not_finite_are_left_to_direct_sums() {
    let case = Case { channels: [3, 4], size: [9, 40], ..PLAIN };
    let [x, weight] = case.operands();
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        for at in [0, 17, 3 * 9 * 40 - 1] {
            let mut x = x.clone();
            x[at] = value;
            case.run(&x, &weight, Activation::Relu, |found, _| assert!(found.is_none()));
        }
        let mut weight = weight.clone();
        weight[5] = value;
        case.run(&x, &weight, Activation::Relu, |found, _| assert!(found.is_none()));
    }
}

#[test]
fn plans_do_not_change_results() {
    let case = |threads| Case { channels: [70, 40], size: [40, 44], threads, ..PLAIN };
    let results = Cell::new(Vec::new());
    for threads in [|| 1, || 2, || 7] {
        let case = case(threads);
        let [x, weight] = case.operands();
        case.run(&x, &weight, Activation::Identity, |found, _| {
            let mut all = results.take();
            all.push(found.unwrap().to_vec());
            results.set(all);
        });
    }
    let results = results.take();
    let each = results.len() / 3;
    assert!(
        each >= 2 && results[..each] == results[each..2 * each] && results[..each] == results[2 * each..]
    );
}
