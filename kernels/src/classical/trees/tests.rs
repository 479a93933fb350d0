//! Aggregation of trees and the resulting classes.

use super::*;
use crate::classical::scores::Transform;
use alloc::{vec, vec::Vec};

mod paths;

const NAN: f32 = f32::NAN;

/// Returns one branch over `value` with the leaves `[1]` for yes and `[2]` for no.
fn stump(mode: Mode, value: f32, missing: i64, members: &[f32]) -> Indexed<f32> {
    Indexed {
        roots: vec![0],
        modes: vec![mode],
        features: vec![0],
        values: vec![value],
        yes: vec![0],
        no: vec![1],
        yes_leaves: vec![1],
        no_leaves: vec![1],
        missing: vec![missing],
        members: members.to_vec(),
        weight_targets: vec![0, 0],
        weights: vec![1.0, 2.0],
    }
}

fn run(trees: Indexed<f32>, rows: &[f32], aggregate: Aggregate) -> Vec<f64> {
    let regress = Regress {
        forest: trees.build(1).unwrap(),
        targets: 1,
        aggregate,
        transform: Transform::None,
        base: vec![],
    };
    regress.run(rows, 1, rows.len())
}

#[test]
fn every_mode_compares_its_way() {
    let rows = [1.0, 2.0, 3.0, NAN];
    let table = [
        (Mode::LessOrEqual, [1.0, 1.0, 2.0, 2.0]),
        (Mode::Less, [1.0, 2.0, 2.0, 2.0]),
        (Mode::GreaterOrEqual, [2.0, 1.0, 1.0, 2.0]),
        (Mode::Greater, [2.0, 2.0, 1.0, 2.0]),
        (Mode::Equal, [2.0, 1.0, 2.0, 2.0]),
        (Mode::NotEqual, [1.0, 2.0, 1.0, 1.0]),
    ];
    for (mode, expected) in table {
        let found = run(stump(mode, 2.0, 0, &[]), &rows, Aggregate::Sum);
        assert_eq!(found, expected, "{mode:?}");
        let missing = run(stump(mode, 2.0, 1, &[]), &rows, Aggregate::Sum);
        assert_eq!(missing[3], 1.0, "{mode:?}");
    }
}

#[test]
fn members_are_listed_up_to_nan() {
    let rows = [1.0, 2.0, 3.0, NAN];
    let trees = stump(Mode::Member, 0.0, 0, &[1.0, 3.0, NAN]);
    assert_eq!(run(trees, &rows, Aggregate::Sum), [1.0, 2.0, 1.0, 2.0]);
    let trees = stump(Mode::Member, 0.0, 1, &[NAN]);
    assert_eq!(run(trees, &rows, Aggregate::Sum), [2.0, 2.0, 2.0, 1.0]);
}

#[test]
fn a_tree_may_be_one_leaf() {
    let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
    trees.no = vec![0];
    assert_eq!(run(trees, &[-1.0, 1.0], Aggregate::Sum), [1.0, 1.0]);
}

#[test]
fn weights_are_aggregated() {
    let twice = || {
        let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
        trees.roots = vec![0, 1];
        trees.modes.push(Mode::Less);
        trees.features.push(0);
        trees.values.push(5.0);
        trees.yes.push(1);
        trees.no.push(0);
        trees.yes_leaves.push(1);
        trees.no_leaves.push(1);
        trees.missing.push(0);
        trees
    };
    let rows = [-1.0, 1.0];
    assert_eq!(run(twice(), &rows, Aggregate::Sum), [3.0, 4.0]);
    assert_eq!(run(twice(), &rows, Aggregate::Average), [1.5, 2.0]);
    assert_eq!(run(twice(), &rows, Aggregate::Min), [1.0, 2.0]);
    assert_eq!(run(twice(), &rows, Aggregate::Max), [2.0, 2.0]);
}

