//! Support vector machines on a device compared with the host.

use burn::tensor::{IntDType, Tensor, TensorData};

use crate::backend::{runs_cubes, switches};
use crate::classical::scores::Transform;
use crate::classical::svm::{Basis, Classify, Kernel, Regress, Votes};
use crate::testing::{device, float, has, near, noise, on_each, with_reads};

const KERNELS: [Kernel; 4] = [Kernel::Linear, Kernel::Poly, Kernel::Rbf, Kernel::Sigmoid];
const FEATURES: usize = 7;

/// Returns values that are the same on each device.
fn values(count: usize, seed: u64) -> Vec<f64> {
    let data = noise::<1>([count.max(1)], seed).into_data();
    data.iter::<f64>().take(count).collect()
}

fn basis(kernel: Kernel, count: usize, degree: f64) -> Basis {
    Basis { kernel, gamma: 0.4, coef0: 0.25, degree, vectors: values(count * FEATURES, 1), count }
}

fn data(values: Vec<f64>, width: usize) -> TensorData {
    let shape = [values.len() / width, width];
    let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
    TensorData::new(values, shape)
}

fn numbers_agree(model: &Regress, count: usize) {
    let Some(tables) = model.tables(&device()) else {
        return assert!(!runs_cubes(&device()));
    };
    let rows = values(count * FEATURES, 9);
    let expected = model.run(&rows, FEATURES, count);
    let x = float::<2>(data(rows, FEATURES));
    match with_reads(0, || model.run_on(&tables, x)) {
        Some(y) => near(y, data(expected, 1), 1e-5),
        None => assert!(switches::is_plain()),
    }
}

#[test]
fn numbers_of_every_kernel_and_size() {
    on_each(|| {
        for kernel in KERNELS {
            for vectors in [1, 9, 300] {
                for one_class in [false, true] {
                    let coefficients = values(vectors, 2);
                    let coefficients = coefficients.into_iter();
                    let model = Regress {
                        basis: basis(kernel, vectors, 3.0),
                        coefficients: coefficients.map(|x| x / vectors as f64).collect(),
                        rho: 0.03,
                        one_class,
                    };
                    for count in [0, 1, 33] {
                        numbers_agree(&model, count);
                    }
                }
            }
        }
    });
}

#[test]
fn every_power() {
    on_each(|| {
        for degree in [0.0, 1.0, 2.0, 5.0, 17.0, 18.0, -1.0, -2.0] {
            let mut basis = basis(Kernel::Poly, 1, degree);
            // Far enough from 0 for negative powers.
            basis.coef0 = -1.5;
            let coefficients = vec![1.0];
            let model = Regress { basis, coefficients, rho: 0.0, one_class: false };
            let Some(tables) = model.tables(&device()) else {
                continue;
            };
            let rows = values(20 * FEATURES, 9);
            let expected = model.run(&rows, FEATURES, 20);
            let most = expected.iter().fold(1.0, |most: f64, y| most.max(y.abs()));
            let x = float::<2>(data(rows, FEATURES));
            if let Some(y) = with_reads(0, || model.run_on(&tables, x)) {
                let expected = expected.into_iter().map(|y| y / most);
                near(y.div_scalar(most), data(expected.collect(), 1), 2e-5);
            }
        }
    });
}

fn classes_agree(model: &Classify, count: usize, tolerance: f64) {
    let Some(tables) = model.tables(&device()) else {
        return assert!(!runs_cubes(&device()));
    };
    let rows = values(count * FEATURES, 9);
    let (classes, scores) = model.run(&rows, FEATURES, count);
    let x = float::<2>(data(rows, FEATURES));
    let Some((found, found_scores)) = with_reads(0, || model.run_on(&tables, x)) else {
        return assert!(switches::is_plain());
    };
    let classes: Vec<i64> = classes.into_iter().map(|class| class as i64).collect();
    let found: Vec<i64> = found.into_data().iter::<i64>().collect();
    assert_eq!(found, classes);
    near(found_scores, data(scores, model.width()), tolerance);
}

#[test]
fn classes_of_pairs_with_and_without_probabilities() {
    on_each(|| {
        for sizes in [vec![2, 3], vec![1, 4, 2], vec![100, 150, 90, 60, 1]] {
            let (classes, count) = (sizes.len(), sizes.iter().sum());
            let pairs = classes * (classes - 1) / 2;
            let coefficients = values((classes - 1) * count, 3).into_iter();
            let coefficients: Vec<f64> = coefficients.map(|x| x / count as f64).collect();
            let lines = (values(pairs, 4), values(pairs, 5));
            for kernel in [Kernel::Rbf, Kernel::Poly] {
                for probabilities in [None, Some(lines.clone())] {
                    for transform in
                        [Transform::None, Transform::Softmax, Transform::Logistic, Transform::SoftmaxZero]
                    {
                        let model = Classify {
                            basis: basis(kernel, count, 2.0),
                            classes,
                            transform,
                            rho: values(pairs, 6).into_iter().map(|x| x / 10.0).collect(),
                            votes: Votes::Pairs {
                                sizes: sizes.clone(),
                                coefficients: coefficients.clone(),
                                probabilities: probabilities.clone(),
                            },
                        };
                        for rows in [0, 1, 40] {
                            classes_agree(&model, rows, 2e-5);
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn a_vector_for_each_class() {
    on_each(|| {
        for classes in [1, 2, 3] {
            for (positive, probable) in [(false, false), (true, false), (false, true)] {
                let model = Classify {
                    basis: basis(Kernel::Linear, classes, 0.0),
                    classes,
                    transform: Transform::Softmax,
                    rho: vec![0.2],
                    votes: Votes::Linear { positive, probable },
                };
                classes_agree(&model, 50, 1e-5);
            }
        }
    });
}

#[test]
fn rows_of_integers() {
    on_each(|| {
        let model = Regress {
            basis: basis(Kernel::Rbf, 5, 0.0),
            coefficients: values(5, 2),
            rho: 0.5,
            one_class: false,
        };
        let Some(tables) = model.tables(&device()) else {
            return;
        };
        let rows: Vec<f64> = (0..3 * FEATURES).map(|at| (at % 5) as f64 - 2.0).collect();
        let expected = model.run(&rows, FEATURES, 3);
        let x: Tensor<2> = float(data(rows, FEATURES));
        for dtype in [IntDType::I32, IntDType::I64] {
            if has(dtype.into()) && !switches::is_plain() {
                let y = with_reads(0, || model.run_on(&tables, x.clone().cast(dtype)));
                near(y.unwrap(), data(expected.clone(), 1), 1e-5);
            }
        }
    });
}
