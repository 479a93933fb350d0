//! Leaves of rows, compared with a walk by the lists of ONNX.

use super::super::*;
use crate::classical::scores::Transform;
use alloc::{collections::BTreeMap, vec, vec::Vec};

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// Returns a number of few different ones, so that features equal the values of tests; sometimes an extreme one or NaN.
    fn feature(&mut self) -> f64 {
        match self.below(24) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            _ => self.below(12) as f64 / 4.0 - 1.0,
        }
    }
}

/// Form of random trees.
#[derive(Clone, Copy, Debug)]
struct Look {
    trees: usize,
    leaves: usize,
    features: usize,
    targets: usize,
    /// Maximum number of weights of a leaf.
    weights: usize,
    modes: &'static [Mode],
    missing: bool,
}

const LESS_OR_EQUAL: &[Mode] = &[Mode::LessOrEqual];
const ALL_MODES: &[Mode] =
    &[Mode::LessOrEqual, Mode::Less, Mode::GreaterOrEqual, Mode::Greater, Mode::Equal, Mode::NotEqual];

const STUMPS: Look =
    Look { trees: 3, leaves: 2, features: 1, targets: 1, weights: 1, modes: LESS_OR_EQUAL, missing: false };

const LOOKS: &[Look] = &[
    STUMPS,
    Look { leaves: 1, ..STUMPS },
    Look { trees: 40, leaves: 31, features: 7, ..STUMPS },
    Look { trees: 40, leaves: 31, features: 7, missing: true, ..STUMPS },
    Look { trees: 260, leaves: 32, features: 50, modes: &[Mode::Less], ..STUMPS },
    Look { trees: 20, leaves: 64, features: 5, modes: &[Mode::Less], missing: true, targets: 5, ..STUMPS },
    Look { trees: 9, leaves: 90, features: 3, targets: 3, weights: 3, ..STUMPS },
    Look { trees: 5, leaves: 400, features: 9, missing: true, ..STUMPS },
    Look { trees: 5, leaves: 300, features: 9, modes: &[Mode::Less], targets: 2, weights: 2, ..STUMPS },
    Look { trees: 2, leaves: 33_000, features: 5, ..STUMPS },
    Look { trees: 35, leaves: 20, features: 4, modes: ALL_MODES, missing: true, targets: 2, ..STUMPS },
];

/// Returns random trees. The leaves of each are split at random until there are enough.
fn grown<T: Number + Default>(look: Look, random: &mut Random) -> Labeled<T> {
    let mut trees = Labeled::default();
    for tree in 0..look.trees as i64 {
        let first = trees.nodes.len();
        let mut leaves = vec![0i64];
        let add = |trees: &mut Labeled<T>| {
            let node = (trees.nodes.len() - first) as i64;
            trees.trees.push(tree);
            trees.nodes.push(node);
            trees.modes.push(Mode::Leaf);
            trees.features.push(0);
            trees.values.push(T::from_f64(0.0));
            for list in [&mut trees.yes, &mut trees.no, &mut trees.missing] {
                list.push(0);
            }
            node
        };
        add(&mut trees);
        while leaves.len() < look.leaves {
            let node = leaves.swap_remove(random.below(leaves.len()));
            let [yes, no] = [add(&mut trees), add(&mut trees)];
            leaves.extend([yes, no]);
            let at = first + node as usize;
            trees.modes[at] = look.modes[random.below(look.modes.len())];
            trees.features[at] = random.below(look.features) as i64;
            let value = random.feature();
            trees.values[at] = T::from_f64(if value.is_nan() { 0.5 } else { value });
            (trees.yes[at], trees.no[at]) = (yes, no);
            trees.missing[at] = i64::from(look.missing && random.below(2) == 0);
        }
        for leaf in leaves {
            for _ in 0..1 + random.below(look.weights) {
                trees.weight_trees.push(tree);
                trees.weight_nodes.push(leaf);
                trees.weight_targets.push(random.below(look.targets) as i64);
                trees.weights.push(T::from_f64(random.below(1000) as f64 / 7.0));
            }
        }
    }
    trees
}

/// The target of each weight of a leaf, and the weight, by tree and node.
type Weights<T> = BTreeMap<(i64, i64), Vec<(i64, T)>>;

fn weights<T: Number>(trees: &Labeled<T>) -> Weights<T> {
    let mut weights = Weights::new();
    for (at, tree) in trees.weight_trees.iter().enumerate() {
        let leaf = weights.entry((*tree, trees.weight_nodes[at])).or_default();
        leaf.push((trees.weight_targets[at], trees.weights[at]));
    }
    weights
}