#[test]
fn doubles_are_compared_and_added_as_doubles() {
    let trees = Indexed {
        roots: vec![0],
        modes: vec![Mode::LessOrEqual],
        features: vec![0],
        values: vec![0.1f64],
        yes: vec![0],
        no: vec![1],
        yes_leaves: vec![1],
        no_leaves: vec![1],
        weight_targets: vec![0, 0],
        weights: vec![0.1, 0.5],
        ..Indexed::default()
    };
    let regress = Regress {
        forest: trees.build(1).unwrap(),
        targets: 1,
        aggregate: Aggregate::Average,
        transform: Transform::None,
        base: vec![0.2],
    };
    // The single-precision number nearest to 0.1 is greater.
    assert_eq!(regress.run(&[0.1, f64::from(0.1f32)], 1, 2), [0.1 + 0.2, 0.7]);
}

#[test]
fn a_branch_that_leads_back_is_refused() {
    let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
    (trees.yes, trees.yes_leaves) = (vec![0], vec![0]);
    assert_eq!(trees.build(1).unwrap_err(), "has a cycle of nodes");
    let mut trees = stump(Mode::LessOrEqual, 0.0, 0, &[]);
    trees.no = vec![2];
    assert_eq!(trees.build(1).unwrap_err(), "has a node whose child does not exist");
}

#[test]
fn many_rows_are_shared_among_threads() {
    let rows: Vec<f32> = (0..300_000).map(|at| (at % 3) as f32).collect();
    let found = run(stump(Mode::Less, 2.0, 0, &[]), &rows, Aggregate::Sum);
    let right = |(at, &found): (usize, &f64)| found == if at % 3 == 2 { 2.0 } else { 1.0 };
    assert!(found.iter().enumerate().all(right));
    assert!(run(stump(Mode::Less, 2.0, 0, &[]), &[], Aggregate::Sum).is_empty());
}

/// Returns a stump whose leaves, below 0.5 and above, have weights for the classes of `ids`.
fn classes(ids: [i64; 2], weights: [f32; 2], base: &[f32], transform: Transform) -> Classify<f32> {
    let trees = Labeled {
        trees: vec![0; 3],
        nodes: vec![0, 1, 2],
        modes: vec![Mode::LessOrEqual, Mode::Leaf, Mode::Leaf],
        features: vec![0; 3],
        values: vec![0.5, 0.0, 0.0],
        yes: vec![1, 0, 0],
        no: vec![2, 0, 0],
        missing: vec![],
        weight_trees: vec![0; 2],
        weight_nodes: vec![1, 2],
        weight_targets: ids.to_vec(),
        weights: weights.to_vec(),
    };
    Classify {
        forest: trees.build(2).unwrap(),
        classes: 2,
        transform,
        base: base.to_vec(),
        one_column: ids[0] == ids[1],
        positive: weights.iter().all(|&weight| weight >= 0.0),
    }
}

/// Returns the sums of the trees' weights for rows of one feature.
fn sums(trees: Labeled<f32>, rows: &[f32]) -> Vec<f64> {
    let regress = Regress {
        forest: trees.build(1).unwrap(),
        targets: 1,
        aggregate: Aggregate::Sum,
        transform: Transform::None,
        base: vec![],
    };
    regress.run(rows, 1, rows.len())
}

/// Returns the sums of trees whose second node has `second` as a child: the branch 0, or the leaf 2.
fn first_node_sends_to(second: i64) -> Vec<f64> {
    let (branch, leaf) = (Mode::LessOrEqual, Mode::Leaf);
    let trees = Labeled {
        trees: vec![7; 5],
        nodes: vec![4, 0, 1, 2, 3],
        modes: vec![branch, branch, leaf, leaf, leaf],
        features: vec![0; 5],
        values: vec![0.5, 1.5, 0.0, 0.0, 0.0],
        yes: vec![1, 2, 0, 0, 0],
        no: vec![second, 3, 0, 0, 0],
        missing: vec![],
        weight_trees: vec![7; 3],
        weight_nodes: vec![1, 2, 3],
        weight_targets: vec![0; 3],
        weights: vec![1.0f32, 2.0, 4.0],
    };
    sums(trees, &[0.0, 1.0, 2.0])
}

