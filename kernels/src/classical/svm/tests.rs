//! Values and classes of support vector machines.

use super::*;
use alloc::{vec, vec::Vec};

fn basis(kernel: Kernel) -> Basis {
    Basis {
        kernel,
        gamma: 0.5,
        coef0: 0.2,
        degree: 3.0,
        vectors: Vectors::new(&[0.1, 0.2, 0.5, -0.3, 1.0, 0.4], 3),
    }
}

fn rounded(scores: Vec<f64>) -> Vec<f64> {
    let digits = |score: f64| (score * 1e4).round() / 1e4;
    scores.into_iter().map(digits).collect()
}

#[test]
fn every_kernel_compares_its_way() {
    let rows = [-1.0, 0.5, 2.0, -0.2];
    let table = [
        (Kernel::Linear, [-0.17, 0.896]),
        (Kernel::Poly, [0.0989, 0.8091]),
        (Kernel::Rbf, [0.2769, 0.3344]),
        (Kernel::Sigmoid, [0.0855, 0.4678]),
    ];
    for (kernel, expected) in table {
        let mut machine =
            Regress { basis: basis(kernel), coefficients: vec![0.3, -0.2, 0.5], rho: 0.1, one_class: false };
        let found = rounded(machine.run(&rows, 2, 2));
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 2e-4);
        assert!(near, "{kernel:?}: {found:?}");
        machine.one_class = true;
        let sides = expected.map(f64::signum);
        assert_eq!(machine.run(&rows, 2, 2), sides, "{kernel:?}");
    }
}

#[test]
fn powers_of_negative_products_are_whole_or_nan() {
    let power = |degree| {
        let basis = Basis { degree, coef0: -1.5, vectors: Vectors::new(&[1.0], 1), ..basis(Kernel::Poly) };
        let machine = Regress { basis, coefficients: vec![1.0], rho: 0.0, one_class: false };
        rounded(machine.run(&[-1.0], 1, 1))[0]
    };
    assert_eq!([0.0, 1.0, 2.0, 3.0, -1.0, -2.0].map(power), [1.0, -2.0, 4.0, -8.0, -0.5, 0.25]);
    assert!(power(0.5).is_nan());
}

fn three(probabilities: Option<(Vec<f64>, Vec<f64>)>) -> Classify {
    Classify {
        basis: basis(Kernel::Linear),
        classes: 3,
        transform: Transform::None,
        rho: vec![0.1, 0.2, -0.3],
        votes: Votes::Pairs {
            sizes: vec![1; 3],
            coefficients: vec![0.3, -0.2, 0.5, 0.1, 0.4, -0.6],
            probabilities,
        },
    }
}

#[test]
fn pairs_of_classes_vote() {
    let (classes, scores) = three(None).run(&[-1.0, 0.5, 0.3, 1.0], 2, 2);
    assert_eq!(classes, [2, 0]);
    let expected = [0.23, -0.2, -0.08, 0.199, 0.573, -0.78];
    assert_eq!(rounded(scores), expected);
}

#[test]
fn probabilities_of_pairs_are_coupled() {
    let lines = (vec![0.5, -0.3, 0.2], vec![-0.1, 0.1, 0.3]);
    let (classes, scores) = three(Some(lines)).run(&[-1.0, 0.5], 2, 1);
    assert_eq!(classes, [2]);
    assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let near = scores.iter().zip([0.3125, 0.3033, 0.3841]).all(|(a, b)| (a - b).abs() < 2e-4);
    assert!(near, "{scores:?}");
}

#[test]
fn classes_may_have_a_vector_each() {
    let machine = Classify {
        basis: Basis { vectors: Vectors::new(&[0.3, -0.2, 0.5, 0.1], 2), ..basis(Kernel::Linear) },
        classes: 2,
        transform: Transform::None,
        rho: vec![0.1],
        votes: Votes::Linear { positive: false, probable: false },
    };
    let (classes, scores) = machine.run(&[-1.0, 0.5, 0.3, 1.0], 2, 2);
    assert_eq!(classes, [0, 1]);
    assert_eq!(rounded(scores), [-0.3, -0.35, -0.01, 0.35]);
}

#[test]
fn one_of_two_classes_wins_by_the_sign_or_by_one_half() {
    let class = |rho, positive, probable| {
        let machine = Classify {
            basis: Basis { vectors: Vectors::new(&[0.3, 0.2], 2), ..basis(Kernel::Linear) },
            classes: 2,
            transform: Transform::None,
            rho: vec![rho],
            votes: Votes::Linear { positive, probable },
        };
        machine.run(&[1.0], 1, 1).0[0]
    };
    assert_eq!([class(0.0, false, false), class(-1.0, false, false)], [1, 0]);
    assert_eq!([class(0.3, true, false), class(0.0, true, false)], [1, 0]);
    assert_eq!(class(0.0, false, true), 0);
}

#[test]
fn two_classes_have_the_score_of_their_pair_and_its_opposite() {
    let scores = |transform| {
        let machine = Classify {
            basis: Basis { vectors: Vectors::new(&[0.3, 0.2], 2), ..basis(Kernel::Linear) },
            classes: 2,
            transform,
            rho: vec![0.0],
            votes: Votes::Pairs { sizes: vec![1; 2], coefficients: vec![1.0, -1.0], probabilities: None },
        };
        rounded(machine.run(&[1.0], 1, 1).1)
    };
    assert_eq!(scores(Transform::None), [-0.1, 0.1]);
    assert_eq!(scores(Transform::Softmax), [0.9, 0.1]);
    assert_eq!(scores(Transform::Logistic), [0.475, 0.525]);
}

#[test]
fn features_are_those_of_the_vectors_also_without_rows() {
    let fault = crate::attempt::attempt(|| three(None).run(&[], 8, 0)).unwrap_err();
    assert_eq!(fault.reason, "expected 3 support vectors of 8 features, found 6 values");
    assert!(three(None).run(&[], 2, 0).1.is_empty());
}