/// Returns the sums of the weights of a row.
fn walked<T: Number>(trees: &Labeled<T>, weights: &Weights<T>, row: &[T], look: Look) -> Vec<f64> {
    let mut sums = vec![T::from_f64(0.0); look.targets];
    let mut first = 0;
    for tree in trees.trees.chunk_by(|a, b| a == b) {
        let mut at = first;
        while trees.modes[at] != Mode::Leaf {
            let (x, value) = (row[trees.features[at] as usize], trees.values[at]);
            let passes = match trees.modes[at] {
                Mode::LessOrEqual => x <= value,
                Mode::Less => x < value,
                Mode::GreaterOrEqual => x >= value,
                Mode::Greater => x > value,
                Mode::Equal => x == value,
                _ => x != value,
            };
            let is_missing = trees.missing[at] != 0 && x.into_f64().is_nan();
            let next = if passes || is_missing { trees.yes[at] } else { trees.no[at] };
            at = first + next as usize;
        }
        for &(target, weight) in &weights[&(trees.trees[at], trees.nodes[at])] {
            let sum = &mut sums[target as usize];
            *sum = *sum + weight;
        }
        first += tree.len();
    }
    sums.into_iter().map(T::into_f64).collect()
}

fn check<T: Number + Default>(look: Look, seed: u64) {
    let random = &mut Random(seed);
    let trees = grown::<T>(look, random);
    let width = look.features + 2;
    let most = 2 * BLOCK + 9;
    let rows: Vec<T> = (0..most * width).map(|_| T::from_f64(random.feature())).collect();
    let without_nan = rows.iter().map(|x| if x.is_nan() { T::from_f64(0.25) } else { *x }).collect();
    let weights = weights(&trees);
    let regress = Regress {
        forest: trees.clone().build(look.targets).unwrap(),
        targets: look.targets,
        aggregate: Aggregate::Sum,
        transform: Transform::None,
        base: vec![],
    };
    let few_leaves = (2..=100).contains(&look.leaves) && look.modes.len() == 1;
    assert_eq!(regress.forest.vectors.is_some(), few_leaves, "{look:?}");
    let is_compact = (101..=32_000).contains(&look.leaves) && look.modes.len() == 1;
    assert_eq!(regress.forest.compact.is_some(), is_compact, "{look:?}");
    for rows in [rows, without_nan] {
        let expected = rows.chunks(width).flat_map(|row| walked(&trees, &weights, row, look));
        let expected: Vec<f64> = expected.collect();
        for count in [0, 1, 4, 5, 12, 15, 16, 17, 20, 21, 31, 32, 63, 64, 65, 100, most] {
            let found = regress.run(&rows[..count * width], width, count);
            assert_eq!(found, expected[..count * look.targets], "{count} rows, {look:?}");
        }
    }
}

#[test]
fn rows_end_in_the_leaves_of_their_paths() {
    for (look, seed) in LOOKS.iter().zip(1..) {
        check::<f32>(*look, seed);
        check::<f64>(*look, seed);
    }
}

#[test]
fn trees_may_share_nodes() {
    // Each node leads to the next by both branches, the last one to leaves: a tree would have 2^40 leaves.
    let children = |leaf: i64| (1..40).chain([leaf]).collect();
    let is_last: Vec<i64> = (0..40).map(|at| i64::from(at == 39)).collect();
    let trees = Indexed {
        roots: vec![0, 20],
        modes: vec![Mode::LessOrEqual; 40],
        features: vec![0; 40],
        values: vec![0.5f32; 40],
        yes: children(0),
        no: children(1),
        yes_leaves: is_last.clone(),
        no_leaves: is_last,
        weight_targets: vec![0, 0],
        weights: vec![1.0, 2.0],
        ..Indexed::default()
    };
    let forest = trees.build(1).unwrap();
    assert!(forest.vectors.is_none());
    let regress =
        Regress { forest, targets: 1, aggregate: Aggregate::Sum, transform: Transform::None, base: vec![] };
    let rows: Vec<f32> = (0..20).map(|row| row as f32 / 10.0).collect();
    let found = regress.run(&rows, 1, 20);
    let expected: Vec<f64> = rows.iter().map(|&x| if x <= 0.5 { 2.0 } else { 4.0 }).collect();
    assert_eq!(found, expected);
}