#[test]
fn a_tree_is_what_its_first_node_leads_to() {
    assert_eq!(first_node_sends_to(0), [1.0, 2.0, 4.0]);
    assert_eq!(first_node_sends_to(2), [1.0, 2.0, 2.0]);
}

#[test]
fn nodes_may_be_listed_in_any_order() {
    let trees = Labeled {
        trees: vec![0; 3],
        nodes: vec![2, 0, 1],
        modes: vec![Mode::Leaf, Mode::LessOrEqual, Mode::Leaf],
        features: vec![0; 3],
        values: vec![0.0, 0.5, 0.0],
        yes: vec![0, 1, 0],
        no: vec![0, 2, 0],
        missing: vec![],
        weight_trees: vec![0; 2],
        weight_nodes: vec![1, 2],
        weight_targets: vec![0; 2],
        weights: vec![1.0f32, 2.0],
    };
    assert_eq!(sums(trees, &[0.0, 1.0]), [1.0, 2.0]);
}

/// Returns the class and the scores of a row below 0.5, of several classes or of one, with a weight for the last.
fn last_of(classes: usize, weight: f32, base: &[f32]) -> (usize, Vec<f64>) {
    let mut trees = stump(Mode::LessOrEqual, 0.5, 0, &[]);
    trees.weight_targets = vec![classes as i64 - 1; 2];
    trees.weights = vec![weight; 2];
    let classify = Classify {
        forest: trees.build(classes).unwrap(),
        classes,
        transform: Transform::None,
        base: base.to_vec(),
        one_column: false,
        positive: weight >= 0.0,
    };
    let (found, scores) = classify.run(&[0.0], 1, 1);
    (found[0], scores)
}

#[test]
fn a_class_without_a_weight_wins_by_its_base_value_alone() {
    assert_eq!(last_of(3, -2.0, &[]), (2, vec![0.0, 0.0, -2.0]));
    assert_eq!(last_of(3, -2.0, &[0.5, 1.0, 0.25]), (1, vec![0.5, 1.0, -1.75]));
    assert_eq!(last_of(3, 1.0, &[0.5, 1.0, 0.25]), (2, vec![0.5, 1.0, 1.25]));
}

#[test]
fn a_single_class_has_one_score() {
    assert_eq!(last_of(1, -0.5, &[]), (0, vec![-0.5]));
    assert_eq!(last_of(1, -0.5, &[0.75]), (1, vec![0.25]));
    assert_eq!(last_of(1, -0.5, &[0.25, 0.75]), (1, vec![-0.25]));
}

/// Returns the class and the scores of a row below the stump's value.
fn below(classify: Classify<f32>) -> (usize, [f64; 2]) {
    let (classes, scores) = classify.run(&[0.0], 1, 1);
    (classes[0], [scores[0], scores[1]].map(|score| (score * 1e4).round() / 1e4))
}

#[test]
fn one_column_of_weights_tells_two_classes() {
    use Transform::{Logistic, None, Softmax};
    let probability = classes([0, 0], [0.2, 0.7], &[], None);
    assert_eq!(below(probability), (0, [0.8, 0.2]));
    let margin = classes([0, 0], [-0.2, 0.7], &[], Softmax);
    assert_eq!(below(margin), (0, [0.2, -0.2]));
    let logit = classes([0, 0], [-0.2, 0.7], &[0.25], Logistic);
    assert_eq!(below(logit), (1, [0.4875, 0.5125]));
    let second = classes([1, 1], [0.2, 0.7], &[0.1, 0.25], None);
    assert_eq!(below(second), (0, [0.0, 0.25]));
}

#[test]
fn two_columns_are_two_scores() {
    let both = classes([0, 1], [0.2, 0.7], &[0.1, 0.25], Transform::None);
    assert_eq!(below(both), (1, [0.3, 0.0]));
    let both = classes([1, 0], [0.2, 0.7], &[], Transform::Softmax);
    assert_eq!(below(both), (1, [0.4502, 0.5498]));
}
